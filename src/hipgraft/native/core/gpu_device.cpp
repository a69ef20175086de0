#include "gpu_device.h"

#include <map>
#include <mutex>

namespace hipgraft {

namespace {

constexpr int kOutOfMemory = 2;
constexpr int kCaptureThreadLocal = 1;  // other threads may go on using the driver
constexpr int kPlainStream = 0;         // the default stream waits for it
constexpr int kNonBlockingStream = 1;   // a capture must not wait for the default stream
constexpr int kPlainEvent = 0, kUntimedEvent = 2;
constexpr int kRecordInGraph = 1;  // CU_EVENT_RECORD_EXTERNAL
// CU_LAUNCH_PARAM_* and HIP_LAUNCH_PARAM_*: how packed arguments are passed.
void *const kBufferPointer = reinterpret_cast<void *>(1);
void *const kBufferSize = reinterpret_cast<void *>(2);

}  // namespace

void GpuDevice::check(int status, const char *symbol, const std::string &what) const {
  if (status)
    fail(HIPGRAFT_DRIVER_ERROR, "'%s' failed%s: %s", symbol, what.c_str(), words(status).c_str());
}

void *GpuDevice::allocate(size_t size) {
  void *memory = nullptr;
  int status = api_.malloc(&memory, size);
  if (status == kOutOfMemory)
    fail(HIPGRAFT_OUT_OF_MEMORY, "the device has no %zu bytes of memory left", size);
  check(status, api_.malloc.symbol());
  return memory;
}

void GpuDevice::upload(void *memory, const void *data, size_t size) {
  start_upload(memory, data, size, nullptr);
  synchronize(nullptr);
}

void GpuDevice::download(void *data, const void *memory, size_t size) {
  start_download(data, memory, size, nullptr);
  synchronize(nullptr);
}

void *GpuDevice::allocate_pinned(size_t size) {
  void *memory = nullptr;
  call(api_.malloc_pinned, &memory, size, 0);
  return memory;
}

void GpuDevice::start_upload(void *memory, const void *data, size_t size, void *stream) {
  call(api_.to_device, memory, data, size, stream);
}

void GpuDevice::start_download(void *data, const void *memory, size_t size, void *stream) {
  call(api_.to_host, data, memory, size, stream);
}

void *GpuDevice::create_stream() {
  void *stream = nullptr;
  call(api_.create_stream, &stream, kPlainStream);
  return stream;
}

void *GpuDevice::create_event(bool is_timed) {
  void *event = nullptr;
  call(api_.create_event, &event, is_timed ? kPlainEvent : kUntimedEvent);
  return event;
}

void GpuDevice::record_in_graph(void *event, void *stream) {
  call(api_.record_in_graph, event, stream, kRecordInGraph);
}

double GpuDevice::elapsed(void *start, void *end) {
  float milliseconds = 0;
  call(api_.elapsed, &milliseconds, start, end);
  return 1e3 * milliseconds;
}

void GpuDevice::wait(void *event, void *stream) {
  if (stream)
    call(api_.wait_event, stream, event, 0);
  else
    call(api_.wait_host, event);
}

void *GpuDevice::load(std::string_view code) {
  void *module = nullptr;
  std::string text(code);  // PTX must end in a zero
  call(api_.load, &module, text.c_str());
  return module;
}

void *GpuDevice::kernel(void *module, const std::string &name) {
  void *kernel = nullptr;
  int status = api_.get_kernel(&kernel, module, name.c_str());
  if (status) check(status, api_.get_kernel.symbol(), " for kernel '" + name + "'");
  return kernel;
}

void GpuDevice::launch(void *kernel, const Launch &launch, char *arguments, void *stream) {
  size_t size = launch.arguments.size();
  void *extra[] = {kBufferPointer, arguments, kBufferSize, &size, list_end_};
  auto [gx, gy, gz] = launch.grid;
  auto [bx, by, bz] = launch.block;
  if (!gx || !gy || !gz) return;  // drivers refuse empty grids
  call(api_.launch, kernel, gx, gy, gz, bx, by, bz, launch.shared_bytes, stream, nullptr, extra);
}

void GpuDevice::fill(uint64_t target, uint32_t word, unsigned width, uint64_t nbytes,
                     void *stream) {
  size_t count = nbytes / width;
  if (width == 1)
    call(api_.fill_8, target, static_cast<uint8_t>(word), count, stream);
  else if (width == 2)
    call(api_.fill_16, target, static_cast<uint16_t>(word), count, stream);
  else
    call(api_.fill_32, target, word, count, stream);
}

void *GpuDevice::begin_capture() {
  void *stream = nullptr;
  call(api_.create_stream, &stream, kNonBlockingStream);
  if (int status = api_.begin_capture(stream, kCaptureThreadLocal)) {
    api_.destroy_stream(stream);
    check(status, api_.begin_capture.symbol());
  }
  return stream;
}

void *GpuDevice::end_capture(void *stream) {
  void *graph = nullptr, *executable = nullptr;
  const char *symbol = api_.end_capture.symbol();
  int status = api_.end_capture(stream, &graph);
  if (!status) {
    symbol = api_.instantiate.symbol();
    status = api_.instantiate(&executable, graph, 0);
    api_.free_graph(graph);
  }
  api_.destroy_stream(stream);
  check(status, symbol);
  return executable;
}

std::shared_ptr<Device> shared_device(void *library, int index,
                                      const std::function<std::shared_ptr<Device>()> &make) {
  static std::mutex mutex;
  static std::map<std::pair<void *, int>, std::weak_ptr<Device>> devices;
  std::lock_guard<std::mutex> lock(mutex);
  auto &known = devices[{library, index}];
  std::shared_ptr<Device> device = known.lock();
  if (!device) known = device = make();
  return device;
}

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
