// GPUs through the CUDA driver and HIP's runtime, whose functions agree call by call.
//
// The declarations are the library's own: neither vendor's headers are needed.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "device.h"
#include "errors.h"

namespace hipgraft {

namespace {

constexpr int kOutOfMemory = 2;
constexpr int kCaptureThreadLocal = 1;   // other threads may go on using the driver
constexpr int kNonBlockingStream = 1;    // a capture must not wait for the default stream
constexpr int kComputeMajor = 75, kComputeMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
constexpr int kMostDynamicShared = 8;    // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr uint32_t kPlainShared = 48 * 1024;  // what a kernel of CUDA has without asking
constexpr size_t kPropertiesSize = 4096;  // more than `hipDeviceProp_t` of any release
// CU_LAUNCH_PARAM_* and HIP_LAUNCH_PARAM_*: how packed arguments are passed.
void *const kBufferPointer = reinterpret_cast<void *>(1);
void *const kBufferSize = reinterpret_cast<void *>(2);

// The functions that CUDA and HIP have in common.
struct Api {
  int (*malloc)(void **, size_t);
  int (*free)(void *);
  int (*to_device)(void *, const void *, size_t, void *);
  int (*to_host)(void *, const void *, size_t, void *);
  int (*on_device)(uint64_t, uint64_t, size_t, void *);
  int (*fill_8)(uint64_t, uint8_t, size_t, void *);
  int (*fill_16)(uint64_t, uint16_t, size_t, void *);
  int (*fill_32)(uint64_t, uint32_t, size_t, void *);
  int (*load)(void **, const void *);
  int (*unload)(void *);
  int (*get_kernel)(void **, void *, const char *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                void **, void **);
  int (*create_stream)(void **, unsigned);
  int (*destroy_stream)(void *);
  int (*wait)(void *);
  int (*begin_capture)(void *, int);
  int (*end_capture)(void *, void **);
  int (*instantiate)(void **, void *, unsigned long long);
  int (*launch_graph)(void *, void *);
  int (*free_executable_graph)(void *);
  int (*free_graph)(void *);
};

class GpuDevice : public Device {
 public:
  GpuDevice(void *library, const Api &api, std::string architecture, void *list_end)
      : Device(std::move(architecture)), library_(library), api_(api), list_end_(list_end) {}

  void *allocate(size_t size) override {
    void *memory = nullptr;
    int status = api_.malloc(&memory, size);
    if (status == kOutOfMemory)
      fail(HIPGRAFT_OUT_OF_MEMORY, "the device has no %zu bytes of memory left", size);
    check(status, "an allocation");
    return memory;
  }
  void free(void *memory) override { check(api_.free(memory), "freeing memory"); }
  void upload(void *memory, const void *data, size_t size) override {
    check(api_.to_device(memory, data, size, nullptr), "a copy to the device");
    synchronize(nullptr);
  }
  void download(void *data, const void *memory, size_t size) override {
    check(api_.to_host(data, memory, size, nullptr), "a copy from the device");
    synchronize(nullptr);
  }
  void synchronize(void *stream) override { check(api_.wait(stream), "waiting for a stream"); }

  void *load(std::string_view code) override {
    void *module = nullptr;
    std::string text(code);  // PTX must end in a zero
    check(api_.load(&module, text.c_str()), "loading code");
    return module;
  }
  void unload(void *module) override { check(api_.unload(module), "unloading code"); }
  void *kernel(void *module, const std::string &name, uint32_t shared_bytes) override {
    void *kernel = nullptr;
    int status = api_.get_kernel(&kernel, module, name.c_str());
    check(status, ("finding kernel '" + name + "'").c_str());
    allow_shared(kernel, shared_bytes);
    return kernel;
  }

