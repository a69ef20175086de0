// Reads JSON that a bundle holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hipgraft {

// A value; its accessors fail with HIPGRAFT_DAMAGED if it is of another kind.
class Json {
 public:
  // Parses a whole text. Nested deeper than 64 levels, or a repeated key, is an error.
  static Json parse(std::string_view text);

  bool is_null() const { return kind_ == Kind::Null; }
  const std::string &string() const;
  // An integer of 0 to 2^63 - 1.
  int64_t number() const;
  const std::vector<Json> &array() const;
  // An array of a certain length.
  const std::vector<Json> &array(size_t length) const;
  // The value of a key of an object.
  const Json &operator[](std::string_view key) const;
  // The same, or null if the object has no such key.
  const Json *find(std::string_view key) const;
  // The text that the value was parsed from; it must still be there.
  std::string_view text() const { return text_; }
  std::vector<int64_t> numbers() const;

 private:
  friend class JsonParser;
  enum class Kind { Null, Other, Number, String, Array, Object };
  const Json &expect(Kind kind, const char *what) const;

  Kind kind_ = Kind::Null;
  int64_t number_ = 0;
  std::string string_;
  std::vector<Json> values_;
  std::vector<std::string> keys_;
  std::string_view text_;
};

}  // namespace hipgraft
