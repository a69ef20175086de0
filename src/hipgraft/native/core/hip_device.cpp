// GPUs through HIP's runtime. The declarations are the library's own: no headers are needed.
#include <cstdlib>

#include "gpu_device.h"

namespace hipgraft {

namespace {

constexpr size_t kPropertiesSize = 4096;  // more than `hipDeviceProp_t` of any release

struct Hip {
  const char *(*error_string)(int);
  int (*get_device)(int *);
  int (*set_device)(int);
  int (*stream_device)(void *, int *);  // null before ROCm 5.2
};

class HipDevice final : public GpuDevice {
 public:
  HipDevice(void *library, const Api &api, const Hip &hip, int index, std::string architecture)
      : GpuDevice(library, api, std::move(architecture), reinterpret_cast<void *>(3)),
        hip_(hip),
        index_(index) {}

  bool owns(void *stream) override {
    int device = index_;
    bool is_told = stream && hip_.stream_device && !hip_.stream_device(stream, &device);
    return !is_told || device == index_;
  }

 private:
  std::string words(int status) const override {
    const char *text = hip_.error_string(status);
    return text ? text : "error " + std::to_string(status);
  }
  void enter(int &before) override {
    if (hip_.get_device(&before)) before = index_;
    if (before != index_) check(hip_.set_device(index_), "choosing the device");
  }
  void leave(int before) override {
    if (before != index_) hip_.set_device(before);
  }

  const Hip hip_;
  const int index_;
};

}  // namespace

std::shared_ptr<Device> open_hip(int index, const char *given) {
  const char *variable = getenv("HIPGRAFT_LIBAMDHIP64");
  void *library = open_library(given && *given ? given : variable,
                               {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"}, "hip");
  Api api;
  find(library, "hipMalloc", api.malloc);
  find(library, "hipFree", api.free);
  find(library, "hipMemcpyHtoDAsync", api.to_device);
  find(library, "hipMemcpyDtoHAsync", api.to_host);
  find(library, "hipMemcpyDtoDAsync", api.on_device);
  find(library, "hipMemsetD8Async", api.fill_8);
  find(library, "hipMemsetD16Async", api.fill_16);
  find(library, "hipMemsetD32Async", api.fill_32);
  find(library, "hipModuleLoadData", api.load);
  find(library, "hipModuleUnload", api.unload);
  find(library, "hipModuleGetFunction", api.get_kernel);
  find(library, "hipModuleLaunchKernel", api.launch);
  find(library, "hipStreamCreateWithFlags", api.create_stream);
  find(library, "hipStreamDestroy", api.destroy_stream);
  find(library, "hipStreamSynchronize", api.wait);
  find(library, "hipStreamBeginCapture", api.begin_capture);
  find(library, "hipStreamEndCapture", api.end_capture);
  find(library, "hipGraphInstantiateWithFlags", api.instantiate);
  find(library, "hipGraphLaunch", api.launch_graph);
  find(library, "hipGraphExecDestroy", api.free_executable_graph);
  find(library, "hipGraphDestroy", api.free_graph);
  find_optional(library, "hipHostMalloc", api.malloc_pinned);
  find_optional(library, "hipHostFree", api.free_pinned);
  find_optional(library, "hipEventCreateWithFlags", api.create_event);
  find_optional(library, "hipEventDestroy", api.destroy_event);
  find_optional(library, "hipEventRecord", api.record);
  find_optional(library, "hipStreamWaitEvent", api.wait_event);
  find_optional(library, "hipEventSynchronize", api.wait_host);
  Hip hip;
  find(library, "hipGetErrorString", hip.error_string);
  find(library, "hipGetDevice", hip.get_device);
  find(library, "hipSetDevice", hip.set_device);
  int (*get_count)(int *), (*get_properties)(void *, int);
  find(library, "hipGetDeviceCount", get_count);
  bool is_new = dlsym(library, "hipGetDevicePropertiesR0600");  // else before ROCm 6
  find(library, is_new ? "hipGetDevicePropertiesR0600" : "hipGetDeviceProperties", get_properties);
  hip.stream_device =
      reinterpret_cast<int (*)(void *, int *)>(dlsym(library, "hipStreamGetDevice"));
  int count = 0;
  if (index < 0 && hip.get_device(&index)) index = 0;
  if (get_count(&count) || index >= count)
    fail(HIPGRAFT_INVALID_ARGUMENT, "no HIP device %d; there are %d", index, count);
  std::string properties(kPropertiesSize, '\0');
  if (get_properties(properties.data(), index))
    fail(HIPGRAFT_DRIVER_ERROR, "HIP device %d does not tell its properties", index);
  // The architecture's place in the structure depends on the release.
  static const char kDigits[] = "0123456789abcdef";
  for (size_t at = 0; (at = properties.find("gfx", at)) != std::string::npos; ++at) {
    size_t end = properties.find_first_not_of(kDigits, at + 3);
    if (end - at >= 6)
      return shared_device(library, index, [&] {
        std::string architecture = properties.substr(at, end - at);
        return std::make_shared<HipDevice>(library, api, hip, index, architecture);
      });
  }
  fail(HIPGRAFT_DRIVER_ERROR, "HIP device %d does not tell its architecture", index);
}

}  // namespace hipgraft
