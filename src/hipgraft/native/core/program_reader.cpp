#include "program_reader.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "errors.h"
#include "json.h"

namespace hipgraft {

namespace {

constexpr size_t kMostRank = 64;
constexpr uint64_t kMostGrid = (uint64_t{1} << 31) - 1;
constexpr uint64_t kMostCudaGridYz = 65535;
constexpr uint64_t kMostAmdItems = uint64_t{1} << 32;  // work items in a dimension
constexpr uint64_t kMostBlock = 1024;
constexpr uint64_t kMostShared = uint64_t{1} << 20;
constexpr size_t kPointer = 8;
constexpr uint64_t kScratchAlignment = 256;

size_t index(const Json &field, size_t count, const char *what) {
  auto found = static_cast<size_t>(field.number());
  if (found >= count) fail(HIPGRAFT_DAMAGED, "there is no %s %zu", what, found);
  return found;
}

uint64_t size(const Json &field) {
  auto found = static_cast<uint64_t>(field.number());
  if (found > kMostBytes)
    fail(HIPGRAFT_DAMAGED, "%llu bytes are more than a device addresses",
         static_cast<unsigned long long>(found));
  return found;
}

std::string bytes(const Json &field) {
  const std::string &text = field.string();
  std::string found;
  static const std::string_view kDigits = "0123456789abcdef";
  for (size_t i = 0; i < text.size(); i += 2) {
    size_t high = kDigits.find(text[i]);
    size_t low = i + 1 < text.size() ? kDigits.find(text[i + 1]) : std::string_view::npos;
    if (high == std::string_view::npos || low == std::string_view::npos)
      fail(HIPGRAFT_DAMAGED, "'%.40s' is not hexadecimal", text.c_str());
    found += static_cast<char>(high << 4 | low);
  }
  return found;
}

// The bytes of an element at the program's boundary; types of 4 bits and fewer take a byte each.
uint64_t element_bytes(const std::string &type) {
  static const std::pair<const char *, uint64_t> kTypes[] = {
      {"f64", 8},      {"f32", 4},         {"f16", 2},          {"bf16", 2},
      {"f8E4M3FN", 1}, {"f8E4M3FNUZ", 1},  {"f8E5M2", 1},       {"f8E5M2FNUZ", 1},
      {"f8E8M0FNU", 1}, {"f4E2M1FN", 1},   {"complex<f32>", 8}, {"complex<f64>", 16}};
  for (auto &[name, bytes] : kTypes)
    if (type == name) return bytes;
  std::string_view rest = type;
  if (rest.substr(0, 2) == "si" || rest.substr(0, 2) == "ui") rest.remove_prefix(1);
  for (auto &[name, bytes] : {std::pair("i1", 1), {"i2", 1}, {"i4", 1}, {"i8", 1}, {"i16", 2},
                              {"i32", 4}, {"i64", 8}})
    if (rest == name) return static_cast<uint64_t>(bytes);
  fail(HIPGRAFT_DAMAGED, "there is no element type '%.40s'", type.c_str());
}

Tensor read_tensor(const Json &fields) {
  auto &values = fields.array(6);
  Tensor tensor{values[0].string(), values[2].string(), values[1].numbers(), {},
                values[4].number(), size(values[5])};
  bool is_empty = std::count(tensor.shape.begin(), tensor.shape.end(), 0) > 0;
  if (tensor.shape.size() > kMostRank) fail(HIPGRAFT_DAMAGED, "a tensor has too many extents");
  if (!values[3].is_null()) {
    tensor.strides = values[3].numbers();
  } else {
    tensor.strides.assign(tensor.shape.size(), 1);
    for (size_t dim = tensor.shape.size(); dim-- > 1;)
      if (__builtin_mul_overflow(tensor.strides[dim], std::max<int64_t>(tensor.shape[dim], 1),
                                 &tensor.strides[dim - 1]))
        fail(HIPGRAFT_DAMAGED, "a tensor's extents are too large");
  }
  if (tensor.strides.size() != tensor.shape.size())
    fail(HIPGRAFT_DAMAGED, "a tensor has %zu extents and %zu strides", tensor.shape.size(),
         tensor.strides.size());
  unsigned __int128 last = static_cast<uint64_t>(tensor.offset);
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim)
    last += static_cast<unsigned __int128>(std::max<int64_t>(tensor.shape[dim] - 1, 0)) *
            static_cast<uint64_t>(tensor.strides[dim]);
  uint64_t width = element_bytes(tensor.element_type);
  if (!is_empty && (last + 1) * width > tensor.nbytes)
    fail(HIPGRAFT_DAMAGED, "a tensor leaves its %llu bytes",
         static_cast<unsigned long long>(tensor.nbytes));
  return tensor;
}

// Reads the calls of a variant on buffers of known sizes.
class CommandReader {
 public:
  CommandReader(const hipgraft_program &program, std::vector<uint64_t> sizes)
      : program_(program), sizes_(std::move(sizes)) {}

