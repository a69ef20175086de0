// The objects of the C interface, and its error handling.
#pragma once

#include <memory>
#include <string>

#include "device.h"
#include "errors.h"
#include "hipgraft.h"

struct hipgraft_device {
  std::shared_ptr<hipgraft::Device> device;
};

namespace hipgraft {

// Keeps a text for `hipgraft_error`.
hipgraft_status keep_error(hipgraft_status status, const std::string &text);

template <typename Function>
hipgraft_status guarded(Function function) {
  return guarded(HIPGRAFT_OK, function, keep_error);
}

// Calls a function in the same way while a device is current.
template <typename Function>
hipgraft_status guarded_on(hipgraft_device *device, Function function) {
  return guarded([&] {
    expect("device", device);
    Device::Current current(*device->device);
    function(*device->device);
  });
}

}  // namespace hipgraft
