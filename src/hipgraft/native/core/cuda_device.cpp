// GPUs through the CUDA driver. The declarations are the library's own: no headers are needed.
#include "gpu_device.h"

namespace hipgraft {

namespace {

constexpr int kComputeMajor = 75, kComputeMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
constexpr int kMostDynamicShared = 8;    // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr uint32_t kPlainShared = 48 * 1024;  // available without a request

template <typename... Arguments>
using Call = DriverFunction<int, Arguments...>;

struct Cuda {
  explicit Cuda(void *library) {
    error_string.find(library, "cuGetErrorString");
    push.find(library, "cuCtxPushCurrent_v2");
    pop.find(library, "cuCtxPopCurrent_v2");
    release.find(library, "cuDevicePrimaryCtxRelease_v2");
    get_attribute.find(library, "cuFuncGetAttribute");
    set_attribute.find(library, "cuFuncSetAttribute");
    stream_context.find_optional(library, "cuStreamGetCtx");  // since CUDA 9.2
  }

  Call<int, const char **> error_string;
  Call<void *> push;
  Call<void **> pop;
  Call<int> release;
  Call<int *, int, void *> get_attribute;
  Call<void *, int, int> set_attribute;
  Call<void *, void **> stream_context;
};

class CudaDevice final : public GpuDevice {
 public:
  CudaDevice(const GpuApi &api, const Cuda &cuda, int device, void *context,
             std::string architecture)
      : GpuDevice(api, std::move(architecture), nullptr),
        cuda_(cuda),
        device_(device),
        context_(context) {}
  ~CudaDevice() override { cuda_.release(device_); }

  void allow_shared(void *kernel, uint32_t nbytes) override {
    if (nbytes <= kPlainShared) return;
    int allowed = 0;
    call(cuda_.get_attribute, &allowed, kMostDynamicShared, kernel);
    if (static_cast<uint32_t>(allowed) < nbytes)
      call(cuda_.set_attribute, kernel, kMostDynamicShared, static_cast<int>(nbytes));
  }

  // A stream of another context of the same device cannot run this context's kernels either. The
  // driver does not recognize destroyed streams; it may crash.
  void check_stream(void *stream) override {
    if (!stream || !cuda_.stream_context) return;  // the null stream is the current context's
    void *context = nullptr;
    if (int status = cuda_.stream_context(stream, &context))
      refuse_stream(status, cuda_.stream_context);
    if (context != context_)
      fail(HIPGRAFT_INVALID_ARGUMENT,
           "the stream is not of the primary context of CUDA device %d", device_);
  }

 private:
  std::string words(int status) const override {
    const char *text = nullptr;
    bool is_known = !cuda_.error_string(status, &text) && text;
    return is_known ? text : "error " + std::to_string(status);
  }
  void enter(int &) override { call(cuda_.push, context_); }
  void leave(int) override {
    void *context;
    cuda_.pop(&context);
  }
  const Cuda cuda_;
  const int device_;
  void *const context_;
};

}  // namespace

std::shared_ptr<Device> open_cuda(int index, const char *given) {
  void *library = open_library(given, {"libcuda.so.1", "libcuda.so"}, "cuda");
  GpuApi api(library, false);
  Cuda cuda(library);
  Call<unsigned> initialize;
  Call<int *> get_count;
  Call<int *, int> get_device;
  Call<void **, int> retain;
  Call<int *, int, int> get_attribute;
  initialize.find(library, "cuInit");
  get_count.find(library, "cuDeviceGetCount");
  get_device.find(library, "cuDeviceGet");
  retain.find(library, "cuDevicePrimaryCtxRetain");
  get_attribute.find(library, "cuDeviceGetAttribute");
  int count = 0, device = 0, major = 0, minor = 0;
  if (initialize(0) || get_count(&count) || index >= count || get_device(&device, index))
    fail(HIPGRAFT_INVALID_ARGUMENT, "no CUDA device %d; there are %d", index, count);
  return shared_device(library, index, [&] {
    void *context = nullptr;
    if (get_attribute(&major, kComputeMajor, device) ||
        get_attribute(&minor, kComputeMinor, device) || retain(&context, device))
      fail(HIPGRAFT_DRIVER_ERROR, "CUDA device %d cannot be opened", index);
    std::string architecture = "sm_" + std::to_string(major) + std::to_string(minor);
    return std::make_shared<CudaDevice>(api, cuda, device, context, architecture);
  });
}

}  // namespace hipgraft
