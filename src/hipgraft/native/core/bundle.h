// Bundles: the file format of `hipgraft/runtime/bundle.py`, read and checked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hipgraft.h"

namespace hipgraft {

class Json;

// Largest number of bytes that all targets can address; no size in a bundle exceeds it.
constexpr uint64_t kMostBytes = uint64_t{1} << 48;

struct Tensor {
  std::string name, element_type;
  std::vector<int64_t> shape, strides;
  int64_t offset;
  uint64_t nbytes;
};

// An address: a buffer and an offset in bytes. Buffers are the inputs, then the results, then the
// program's.
struct Pointer {
  size_t buffer;
  uint64_t offset;
};

struct Launch {
  size_t kernel;
  uint32_t grid[3], block[3];
  uint32_t shared_bytes;
  std::string arguments;                           // with zeros in place of pointers
  std::vector<std::pair<size_t, Pointer>> pointers;  // by their byte offset in `arguments`
};

struct Fill {
  Pointer target;
  std::string pattern;  // 1, 2, 4, 8 or 16 bytes
  uint64_t nbytes;
};

// Whether a fill of this many bytes may have a pattern of `width` bytes.
inline bool is_pattern(uint64_t width, uint64_t nbytes) {
  return (width == 1 || width == 2 || width == 4 || width == 8 || width == 16) && !(nbytes % width);
}

struct Copy {
  Pointer target, source;
  uint64_t nbytes;
};

using Command = std::variant<Launch, Fill, Copy>;

struct Variant {
  std::string name;
  std::vector<Tensor> tensors;  // inputs, then results
  std::vector<Command> commands;
};

// Memory of the program: a constant, or scratch memory if there is no section.
struct Buffer {
  uint64_t nbytes;
  bool is_constant;
  size_t section;
};

// Whether a device runs code of an architecture. AMD code objects run only on their own
// architecture; PTX also runs on later NVIDIA GPUs.
bool runs_on(std::string_view code, std::string_view device);

}  // namespace hipgraft

// A program for one architecture. Without variants it has dynamic shapes or runs on the CPU only.
struct hipgraft_program {
  std::string architecture;
  std::vector<hipgraft::Buffer> buffers;
  std::vector<size_t> objects;                             // sections
  std::vector<std::pair<size_t, std::string>> kernels;  // index of the object, name of the symbol
  std::vector<hipgraft::Variant> variants;
  size_t input_count = 0, result_count = 0;
  std::string why_not;  // why there are no variants
  std::vector<size_t> workspace_offsets;  // offset of each scratch buffer, by buffer
  size_t workspace_size = 0;
  std::weak_ptr<class hipgraft_bundle_data> owner;
};

// An open bundle; programs and executables keep it alive.
class hipgraft_bundle_data {
 public:
  static std::shared_ptr<hipgraft_bundle_data> open(const char *path, uint32_t flags);
  static std::shared_ptr<hipgraft_bundle_data> open(const void *data, size_t size, uint32_t flags);
  ~hipgraft_bundle_data();

  // The whole file.
  std::string_view data() const { return data_; }
  const std::string &metadata() const { return metadata_; }
  const std::vector<hipgraft_program> &programs() const { return programs_; }
  // The best program for a device; fails with HIPGRAFT_NOT_APPLICABLE.
  const hipgraft_program &find(std::string_view architecture) const;
  // The bytes of a section, after checking their checksum.
  std::string_view section(size_t number) const;
  // Fails with HIPGRAFT_UNTRUSTED unless this user wrote the code or the caller trusts it.
  void check_trust() const;

 private:
  hipgraft_bundle_data() = default;
  void read();
  void read_sections(const hipgraft::Json &header);

  std::string where_ = "the bundle";
  std::string_view data_;     // the whole file
  std::string memory_;        // its bytes, if the file is not mapped
  bool is_mapped_ = false, is_trusted_ = false;
  std::string_view header_;
  std::string metadata_;
  size_t start_ = 0, data_size_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> sections_;  // offset and bytes
  std::vector<size_t> code_;  // sections with code, in order
  std::vector<hipgraft_program> programs_;
};
