// Reads the few fields of FlatBuffers that the plugin needs, from bytes that may be anything.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace hipgraft {

// A table. Fields that are absent, or lie outside of the data, have the given default.
class FlatTable {
 public:
  // The root table; `is_valid` tells whether there is one.
  explicit FlatTable(std::string_view data) : data_(data) {
    uint32_t root = 0;
    if (!read(0, root) || !read(root, back_)) return;
    int64_t vtable = static_cast<int64_t>(root) - back_;
    if (vtable < 0 || !read(static_cast<size_t>(vtable), vtable_size_) || vtable_size_ < 4) return;
    if (static_cast<size_t>(vtable) + vtable_size_ > data_.size()) return;
    at_ = root;
    vtable_ = static_cast<size_t>(vtable);
    is_valid_ = true;
  }

  bool is_valid() const { return is_valid_; }

  template <typename T>
  T scalar(unsigned field, T otherwise) const {
    uint16_t offset = 0;
    size_t entry = 4 + 2 * size_t{field};
    if (!is_valid_ || entry + 2 > vtable_size_ || !read(vtable_ + entry, offset) || !offset)
      return otherwise;
    T value;
    return read(at_ + offset, value) ? value : otherwise;
  }

 private:
  template <typename T>
  bool read(size_t at, T &value) const {
    if (at > data_.size() || data_.size() - at < sizeof value) return false;
    memcpy(&value, data_.data() + at, sizeof value);
    return true;
  }

  std::string_view data_;
  size_t at_ = 0, vtable_ = 0;
  int32_t back_ = 0;
  uint16_t vtable_size_ = 0;
  bool is_valid_ = false;
};

}  // namespace hipgraft