  void launch(void *kernel, const Launch &launch, char *arguments, void *stream) override {
    size_t size = launch.arguments.size();
    void *extra[] = {kBufferPointer, arguments, kBufferSize, &size, list_end_};
    auto [gx, gy, gz] = launch.grid;
    auto [bx, by, bz] = launch.block;
    if (!gx || !gy || !gz) return;  // drivers refuse empty grids
    check(api_.launch(kernel, gx, gy, gz, bx, by, bz, launch.shared_bytes, stream, nullptr, extra),
          "a launch");
  }
  void copy(uint64_t target, uint64_t source, uint64_t nbytes, void *stream) override {
    check(api_.on_device(target, source, nbytes, stream), "a copy on the device");
  }
  void fill(uint64_t target, uint32_t word, unsigned width, uint64_t nbytes, void *stream) override {
    size_t count = nbytes / width;
    int status = width == 1   ? api_.fill_8(target, static_cast<uint8_t>(word), count, stream)
                 : width == 2 ? api_.fill_16(target, static_cast<uint16_t>(word), count, stream)
                              : api_.fill_32(target, word, count, stream);
    check(status, "a fill");
  }

  bool has_graphs() const override { return true; }
  void *begin_capture() override {
    void *stream = nullptr;
    check(api_.create_stream(&stream, kNonBlockingStream), "making a stream");
    if (int status = api_.begin_capture(stream, kCaptureThreadLocal)) {
      api_.destroy_stream(stream);
      check(status, "beginning a capture");
    }
    return stream;
  }
  void *end_capture(void *stream) override {
    void *graph = nullptr, *executable = nullptr;
    int status = api_.end_capture(stream, &graph);
    if (!status) {
      status = api_.instantiate(&executable, graph, 0);
      api_.free_graph(graph);
    }
    api_.destroy_stream(stream);
    check(status, "ending a capture");
    return executable;
  }
  void replay(void *graph, void *stream) override {
    check(api_.launch_graph(graph, stream), "the launch of a graph");
  }
  void free_graph(void *graph) override { api_.free_executable_graph(graph); }

 protected:
  void check(int status, const char *what) const {
    if (status) fail(HIPGRAFT_DRIVER_ERROR, "%s failed: %s", what, words(status).c_str());
  }
  virtual std::string words(int status) const = 0;
  virtual void allow_shared(void *, uint32_t) {}

  void *const library_;

 private:
  const Api api_;
  void *const list_end_;
};

void *open_library(const char *given, const std::vector<const char *> &names, const char *kind) {
  std::string reason;
  for (const char *name : given && *given ? std::vector<const char *>{given} : names) {
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    reason = dlerror();
  }
  fail(HIPGRAFT_IO_ERROR, "no %s driver: %s", kind, reason.c_str());
}

template <typename T>
void find(void *library, const char *name, T &function) {
  function = reinterpret_cast<T>(dlsym(library, name));
  if (!function) fail(HIPGRAFT_IO_ERROR, "the driver has no function '%s'; it is too old", name);
}

// Returns the open device with an index, or makes it: devices of a process are shared, and with
// them the constants there.
template <typename Make>
std::shared_ptr<Device> shared_device(void *library, int index, Make make) {
  static std::mutex mutex;
  static std::map<std::pair<void *, int>, std::weak_ptr<Device>> devices;
  std::lock_guard<std::mutex> lock(mutex);
  auto &known = devices[{library, index}];
  std::shared_ptr<Device> device = known.lock();
  if (!device) known = device = make();
  return device;
}

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

// Opens a GPU of AMD; -1 is the thread's current one.
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

}  // namespace

std::shared_ptr<Device> open_gpu(const std::string &name, const char *library) {
  size_t colon = name.find(':');
  std::string kind = name.substr(0, colon);
  bool is_current = colon == std::string::npos && kind == "hip";
  std::string number = is_current ? "-1" : colon == std::string::npos ? "0" : name.substr(colon + 1);
  bool is_number = is_current || (!number.empty() && number.size() < 10 &&
                                  number.find_first_not_of("0123456789") == std::string::npos);
  if (is_number && kind == "hip") return open_hip(std::stoi(number), library);
  if (is_number && kind == "cuda") return open_cuda(std::stoi(number), library);
  fail(HIPGRAFT_INVALID_ARGUMENT, "expected a device as 'hip:0' or 'cuda:0', found '%s'",
       name.c_str());
}

}  // namespace hipgraft
