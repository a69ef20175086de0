#include "ort.h"

#include <algorithm>
#include <cstdlib>

namespace hipgraft::ort {

Api api;

Status *load_api(const ApiBase &base) {
  // "1.31.1" has version 31; requesting a version that does not exist prints a line.
  std::string release = text_of(base.version_string());
  size_t dot = release.find('.');
  long minor = dot == std::string::npos ? 0 : strtol(release.c_str() + dot + 1, nullptr, 10);
  auto version = static_cast<uint32_t>(std::clamp<long>(minor, 1, kNewest));
  auto found = reinterpret_cast<void *const *>(base.get_api(version));
  if (!found) return nullptr;
#define HIPGRAFT_ORT_LOAD(index, result, name, arguments) \
  api.name = reinterpret_cast<decltype(api.name)>(table[index]);
  auto table = found;
  api.create_status = reinterpret_cast<decltype(api.create_status)>(table[0]);
  if (version < kOldest)
    return api.create_status(kFail, ("hipgraft needs onnxruntime 1." + std::to_string(kOldest) +
                                     " or later, found " + release).c_str());
  HIPGRAFT_ORT_API(HIPGRAFT_ORT_LOAD)
  table = reinterpret_cast<void *const *>(api.ep_api());
  HIPGRAFT_ORT_EP_API(HIPGRAFT_ORT_LOAD)
  table = reinterpret_cast<void *const *>(api.model_editor_api());
  HIPGRAFT_ORT_EDITOR_API(HIPGRAFT_ORT_LOAD)
#undef HIPGRAFT_ORT_LOAD
  api.version = version;
  return nullptr;
}

Status *status_of(hipgraft_status status, const std::string &text) {
  int code = kRuntimeException;
  if (status == HIPGRAFT_INVALID_ARGUMENT) code = kInvalidArgument;
  if (status == HIPGRAFT_IO_ERROR || status == HIPGRAFT_UNTRUSTED) code = kFail;
  if (status == HIPGRAFT_DAMAGED) code = kInvalidGraph;
  if (status == HIPGRAFT_NOT_APPLICABLE) code = kNotImplemented;
  return api.create_status(code, ("hipgraft: " + text).c_str());
}

void log(const Logger *logger, Severity severity, const std::string &text) {
  int least = kWarning;
  if (!logger) return;
  if (Status *status = api.log_severity(logger, &least)) return api.release_status(status);
  if (severity < least) return;
  Status *status = api.log(logger, severity, ("hipgraft: " + text).c_str(), "hipgraft", 0, "");
  if (status) api.release_status(status);
}

std::map<std::string, std::string> Pairs::all() const {
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  api.pairs(pairs_, &keys, &values, &count);
  std::map<std::string, std::string> found;
  for (size_t i = 0; i < count; ++i) found[keys[i]] = values[i];
  return found;
}

}  // namespace hipgraft::ort
