// Reads the few fields of FlatBuffers that the plugin needs, from untrusted bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace hipgraft {

// A table. Fields that are absent, or outside the data, have the given default.
class FlatTable {
 public:
  // The root table; `is_valid` returns whether there is one.
  explicit FlatTable(std::string_view data) : data_(data) {
    uint32_t root = 0;
    if (read(0, root)) open(root);
  }

  bool is_valid() const { return is_valid_; }

  template <typename T>
  T scalar(unsigned field, T otherwise) const {
    size_t at = place(field);
    T value;
    return at && read(at, value) ? value : otherwise;
  }

  // A table in a field, or in a union: invalid if it is absent.
  FlatTable table(unsigned field) const { return FlatTable(data_, followed(place(field))); }

  std::string_view text(unsigned field) const {
    size_t at = followed(place(field));
    uint32_t size = 0;
    if (!at || !read(at, size) || size > data_.size() - at - sizeof size) return {};
    return data_.substr(at + sizeof size, size);
  }

  // A vector of tables; tables outside the data are invalid.
  std::vector<FlatTable> tables(unsigned field) const {
    std::vector<FlatTable> found;
    size_t at = followed(place(field));
    uint32_t count = 0;
    if (!at || !read(at, count)) return found;
    for (uint32_t i = 0; i < count; ++i) {
      found.push_back(FlatTable(data_, followed(at += sizeof(uint32_t))));
      if (!found.back().is_valid()) break;
    }
    return found;
  }

 private:
  FlatTable(std::string_view data, size_t at) : data_(data) {
    if (at) open(at);
  }

  void open(size_t at) {
    if (!read(at, back_)) return;
    int64_t vtable = static_cast<int64_t>(at) - back_;
    if (vtable < 0 || !read(static_cast<size_t>(vtable), vtable_size_) || vtable_size_ < 4) return;
    if (static_cast<size_t>(vtable) + vtable_size_ > data_.size()) return;
    at_ = at;
    vtable_ = static_cast<size_t>(vtable);
    is_valid_ = true;
  }

  // The offset of a field; 0 if it is absent.
  size_t place(unsigned field) const {
    uint16_t offset = 0;
    size_t entry = 4 + 2 * size_t{field};
    if (!is_valid_ || entry + 2 > vtable_size_ || !read(vtable_ + entry, offset) || !offset)
      return 0;
    return at_ + offset;
  }

  // Follows the offset stored at a position; returns 0 if there is none, or if it points outside
  // the data.
  size_t followed(size_t at) const {
    uint32_t step = 0;
    return at && read(at, step) && step && step < data_.size() - at ? at + step : 0;
  }

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
