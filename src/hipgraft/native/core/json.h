// Reads the JSON of a bundle.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hipgraft {

// A value; an accessor of another kind fails with HIPGRAFT_DAMAGED.
class Json {
 public:
  // Parses a whole text. Nesting of more than 64 levels and repeated keys are errors.
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
  // Returns the value of a key, or null if the object has no such key.
  const Json *find(std::string_view key) const;
  // Returns the text of the value, which the caller of `parse` must have kept.
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
