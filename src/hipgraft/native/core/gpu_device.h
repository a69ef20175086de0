// The common part of CUDA and HIP devices.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device.h"
#include "gpu_api.h"

namespace hipgraft {

class GpuDevice : public Device {
 public:
  // list_end: the driver's value that terminates the list that passes packed arguments.
  GpuDevice(const GpuApi &api, std::string architecture, void *list_end)
      : Device(std::move(architecture)), api_(api), list_end_(list_end) {}

  void *allocate(size_t size) override;
  void free(void *memory) override { call(api_.free, memory); }
  void upload(void *memory, const void *data, size_t size) override;
  void download(void *data, const void *memory, size_t size) override;
  void synchronize(void *stream) override { call(api_.wait, stream); }
  void synchronize_all() override { call(api_.wait_all); }
  void *allocate_pinned(size_t size) override;
  void free_pinned(void *memory) override { call(api_.free_pinned, memory); }
  void start_upload(void *memory, const void *data, size_t size, void *stream) override;
  void start_download(void *data, const void *memory, size_t size, void *stream) override;

  void *create_stream() override;
  void destroy_stream(void *stream) override { call(api_.destroy_stream, stream); }
  void *create_event(bool is_timed) override;
  void destroy_event(void *event) override { call(api_.destroy_event, event); }
  void record(void *event, void *stream) override { call(api_.record, event, stream); }
  void record_in_graph(void *event, void *stream) override;
  double elapsed(void *start, void *end) override;
  void wait(void *event, void *stream) override;

  void *load(std::string_view code) override;
  void unload(void *module) override { call(api_.unload, module); }
  void *kernel(void *module, const std::string &name) override;
  void launch(void *kernel, const Launch &launch, char *arguments, void *stream) override;
  void copy(uint64_t target, uint64_t source, uint64_t nbytes, void *stream) override {
    call(api_.on_device, target, source, nbytes, stream);
  }
  void fill(uint64_t target, uint32_t word, unsigned width, uint64_t nbytes, void *stream) override;

  bool has_graphs() const override { return true; }
  void *begin_capture() override;
  void *end_capture(void *stream) override;
  void replay(void *graph, void *stream) override { call(api_.launch_graph, graph, stream); }
  void free_graph(void *graph) override { api_.free_executable_graph(graph); }

 protected:
  template <typename... Arguments, typename... Given>
  void call(const DriverFunction<int, Arguments...> &function, Given... given) const {
    check(function(given...), function.symbol());
  }
  void check(int status, const char *symbol, const std::string &what = "") const;
  // Fails because the driver does not know a stream, which is invalid or destroyed.
  template <typename... Arguments>
  [[noreturn]] void refuse_stream(int status,
                                  const DriverFunction<int, Arguments...> &function) const {
    fail(HIPGRAFT_INVALID_ARGUMENT, "the stream is invalid: '%s' failed: %s", function.symbol(),
         words(status).c_str());
  }
  virtual std::string words(int status) const = 0;

 private:
  const GpuApi api_;
  void *const list_end_;
};

// Returns the device with an index and opens it at the first call: a process shares its devices and
// their constants.
std::shared_ptr<Device> shared_device(void *library, int index,
                                      const std::function<std::shared_ptr<Device>()> &make);

// Opens an AMD GPU; -1 is the thread's current one.
std::shared_ptr<Device> open_hip(int index, const char *library);
std::shared_ptr<Device> open_cuda(int index, const char *library);

}  // namespace hipgraft
