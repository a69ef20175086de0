// Statuses, errors and logs of the plugin.
#pragma once

#include <atomic>
#include <string>

#include "abi.h"
#include "errors.h"

namespace hipgraft {

// hipDNN's log callback, and the least severity that it wants.
extern std::atomic<hipdnnCallback_t> log_callback;
extern std::atomic<int> log_level;

void log(hipdnnSeverity_t severity, const std::string &text);

// The text of the last failure in this thread.
const char *plugin_error();

// Keeps and logs a text; returns the status.
hipdnnPluginStatus_t failed(hipdnnPluginStatus_t status, const std::string &text);
hipdnnPluginStatus_t failed(hipgraft_status status, const std::string &text);

// Calls a function and converts its exception to a status.
template <typename Function>
hipdnnPluginStatus_t answered(Function function) {
  return guarded(HIPDNN_PLUGIN_STATUS_SUCCESS, function,
                 [](hipgraft_status status, const std::string &text) { return failed(status, text); });
}

}  // namespace hipgraft
