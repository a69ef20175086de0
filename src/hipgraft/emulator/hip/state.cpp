// The process's state, its errors, and the settings from the environment.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fstream>

#include "runtime.h"

namespace {

constexpr const char* kFolderVariable = "HIPGRAFT_EMULATE";

struct ErrorText {
  hipError_t number;
  const char *name, *text;
};
#define ENTRY(name, text) {name, #name, text}
const ErrorText kErrors[] = {
    ENTRY(hipSuccess, "no error"),
    ENTRY(hipErrorInvalidValue, "invalid argument"),
    ENTRY(hipErrorOutOfMemory, "out of memory"),
    ENTRY(hipErrorNotInitialized, "initialization error"),
    ENTRY(hipErrorInvalidConfiguration, "invalid configuration argument"),
    ENTRY(hipErrorInvalidPitchValue, "invalid pitch argument"),
    ENTRY(hipErrorInvalidSymbol, "invalid device symbol"),
    ENTRY(hipErrorInvalidDevicePointer, "invalid device pointer"),
    ENTRY(hipErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ENTRY(hipErrorInvalidDeviceFunction, "invalid device function"),
    ENTRY(hipErrorNoDevice, "no ROCm-capable device is detected"),
    ENTRY(hipErrorInvalidDevice, "invalid device ordinal"),
    ENTRY(hipErrorInvalidImage, "device kernel image is invalid"),
    ENTRY(hipErrorInvalidContext, "invalid device context"),
    ENTRY(hipErrorNoBinaryForGpu, "no kernel image is available for execution on the device"),
    ENTRY(hipErrorUnsupportedLimit, "limit is not supported on this architecture"),
    ENTRY(hipErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ENTRY(hipErrorFileNotFound, "file not found"),
    ENTRY(hipErrorSharedObjectInitFailed, "shared object initialization failed"),
    ENTRY(hipErrorInvalidHandle, "invalid resource handle"),
    ENTRY(hipErrorIllegalState, "the operation cannot be performed in the present state"),
    ENTRY(hipErrorNotFound, "named symbol not found"),
    ENTRY(hipErrorNotReady, "device not ready"),
    ENTRY(hipErrorIllegalAddress, "an illegal memory access was encountered"),
    ENTRY(hipErrorLaunchOutOfResources, "too many resources requested for launch"),
    ENTRY(hipErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ENTRY(hipErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ENTRY(hipErrorContextIsDestroyed, "context is destroyed"),
    ENTRY(hipErrorHostMemoryAlreadyRegistered,
          "part or all of the requested memory range is already mapped"),
    ENTRY(hipErrorHostMemoryNotRegistered,
          "pointer does not correspond to a registered memory region"),
    ENTRY(hipErrorLaunchFailure, "unspecified launch failure"),
    ENTRY(hipErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ENTRY(hipErrorNotSupported, "operation not supported"),
    ENTRY(hipErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ENTRY(hipErrorStreamCaptureInvalidated,
          "operation failed due to a previous error during capture"),
    ENTRY(hipErrorStreamCaptureMerge,
          "operation would result in a merge of separate capture sequences"),
    ENTRY(hipErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    ENTRY(hipErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ENTRY(hipErrorStreamCaptureIsolation,
          "dependency created on uncaptured work in another stream"),
    ENTRY(hipErrorStreamCaptureImplicit,
          "operation would make the legacy stream depend on a capturing blocking stream"),
    ENTRY(hipErrorCapturedEvent,
          "operation not permitted on an event last recorded in a capturing stream"),
    ENTRY(hipErrorStreamCaptureWrongThread,
          "attempt to terminate a thread-local capture sequence from another thread"),
    ENTRY(hipErrorGraphExecUpdateFailure,
          "the graph update was not performed because it included changes which violated "
          "constraints specific to instantiated graph update"),
    ENTRY(hipErrorUnknown, "unknown error"),
};

const ErrorText& describe(hipError_t error) {
  for (const ErrorText& one : kErrors)
    if (one.number == error) return one;
  return kErrors[sizeof kErrors / sizeof *kErrors - 1];
}

void read_settings(State& all) {
  const char* folder = getenv(kFolderVariable);
  std::ifstream file(std::string(folder ? folder : "") + "/settings");
  std::string line;
  while (std::getline(file, line)) {
    size_t split = line.find('=');
    if (split != std::string::npos)
      all.settings.values[line.substr(0, split)] = line.substr(split + 1);
  }
  if (!all.settings.values.count("architecture")) {
    complain("the emulated libamdhip64 needs its settings: start the program by hipgraft-emulate");
    all.start = hipErrorNoDevice;
    return;
  }
  for (int i = 0; i < (int)all.settings.number("devices", 1); i++) {
    Device* device = new Device{i, nullptr, new Pool{i, 0, 0, {0, 1, 1, 1}}, nullptr};
    device->null_stream = new Stream{device, 0, 0};
    device->pool = device->default_pool;
    all.pools.insert(device->pool);
    all.devices.push_back(device);
  }
}

}  // namespace

std::string Settings::text(const char* name) const {
  auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

double Settings::number(const char* name, double otherwise) const {
  std::string value = text(name);
  return value.empty() ? otherwise : strtod(value.c_str(), nullptr);
}

// Never destroyed: threads of streams may outlive `main`.
State& state() {
  static State* all = [] {
    State* made = new State;
    read_settings(*made);
    return made;
  }();
  return *all;
}

Thread& thread() {
  static thread_local Thread* own = new Thread;
  return *own;
}

Device& current_device() { return *state().devices[thread().device]; }

hipError_t finish(hipError_t error) {
  if (error != hipSuccess && error != hipErrorNotReady) thread().last_error = error;
  return error;
}

void complain(const std::string& text) {
  std::string line = "error: " + text + "\n";
  fputs(line.c_str(), stderr);
  const char* folder = getenv(kFolderVariable);
  if (!folder) return;
  std::ofstream(std::string(folder) + "/errors", std::ios::app) << line;
}

hipError_t unsupported(const char* name, const char* what) {
  static std::mutex mutex;
  static std::set<std::string> told;
  std::lock_guard<std::mutex> lock(mutex);
  std::string text = std::string("the emulated libamdhip64 has no '") + name + "'" + what;
  if (told.insert(text).second) complain(text);
  return finish(hipErrorNotSupported);
}

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ll + time.tv_nsec;
}

extern "C" {

#define TEXT_API __attribute__((visibility("default"))) const char*

TEXT_API hipGetErrorName(hipError_t error) { return describe(error).name; }
TEXT_API hipGetErrorString(hipError_t error) { return describe(error).text; }

HIP_API hipDrvGetErrorName(hipError_t error, const char** text) {
  if (!text) return finish(hipErrorInvalidValue);
  *text = describe(error).name;
  return finish(describe(error).number == error ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipDrvGetErrorString(hipError_t error, const char** text) {
  if (!text) return finish(hipErrorInvalidValue);
  *text = describe(error).text;
  return finish(describe(error).number == error ? hipSuccess : hipErrorInvalidValue);
}

HIP_API hipGetLastError() {
  hipError_t last = thread().last_error;
  thread().last_error = hipSuccess;
  return last;
}

HIP_API hipExtGetLastError() { return hipGetLastError(); }
HIP_API hipPeekAtLastError() { return thread().last_error; }
}
