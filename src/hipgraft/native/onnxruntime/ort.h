// ONNX Runtime's functions, statuses and logs, which all parts of the provider use.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "abi.h"
#include "errors.h"
#include "tables.h"

namespace hipgraft::ort {

constexpr char kProvider[] = "HipgraftExecutionProvider";

using Options = std::map<std::string, std::string>;

// ONNX Runtime's functions; set by `CreateEpFactories`.
extern Api api;

// Fills `api`. Returns a status if ONNX Runtime is too old.
Status *load_api(const ApiBase &base);

// A status of ONNX Runtime, which the provider returns to it.
struct Passed {
  Status *status;
};

inline void check(Status *status) {
  if (status) throw Passed{status};
}

Status *status_of(hipgraft_status status, const std::string &text);

// Calls a function and converts its exception to a status.
template <typename Function>
Status *guarded(Function function) {
  try {
    return hipgraft::guarded<Status *>(nullptr, function, status_of);
  } catch (const Passed &passed) {
    return passed.status;
  }
}

// Calls a function of ONNX Runtime whose last argument is the address of its result.
template <typename Result, typename... Parameters, typename... Arguments>
Result get(Status *(*function)(Parameters...), Arguments... arguments) {
  Result result{};
  check(function(arguments..., &result));
  return result;
}

// Calls a pair of functions, of which one returns the number of elements and the other fills an
// array.
template <typename Thing, typename Owner>
std::vector<Thing> list(Status *(*count)(const Owner *, size_t *),
                        Status *(*fill)(const Owner *, Thing *, size_t), const Owner *owner) {
  std::vector<Thing> things(get<size_t>(count, owner));
  if (!things.empty()) check(fill(owner, things.data(), things.size()));
  return things;
}

inline std::string text_of(const char *text) { return text ? text : ""; }

void log(const Logger *logger, Severity severity, const std::string &text);

// Key-value pairs of ONNX Runtime, which the destructor releases.
class Pairs {
 public:
  Pairs() { api.create_pairs(&pairs_); }
  explicit Pairs(KeyValuePairs *pairs) : pairs_(pairs) {}
  ~Pairs() { api.release_pairs(pairs_); }
  Pairs(const Pairs &) = delete;

  void add(const char *key, const std::string &value) { api.add_pair(pairs_, key, value.c_str()); }
  std::map<std::string, std::string> all() const;
  KeyValuePairs *get() const { return pairs_; }

 private:
  KeyValuePairs *pairs_ = nullptr;
};

}  // namespace hipgraft::ort
