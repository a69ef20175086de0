// GPUs through the CUDA driver. The declarations are the library's own: no headers are needed.
#include "gpu_device.h"

namespace hipgraft {

namespace {

constexpr int kComputeMajor = 75, kComputeMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
constexpr int kMostDynamicShared = 8;    // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr uint32_t kPlainShared = 48 * 1024;  // what a kernel of CUDA has without asking

struct Cuda {
  int (*error_string)(int, const char **);
  int (*push)(void *);
  int (*pop)(void **);
  int (*release)(int);
  int (*set_attribute)(void *, int, int);
};

class CudaDevice final : public GpuDevice {
 public:
  CudaDevice(void *library, const Api &api, const Cuda &cuda, int device, void *context,
             std::string architecture)
      : GpuDevice(library, api, std::move(architecture), nullptr),
        cuda_(cuda),
        device_(device),
        context_(context) {}
  ~CudaDevice() override { cuda_.release(device_); }

 private:
  std::string words(int status) const override {
    const char *text = nullptr;
    bool is_known = !cuda_.error_string(status, &text) && text;
    return is_known ? text : "error " + std::to_string(status);
  }
  void enter(int &) override { check(cuda_.push(context_), "choosing the device"); }
  void leave(int) override {
    void *context;
    cuda_.pop(&context);
  }
  void allow_shared(void *kernel, uint32_t nbytes) override {
    if (nbytes > kPlainShared)
      check(cuda_.set_attribute(kernel, kMostDynamicShared, static_cast<int>(nbytes)),
            "asking for shared memory");
  }

  const Cuda cuda_;
  const int device_;
  void *const context_;
};

}  // namespace

std::shared_ptr<Device> open_cuda(int index, const char *given) {
  void *library = open_library(given, {"libcuda.so.1", "libcuda.so"}, "cuda");
  Api api;
  find(library, "cuMemAlloc_v2", api.malloc);
  find(library, "cuMemFree_v2", api.free);
  find(library, "cuMemcpyHtoDAsync_v2", api.to_device);
  find(library, "cuMemcpyDtoHAsync_v2", api.to_host);
  find(library, "cuMemcpyDtoDAsync_v2", api.on_device);
  find(library, "cuMemsetD8Async", api.fill_8);
  find(library, "cuMemsetD16Async", api.fill_16);
  find(library, "cuMemsetD32Async", api.fill_32);
  find(library, "cuModuleLoadData", api.load);
  find(library, "cuModuleUnload", api.unload);
  find(library, "cuModuleGetFunction", api.get_kernel);
  find(library, "cuLaunchKernel", api.launch);
  find(library, "cuStreamCreate", api.create_stream);
  find(library, "cuStreamDestroy_v2", api.destroy_stream);
  find(library, "cuStreamSynchronize", api.wait);
  find(library, "cuStreamBeginCapture_v2", api.begin_capture);
  find(library, "cuStreamEndCapture", api.end_capture);
  find(library, "cuGraphInstantiateWithFlags", api.instantiate);
  find(library, "cuGraphLaunch", api.launch_graph);
  find(library, "cuGraphExecDestroy", api.free_executable_graph);
  find(library, "cuGraphDestroy", api.free_graph);
  find_optional(library, "cuMemHostAlloc", api.malloc_pinned);
  find_optional(library, "cuMemFreeHost", api.free_pinned);
  find_optional(library, "cuEventCreate", api.create_event);
  find_optional(library, "cuEventDestroy_v2", api.destroy_event);
  find_optional(library, "cuEventRecord", api.record);
  find_optional(library, "cuStreamWaitEvent", api.wait_event);
  find_optional(library, "cuEventSynchronize", api.wait_host);
  Cuda cuda;
  find(library, "cuGetErrorString", cuda.error_string);
  find(library, "cuCtxPushCurrent_v2", cuda.push);
  find(library, "cuCtxPopCurrent_v2", cuda.pop);
  find(library, "cuDevicePrimaryCtxRelease_v2", cuda.release);
  find(library, "cuFuncSetAttribute", cuda.set_attribute);
  int (*initialize)(unsigned), (*get_count)(int *), (*get_device)(int *, int);
  int (*retain)(void **, int), (*get_attribute)(int *, int, int);
  find(library, "cuInit", initialize);
  find(library, "cuDeviceGetCount", get_count);
  find(library, "cuDeviceGet", get_device);
  find(library, "cuDevicePrimaryCtxRetain", retain);
  find(library, "cuDeviceGetAttribute", get_attribute);
  int count = 0, device = 0, major = 0, minor = 0;
  if (initialize(0) || get_count(&count) || index >= count || get_device(&device, index))
    fail(HIPGRAFT_INVALID_ARGUMENT, "no CUDA device %d; there are %d", index, count);
  return shared_device(library, index, [&] {
    void *context = nullptr;
    if (get_attribute(&major, kComputeMajor, device) ||
        get_attribute(&minor, kComputeMinor, device) || retain(&context, device))
      fail(HIPGRAFT_DRIVER_ERROR, "CUDA device %d cannot be opened", index);
    std::string architecture = "sm_" + std::to_string(major) + std::to_string(minor);
    return std::make_shared<CudaDevice>(library, api, cuda, device, context, architecture);
  });
}

}  // namespace hipgraft
