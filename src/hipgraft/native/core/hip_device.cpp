// GPUs through HIP's runtime. The declarations are the library's own: no headers are needed.
#include "environment.h"
#include "gpu_device.h"

namespace hipgraft {

namespace {

constexpr size_t kPropertiesSize = 4096;  // larger than `hipDeviceProp_t` in any release

template <typename... Arguments>
using Call = DriverFunction<int, Arguments...>;

struct Hip {
  explicit Hip(void *library) {
    error_string.find(library, "hipGetErrorString");
    get_device.find(library, "hipGetDevice");
    set_device.find(library, "hipSetDevice");
    stream_device.find_optional(library, "hipStreamGetDevice");  // since ROCm 5.2
  }

  DriverFunction<const char *, int> error_string;
  Call<int *> get_device;
  Call<int> set_device;
  Call<void *, int *> stream_device;
};

class HipDevice final : public GpuDevice {
 public:
  HipDevice(const GpuApi &api, const Hip &hip, int index, std::string architecture)
      : GpuDevice(api, std::move(architecture), reinterpret_cast<void *>(3)),
        hip_(hip),
        index_(index) {}

  void check_stream(void *stream) override {
    if (!stream || !hip_.stream_device) return;  // the null stream is the current device's
    int device = index_;
    if (int status = hip_.stream_device(stream, &device)) refuse_stream(status, hip_.stream_device);
    if (device != index_)
      fail(HIPGRAFT_INVALID_ARGUMENT, "the stream is on HIP device %d; expected device %d", device,
           index_);
  }

 private:
  std::string words(int status) const override {
    const char *text = hip_.error_string(status);
    return text ? text : "error " + std::to_string(status);
  }
  void enter(int &before) override {
    if (hip_.get_device(&before)) before = index_;
    if (before != index_) call(hip_.set_device, index_);
  }
  void leave(int before) override {
    if (before != index_) hip_.set_device(before);
  }

  const Hip hip_;
  const int index_;
};

}  // namespace

std::shared_ptr<Device> open_hip(int index, const char *given) {
  std::string file = given && *given ? given : variable("HIPGRAFT_LIBAMDHIP64");
  void *library = open_library(
      file.c_str(), {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"}, "hip");
  GpuApi api(library, true);
  Hip hip(library);
  Call<int *> get_count;
  Call<void *, int> get_properties;
  get_count.find(library, "hipGetDeviceCount");
  get_properties.find_optional(library, "hipGetDevicePropertiesR0600");
  if (!get_properties) get_properties.find(library, "hipGetDeviceProperties");  // before ROCm 6
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
        return std::make_shared<HipDevice>(api, hip, index, architecture);
      });
  }
  fail(HIPGRAFT_DRIVER_ERROR, "HIP device %d does not tell its architecture", index);
}

}  // namespace hipgraft
