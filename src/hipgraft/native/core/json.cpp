#include "json.h"

#include <algorithm>

#include "errors.h"

namespace hipgraft {

namespace {

constexpr int kMostLevels = 64;

void append_utf8(std::string &text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  int rest = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const int kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kLead[rest] | code >> 6 * rest);
  while (rest--) text += static_cast<char>(0x80 | (code >> 6 * rest & 0x3F));
}

// Whether a text is UTF-8 without surrogates and overlong forms.
bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    auto lead = static_cast<unsigned char>(text[at++]);
    if (lead < 0x80) continue;
    int rest = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    static const uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    uint32_t code = lead & (0x3Fu >> rest);
    if (lead < 0xC2 || lead > 0xF4 || text.size() - at < static_cast<size_t>(rest)) return false;
    for (int i = 0; i < rest; ++i) {
      auto next = static_cast<unsigned char>(text[at++]);
      if (next >> 6 != 2) return false;
      code = code << 6 | (next & 0x3F);
    }
    if (code < kLeast[rest] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  }
  return true;
}

}  // namespace

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  Json whole() {
    if (!is_utf8(text_)) fail(HIPGRAFT_DAMAGED, "the bundle's header is no UTF-8");
    Json value = parse(0);
    if (skip() != text_.size()) broken();
    return value;
  }

 private:
  Json parse(int level) {
    if (level > kMostLevels) broken();
    Json value;
    size_t start = skip();
    switch (peek()) {
      case '{':
        value.kind_ = Json::Kind::Object;
        members(value, level);
        break;
      case '[':
        value.kind_ = Json::Kind::Array;
        elements(value, level);
        break;
      case '"':
        value.kind_ = Json::Kind::String;
        value.string_ = quoted();
        break;
      case 'n':
        word("null");
        break;
      case 't':
      case 'f':
        value.kind_ = Json::Kind::Other;
        word(peek() == 't' ? "true" : "false");
        break;
      default:
        number(value);
    }
    value.text_ = text_.substr(start, at_ - start);
    return value;
  }

  void members(Json &object, int level) {
    ++at_;
    if (skip(), accept('}')) return;
    do {
      skip();
      if (peek() != '"') broken();
      object.keys_.push_back(quoted());
      skip();
      if (!accept(':')) broken();
      object.values_.push_back(parse(level + 1));
      skip();
    } while (accept(','));
    if (!accept('}')) broken();
    auto keys = object.keys_;
    std::sort(keys.begin(), keys.end());
    if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) broken();
  }

  void elements(Json &array, int level) {
    ++at_;
    if (skip(), accept(']')) return;
    do {
      array.values_.push_back(parse(level + 1));
      skip();
    } while (accept(','));
    if (!accept(']')) broken();
  }

  // Numbers other than integers of 63 bits are kept as `Other`: only metadata may contain them.
  void number(Json &value) {
    size_t start = at_;
    while (at_ < text_.size() && std::string_view("+-.eE0123456789").find(text_[at_]) !=
                                     std::string_view::npos)
      ++at_;
    std::string_view digits = text_.substr(start, at_ - start);
    bool is_plain = !digits.empty() && digits.size() <= 19 &&
                    digits.find_first_not_of("0123456789") == std::string_view::npos &&
                    (digits[0] != '0' || digits.size() == 1);
    uint64_t sum = 0;
    if (is_plain)
      for (char digit : digits) sum = 10 * sum + static_cast<uint64_t>(digit - '0');
    if (digits.empty()) broken();
    bool fits = is_plain && sum <= static_cast<uint64_t>(INT64_MAX);
    value.kind_ = fits ? Json::Kind::Number : Json::Kind::Other;
    value.number_ = fits ? static_cast<int64_t>(sum) : 0;
  }

  std::string quoted() {
    std::string found;
    ++at_;
    while (true) {
      char next = take();
      if (next == '"') return found;
      if (static_cast<unsigned char>(next) < 0x20) broken();
      if (next != '\\') {
        found += next;
        continue;
      }
      char escaped = take();
      static const std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
      if (escaped == 'u') {
        append_utf8(found, escape());
      } else {
        size_t index = kNames.find(escaped);
        if (index == std::string_view::npos) broken();
        found += kValues[index];
      }
    }
  }

  uint32_t escape() {
    uint32_t code = hexadecimal();
    if (code >= 0xDC00 && code < 0xE000) broken();
    if (code < 0xD800 || code >= 0xE000) return code;
    if (take() != '\\' || take() != 'u') broken();
    uint32_t low = hexadecimal();
    if (low < 0xDC00 || low >= 0xE000) broken();
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }

  uint32_t hexadecimal() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      char digit = take();
      size_t value = std::string_view("0123456789abcdef").find(static_cast<char>(digit | 0x20));
      if (value == std::string_view::npos || (digit < '0')) broken();
      code = 16 * code + static_cast<uint32_t>(value);
    }
    return code;
  }

  void word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) broken();
    at_ += expected.size();
  }

  size_t skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) !=
                                     std::string_view::npos)
      ++at_;
    return at_;
  }
  char peek() { return at_ < text_.size() ? text_[at_] : '\0'; }
  char take() {
    if (at_ == text_.size()) broken();
    return text_[at_++];
  }
  bool accept(char expected) {
    if (peek() != expected || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  [[noreturn]] void broken() {
    fail(HIPGRAFT_DAMAGED, "the bundle's header is no JSON at byte %zu of it", at_);
  }

  std::string_view text_;
  size_t at_ = 0;
};

Json Json::parse(std::string_view text) { return JsonParser(text).whole(); }

const Json &Json::expect(Kind kind, const char *what) const {
  if (kind_ != kind)
    fail(HIPGRAFT_DAMAGED, "the bundle's header has %.*s where %s is expected",
         static_cast<int>(std::min<size_t>(text_.size(), 40)), text_.data(), what);
  return *this;
}

const std::string &Json::string() const { return expect(Kind::String, "a string").string_; }

int64_t Json::number() const { return expect(Kind::Number, "a size").number_; }

const std::vector<Json> &Json::array() const { return expect(Kind::Array, "an array").values_; }

const std::vector<Json> &Json::array(size_t length) const {
  if (array().size() != length)
    fail(HIPGRAFT_DAMAGED, "the bundle's header has an array of %zu where %zu are expected",
         values_.size(), length);
  return values_;
}

const Json *Json::find(std::string_view key) const {
  expect(Kind::Object, "an object");
  auto found = std::find(keys_.begin(), keys_.end(), key);
  return found == keys_.end() ? nullptr : &values_[static_cast<size_t>(found - keys_.begin())];
}

const Json &Json::operator[](std::string_view key) const {
  if (const Json *found = find(key)) return *found;
  fail(HIPGRAFT_DAMAGED, "the bundle's header lacks '%.*s'", static_cast<int>(key.size()),
       key.data());
}

std::vector<int64_t> Json::numbers() const {
  std::vector<int64_t> found;
  for (const Json &value : array()) found.push_back(value.number());
  return found;
}

}  // namespace hipgraft
