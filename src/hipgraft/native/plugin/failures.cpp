#include "failures.h"

#include <algorithm>
#include <cstring>

namespace hipgraft {

namespace {

constexpr size_t kMostText = 2048;  // size of an error text, with its terminator

thread_local char last_error[kMostText];

hipdnnPluginStatus_t status_of(hipgraft_status status) {
  switch (status) {
    case HIPGRAFT_INVALID_ARGUMENT:
      return HIPDNN_PLUGIN_STATUS_BAD_PARAM;
    case HIPGRAFT_DAMAGED:
      return HIPDNN_PLUGIN_STATUS_INVALID_VALUE;
    case HIPGRAFT_NOT_APPLICABLE:
    case HIPGRAFT_UNTRUSTED:
      return HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE;
    case HIPGRAFT_OUT_OF_MEMORY:
      return HIPDNN_PLUGIN_STATUS_ALLOC_FAILED;
    default:
      return HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR;
  }
}

}  // namespace

std::atomic<hipdnnCallback_t> log_callback{nullptr};
std::atomic<int> log_level{HIPDNN_SEV_WARN};

void log(hipdnnSeverity_t severity, const std::string &text) {
  hipdnnCallback_t found = log_callback;
  if (found && severity >= log_level) found(severity, ("hipgraft: " + text).c_str());
}

const char *plugin_error() { return last_error; }

hipdnnPluginStatus_t failed(hipdnnPluginStatus_t status, const std::string &text) {
  size_t size = std::min(text.size(), kMostText - 1);
  memcpy(last_error, text.data(), size);
  last_error[size] = '\0';
  log(HIPDNN_SEV_ERROR, text);
  return status;
}

hipdnnPluginStatus_t failed(hipgraft_status status, const std::string &text) {
  return failed(status_of(status), text);
}

}  // namespace hipgraft
