// What GPUs of CUDA and of HIP have in common: their drivers' functions agree call by call.
#pragma once

#include <dlfcn.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"
#include "errors.h"

namespace hipgraft {

constexpr int kOutOfMemory = 2;
constexpr int kCaptureThreadLocal = 1;   // other threads may go on using the driver
constexpr int kPlainStream = 0;          // the default stream waits for it
constexpr int kNonBlockingStream = 1;    // a capture must not wait for the default stream
constexpr int kUntimedEvent = 2;
// CU_LAUNCH_PARAM_* and HIP_LAUNCH_PARAM_*: how packed arguments are passed.
inline void *const kBufferPointer = reinterpret_cast<void *>(1);
inline void *const kBufferSize = reinterpret_cast<void *>(2);

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
  int (*malloc_pinned)(void **, size_t, unsigned);
  int (*free_pinned)(void *);
  int (*create_event)(void **, unsigned);
  int (*destroy_event)(void *);
  int (*record)(void *, void *);
  int (*wait_event)(void *, void *, unsigned);
  int (*wait_host)(void *);
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

  void *allocate_pinned(size_t size) override {
    void *memory = nullptr;
    check(api_.malloc_pinned(&memory, size, 0), "an allocation of pinned memory");
    return memory;
  }
  void free_pinned(void *memory) override {
    check(api_.free_pinned(memory), "freeing pinned memory");
  }
  void start_upload(void *memory, const void *data, size_t size, void *stream) override {
    check(api_.to_device(memory, data, size, stream), "a copy to the device");
  }
  void start_download(void *data, const void *memory, size_t size, void *stream) override {
    check(api_.to_host(data, memory, size, stream), "a copy from the device");
  }
  void *create_stream() override {
    void *stream = nullptr;
    check(api_.create_stream(&stream, kPlainStream), "making a stream");
    return stream;
  }
  void destroy_stream(void *stream) override {
    check(api_.destroy_stream(stream), "ending a stream");
  }
  void *create_event() override {
    void *event = nullptr;
    check(api_.create_event(&event, kUntimedEvent), "making an event");
    return event;
  }
  void destroy_event(void *event) override { check(api_.destroy_event(event), "ending an event"); }
  void record(void *event, void *stream) override {
    check(api_.record(event, stream), "recording an event");
  }
  void wait(void *event, void *stream) override {
    check(stream ? api_.wait_event(stream, event, 0) : api_.wait_host(event), "waiting for an event");
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

// Loads a driver: the given file, or one of its usual names.
void *open_library(const char *given, const std::vector<const char *> &names, const char *kind);

// Returns the open device with an index, or makes it: devices of a process are shared, and with
// them the constants there.
std::shared_ptr<Device> shared_device(void *library, int index,
                                      const std::function<std::shared_ptr<Device>()> &make);

template <typename T>
void find(void *library, const char *name, T &function) {
  function = reinterpret_cast<T>(dlsym(library, name));
  if (!function) fail(HIPGRAFT_IO_ERROR, "the driver has no function '%s'; it is too old", name);
}

// A function that only some callers need: without it they get a driver's error.
template <typename Result, typename... Arguments>
void find_optional(void *library, const char *name, Result (*&function)(Arguments...)) {
  constexpr Result kNotSupported = 801;
  function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(library, name));
  if (!function) function = [](Arguments...) { return kNotSupported; };
}

// Opens a GPU of AMD; -1 is the thread's current one.
std::shared_ptr<Device> open_hip(int index, const char *library);
std::shared_ptr<Device> open_cuda(int index, const char *library);

}  // namespace hipgraft
