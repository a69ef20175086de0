#include "gpu_api.h"

namespace hipgraft {

GpuApi::GpuApi(void *library, bool is_hip) {
  auto find = [&](auto &function, const char *cuda, const char *hip) {
    function.find(library, is_hip ? hip : cuda);
  };
  auto find_optional = [&](auto &function, const char *cuda, const char *hip) {
    function.find_optional(library, is_hip ? hip : cuda);
  };
  find(malloc, "cuMemAlloc_v2", "hipMalloc");
  find(free, "cuMemFree_v2", "hipFree");
  find(to_device, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync");
  find(to_host, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync");
  find(on_device, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync");
  find(fill_8, "cuMemsetD8Async", "hipMemsetD8Async");
  find(fill_16, "cuMemsetD16Async", "hipMemsetD16Async");
  find(fill_32, "cuMemsetD32Async", "hipMemsetD32Async");
  find(load, "cuModuleLoadData", "hipModuleLoadData");
  find(unload, "cuModuleUnload", "hipModuleUnload");
  find(get_kernel, "cuModuleGetFunction", "hipModuleGetFunction");
  find(launch, "cuLaunchKernel", "hipModuleLaunchKernel");
  find(create_stream, "cuStreamCreate", "hipStreamCreateWithFlags");
  find(destroy_stream, "cuStreamDestroy_v2", "hipStreamDestroy");
  find(wait, "cuStreamSynchronize", "hipStreamSynchronize");
  find(wait_all, "cuCtxSynchronize", "hipDeviceSynchronize");
  find(begin_capture, "cuStreamBeginCapture_v2", "hipStreamBeginCapture");
  find(end_capture, "cuStreamEndCapture", "hipStreamEndCapture");
  find(instantiate, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags");
  find(launch_graph, "cuGraphLaunch", "hipGraphLaunch");
  find(free_executable_graph, "cuGraphExecDestroy", "hipGraphExecDestroy");
  find(free_graph, "cuGraphDestroy", "hipGraphDestroy");
  find_optional(malloc_pinned, "cuMemHostAlloc", "hipHostMalloc");
  find_optional(free_pinned, "cuMemFreeHost", "hipHostFree");
  find_optional(create_event, "cuEventCreate", "hipEventCreateWithFlags");
  find_optional(destroy_event, "cuEventDestroy_v2", "hipEventDestroy");
  find_optional(record, "cuEventRecord", "hipEventRecord");
  // HIP has it since ROCm 7.
  find_optional(record_in_graph, "cuEventRecordWithFlags", "hipEventRecordWithFlags");
  find_optional(wait_event, "cuStreamWaitEvent", "hipStreamWaitEvent");
  find_optional(wait_host, "cuEventSynchronize", "hipEventSynchronize");
  find_optional(elapsed, "cuEventElapsedTime", "hipEventElapsedTime");
}

void *open_library(const char *given, const std::vector<const char *> &names, const char *kind) {
  std::string reason;
  for (const char *name : given && *given ? std::vector<const char *>{given} : names) {
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    reason = dlerror();
  }
  fail(HIPGRAFT_IO_ERROR, "no %s driver: %s", kind, reason.c_str());
}

}  // namespace hipgraft