  Command read(const Json &fields) const {
    auto &values = fields.array();
    std::string_view kind = values.empty() ? std::string_view() : values[0].string();
    if (kind == "launch") return launch(fields.array(7));
    if (kind == "fill") return fill(fields.array(4));
    if (kind == "copy") return copy(fields.array(4));
    fail(HIPGRAFT_DAMAGED, "there is no call '%.*s'", static_cast<int>(kind.size()), kind.data());
  }

 private:
  Launch launch(const std::vector<Json> &values) const {
    Launch found{index(values[1], program_.kernels.size(), "kernel"), {}, {}, 0, bytes(values[5]), {}};
    auto &grid = values[2].array(3), &block = values[3].array(3);
    uint64_t items = 1;
    for (int dim = 0; dim < 3; ++dim) {
      auto groups = static_cast<uint64_t>(grid[dim].number());
      auto extent = static_cast<uint64_t>(block[dim].number());
      bool is_cuda = program_.architecture.substr(0, 3) == "sm_";
      bool fits = groups <= kMostGrid && extent > 0 && extent <= kMostBlock;
      if (is_cuda)
        fits = fits && (dim == 0 || groups <= kMostCudaGridYz);
      else
        fits = fits && groups * extent < kMostAmdItems;
      if (!fits || (items *= extent) > kMostBlock)
        fail(HIPGRAFT_DAMAGED, "no device launches %llu workgroups of %llu",
             static_cast<unsigned long long>(groups), static_cast<unsigned long long>(extent));
      found.grid[dim] = static_cast<uint32_t>(groups);
      found.block[dim] = static_cast<uint32_t>(extent);
    }
    uint64_t shared = size(values[4]);
    if (shared > kMostShared) fail(HIPGRAFT_DAMAGED, "a launch asks for too much shared memory");
    found.shared_bytes = static_cast<uint32_t>(shared);
    for (const Json &field : values[6].array()) {
      auto &place = field.array(3);
      auto at = static_cast<uint64_t>(place[0].number());
      if (found.arguments.size() < kPointer || at > found.arguments.size() - kPointer)
        fail(HIPGRAFT_DAMAGED, "a pointer lies beyond its kernel's arguments");
      found.pointers.push_back({static_cast<size_t>(at), pointer(place[1], place[2], 0)});
    }
    return found;
  }

  Fill fill(const std::vector<Json> &values) const {
    uint64_t nbytes = size(values[3]);
    auto &place = values[1].array(2);
    Fill found{pointer(place[0], place[1], nbytes), bytes(values[2]), nbytes};
    size_t width = found.pattern.size();
    if (!is_pattern(width, nbytes))
      fail(HIPGRAFT_DAMAGED, "a pattern of %zu bytes fills %llu", width,
           static_cast<unsigned long long>(nbytes));
    return found;
  }

  Copy copy(const std::vector<Json> &values) const {
    uint64_t nbytes = size(values[3]);
    auto &target = values[1].array(2), &source = values[2].array(2);
    return {pointer(target[0], target[1], nbytes), pointer(source[0], source[1], nbytes), nbytes};
  }

  Pointer pointer(const Json &buffer, const Json &offset, uint64_t nbytes) const {
    Pointer found{index(buffer, sizes_.size(), "buffer"), static_cast<uint64_t>(offset.number())};
    uint64_t whole = sizes_[found.buffer];
    if (nbytes > whole || found.offset > whole - nbytes)
      fail(HIPGRAFT_DAMAGED, "a call takes %llu bytes from %llu of buffer %zu, which has %llu",
           static_cast<unsigned long long>(nbytes), static_cast<unsigned long long>(found.offset),
           found.buffer, static_cast<unsigned long long>(whole));
    return found;
  }

