// Writes protobuf's wire format.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hipgraft::ort {

// A message; fields are appended in the order of the calls.
class Message {
 public:
  void number(unsigned field, int64_t value) {
    varint(field << 3);
    varint(static_cast<uint64_t>(value));
  }
  void bytes(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    data_.append(value);
  }
  void message(unsigned field, const Message &value) { bytes(field, value.data_); }
  void real(unsigned field, float value) {
    varint(field << 3 | 5);
    data_.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  const std::string &data() const { return data_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) data_ += static_cast<char>(value | 0x80);
    data_ += static_cast<char>(value);
  }

  std::string data_;
};

}  // namespace hipgraft::ort
