#include "bundle.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

#include "digests.h"
#include "errors.h"
#include "json.h"
#include "known_code.h"
#include "program_reader.h"

using namespace hipgraft;

namespace {

constexpr char kMagic[] = "\x93HIPGRFT";
constexpr uint32_t kVersion = 5;
constexpr size_t kPrefix = 24;  // magic, version, checksum and length of the header
constexpr size_t kAlignment = 4096;

template <typename T>
T read_at(std::string_view data, size_t offset) {
  T value;
  memcpy(&value, data.data() + offset, sizeof value);
  return value;
}

// The number of an NVIDIA architecture, as 80 of `sm_80`; 0 for others.
int compute_capability(std::string_view architecture) {
  if (architecture.substr(0, 3) != "sm_" || architecture.size() > 8) return 0;
  int number = 0;
  for (char digit : architecture.substr(3)) {
    if (digit < '0' || digit > '9') return 0;
    number = 10 * number + (digit - '0');
  }
  return number;
}

}  // namespace

bool hipgraft::runs_on(std::string_view code, std::string_view device) {
  int number = compute_capability(code);
  return code == device || (number > 0 && number <= compute_capability(device));
}

std::shared_ptr<hipgraft_bundle_data> hipgraft_bundle_data::open(const char *path, uint32_t flags) {
  std::shared_ptr<hipgraft_bundle_data> bundle(new hipgraft_bundle_data);
  bundle->where_ = path;
  bundle->is_trusted_ = flags & HIPGRAFT_TRUST;
  int file = ::open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status)) {
    int reason = errno;
    if (file >= 0) close(file);
    fail(HIPGRAFT_IO_ERROR, "%s: cannot open bundle: %s", path, strerror(reason));
  }
  size_t size = S_ISREG(status.st_mode) ? static_cast<size_t>(status.st_size) : 0;
  void *mapped = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  close(file);
  if (mapped == MAP_FAILED) fail(HIPGRAFT_IO_ERROR, "%s: cannot map bundle", path);
  bundle->is_mapped_ = true;
  bundle->data_ = {static_cast<const char *>(mapped), size};
  bundle->read();
  for (auto &program : bundle->programs_) program.owner = bundle;
  return bundle;
}

std::shared_ptr<hipgraft_bundle_data> hipgraft_bundle_data::open(const void *data, size_t size,
                                                                 uint32_t flags) {
  std::shared_ptr<hipgraft_bundle_data> bundle(new hipgraft_bundle_data);
  bundle->is_trusted_ = flags & HIPGRAFT_TRUST;
  bundle->memory_.assign(static_cast<const char *>(data), size);
  bundle->data_ = bundle->memory_;
  bundle->read();
  for (auto &program : bundle->programs_) program.owner = bundle;
  return bundle;
}

hipgraft_bundle_data::~hipgraft_bundle_data() {
  if (is_mapped_) munmap(const_cast<char *>(data_.data()), data_.size());
}

void hipgraft_bundle_data::read() {
  const char *where = where_.c_str();
  if (data_.substr(0, 8) != std::string_view(kMagic, 8))
    fail(HIPGRAFT_DAMAGED, "%s: the file is no bundle", where);
  if (data_.size() < kPrefix) fail(HIPGRAFT_DAMAGED, "%s: the bundle is truncated", where);
  auto version = read_at<uint32_t>(data_, 8), checksum = read_at<uint32_t>(data_, 12);
  auto length = read_at<uint64_t>(data_, 16);
  if (version != kVersion)
    fail(HIPGRAFT_DAMAGED, "%s: the bundle has version %u; expected %u", where, version, kVersion);
  if (length > data_.size() - kPrefix)
    fail(HIPGRAFT_DAMAGED, "%s: the bundle is truncated", where);
  header_ = data_.substr(kPrefix, length);
  if (crc32(header_.data(), header_.size()) != checksum)
    fail(HIPGRAFT_DAMAGED, "%s: the bundle's header is damaged", where);
  start_ = (kPrefix + length + kAlignment - 1) / kAlignment * kAlignment;
  try {
    Json header = Json::parse(header_);
    read_sections(header);
    header["metadata"].find("");  // an object
    metadata_ = header["metadata"].text();
    std::set<size_t> code;
    for (const Json &program : header["programs"].array()) {
      std::vector<uint64_t> sizes;
      for (auto &section : sections_) sizes.push_back(section.second);
      programs_.push_back(read_program(program, sizes, code));
    }
    code_.assign(code.begin(), code.end());
  } catch (Error &error) {
    error.text = where_ + ": " + error.text;
    throw;
  }
  std::set<std::string> names;
  for (auto &program : programs_) names.insert(program.architecture);
  if (names.empty() || names.size() != programs_.size())
    fail(HIPGRAFT_DAMAGED, "%s: programs are for nothing, or twice for an architecture", where);
}

void hipgraft_bundle_data::read_sections(const Json &header) {
  data_size_ = static_cast<size_t>(header["data_size"].number());
  uint64_t end = 0;
  for (const Json &section : header["sections"].array()) {
    auto &place = section.array(2);
    auto offset = static_cast<uint64_t>(place[0].number());
    auto nbytes = static_cast<uint64_t>(place[1].number());
    if (offset < end || nbytes > data_size_ || offset > data_size_ - nbytes)
      fail(HIPGRAFT_DAMAGED, "sections overlap or leave the data");
    sections_.push_back({offset, nbytes});
    end = offset + nbytes;
  }
  size_t rest = data_.size() - std::min(start_, data_.size());
  size_t checksums = 4 * sections_.size();
  if (start_ > data_.size() || rest < checksums || rest - checksums != data_size_)
    fail(HIPGRAFT_DAMAGED, "the bundle has %zu bytes, which is not what its header says",
         data_.size());
}

std::string_view hipgraft_bundle_data::section(size_t number) const {
  auto [offset, nbytes] = sections_[number];
  std::string_view data = data_.substr(start_ + offset, nbytes);
  if (crc32(data.data(), data.size()) != read_at<uint32_t>(data_, start_ + data_size_ + 4 * number))
    fail(HIPGRAFT_DAMAGED, "%s: the bundle is damaged in the %zu bytes from %zu", where_.c_str(),
         data.size(), start_ + static_cast<size_t>(offset));
  return data;
}

void hipgraft_bundle_data::check_trust() const {
  if (is_trusted_) return;
  std::vector<std::string_view> pieces = {header_};
  for (size_t number : code_) pieces.push_back(section(number));
  if (!is_known_code(pieces))
    fail(HIPGRAFT_UNTRUSTED,
         "%s: the bundle holds code, which would run as you, and was not written by hipgraft for "
         "you here; open it with HIPGRAFT_TRUST if you trust its author",
         where_.c_str());
}

const hipgraft_program &hipgraft_bundle_data::find(std::string_view architecture) const {
  const hipgraft_program *best = nullptr;
  std::string names;
  for (const auto &program : programs_) {
    if (program.architecture == architecture) return program;
    int newest = best ? compute_capability(best->architecture) : 0;
    bool is_better = compute_capability(program.architecture) > newest;
    if (runs_on(program.architecture, architecture) && is_better) best = &program;
    names += (names.empty() ? "" : ", ") + program.architecture;
  }
  if (!best)
    fail(HIPGRAFT_NOT_APPLICABLE, "%s: the bundle has no program for '%.*s'; it is for %s",
         where_.c_str(), static_cast<int>(architecture.size()), architecture.data(), names.c_str());
  return *best;
}