  const hipgraft_program &program_;
  std::vector<uint64_t> sizes_;
};

// Returns the elements of an array; empty if the program lacks it.
const std::vector<Json> &elements(const Json &fields, const char *key) {
  static const std::vector<Json> kNone;
  const Json *found = fields.find(key);
  return found ? found->array() : kNone;
}

// Checks a result of which only some rows are valid: its index, its dimension of rows, and the
// index of the result that is the number of valid rows.
void check_row_count(const Json &counted, const std::vector<Tensor> &results) {
  auto &values = counted.array(3);
  const Tensor &rows = results[index(values[0], results.size(), "result")];
  index(values[1], rows.shape.size(), "dimension");
  const Tensor &count = results[index(values[2], results.size(), "result")];
  const std::string &type = count.element_type;
  bool is_wide = type.size() >= 3 && type.compare(type.size() - 3, 3, "i64") == 0;
  if (!count.shape.empty() || !is_wide) fail(HIPGRAFT_DAMAGED, "a result is no number of rows");
}

}  // namespace

Variant read_variant(const Json &fields, hipgraft_program &program) {
  Variant variant;
  variant.name = fields["name"].string();
  for (const Json &tensor : fields["inputs"].array()) variant.tensors.push_back(read_tensor(tensor));
  size_t inputs = variant.tensors.size();
  for (const Json &tensor : fields["results"].array())
    variant.tensors.push_back(read_tensor(tensor));
  size_t results = variant.tensors.size() - inputs;
  bool is_first = program.variants.empty();
  if (!is_first && (inputs != program.input_count || results != program.result_count))
    fail(HIPGRAFT_DAMAGED, "variants have different numbers of inputs or results");
  program.input_count = inputs;
  program.result_count = results;
  std::vector<uint64_t> sizes;
  for (const Tensor &tensor : variant.tensors) sizes.push_back(tensor.nbytes);
  for (const Buffer &buffer : program.buffers) sizes.push_back(buffer.nbytes);
  CommandReader reader(program, std::move(sizes));
  for (const Json &command : fields["commands"].array())
    variant.commands.push_back(reader.read(command));
  for (const Json &counted : elements(fields, "row_counts"))
    check_row_count(counted, {variant.tensors.begin() + inputs, variant.tensors.end()});
  return variant;
}

hipgraft_program read_program(const Json &fields, const std::vector<uint64_t> &sections,
                              std::set<size_t> &code) {
  hipgraft_program program;
  program.architecture = fields["architecture"].string();
  const Json *host = fields.find("host");
  if (host && !host->is_null()) {
    code.insert(index(*host, sections.size(), "section"));
    program.why_not = "the program has dynamic shapes, so that its calls depend on its inputs; "
                      "hipgraft in Python runs it";
    return program;
  }
  for (const Json &object : elements(fields, "objects")) {
    program.objects.push_back(index(object, sections.size(), "section"));
    code.insert(program.objects.back());
  }
  for (const Json &kernel : elements(fields, "kernels")) {
    auto &values = kernel.array(2);
    program.kernels.push_back(
        {index(values[0], program.objects.size(), "code object"), values[1].string()});
  }
  uint64_t workspace = 0;
  for (const Json &buffer : elements(fields, "buffers")) {
    buffer["name"].string();
    Buffer found{size(buffer["nbytes"]), !buffer["section"].is_null(), 0};
    if (found.is_constant) {
      found.section = index(buffer["section"], sections.size(), "section");
      if (sections[found.section] != found.nbytes)
        fail(HIPGRAFT_DAMAGED, "a constant has another size than its section");
    }
    program.workspace_offsets.push_back(static_cast<size_t>(workspace));
    if (!found.is_constant)
      workspace += (found.nbytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
    if (workspace > kMostBytes) fail(HIPGRAFT_DAMAGED, "the program's scratch memory is too large");
    program.buffers.push_back(found);
  }
  program.workspace_size = static_cast<size_t>(workspace);
  if (program.architecture == "cpu") {
    program.why_not = "the program is for IREE's CPU runtime, which hipgraft in Python has";
    return program;
  }
  for (const Json &variant : elements(fields, "variants"))
    program.variants.push_back(read_variant(variant, program));
  if (program.variants.empty()) fail(HIPGRAFT_DAMAGED, "expected variants or a host program");
  return program;
}

}  // namespace hipgraft
