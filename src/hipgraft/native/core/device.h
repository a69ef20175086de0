// Devices: memory, code, streams and graphs of a GPU's driver, or of the host.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "bundle.h"
#include "hipgraft.h"

namespace hipgraft {

class Loaded;

// A device. Functions with a stream argument start work and return; all other functions return when
// their work is complete.
class Device : public std::enable_shared_from_this<Device> {
 public:
  explicit Device(std::string architecture) : architecture_(std::move(architecture)) {}
  virtual ~Device() = default;
  Device(const Device &) = delete;

  const std::string &architecture() const { return architecture_; }

  // Makes the device current in this thread during the object's lifetime.
  class Current {
   public:
    explicit Current(Device &device) : device_(device) { device_.enter(before_); }
    ~Current() { device_.leave(before_); }
    Current(const Current &) = delete;

   private:
    Device &device_;
    int before_ = 0;
  };

  virtual void *allocate(size_t size) = 0;
  virtual void free(void *memory) = 0;
  virtual void upload(void *memory, const void *data, size_t size) = 0;
  virtual void download(void *data, const void *memory, size_t size) = 0;
  virtual void synchronize(void *stream) = 0;
  // Waits for all streams of the device.
  virtual void synchronize_all() = 0;

  // Host memory that the device can access directly (pinned); ordinary host memory if there is
  // none.
  virtual void *allocate_pinned(size_t size) { return allocate(size); }
  virtual void free_pinned(void *memory) { free(memory); }
  // Copies on a stream; the host's memory must remain valid until they are complete.
  virtual void start_upload(void *memory, const void *data, size_t size, void *) {
    upload(memory, data, size);
  }
  virtual void start_download(void *data, const void *memory, size_t size, void *) {
    download(data, memory, size);
  }
  virtual void *create_stream() { return nullptr; }
  virtual void destroy_stream(void *) {}
  // An event; `elapsed` requires timed ones.
  virtual void *create_event(bool is_timed) {
    (void)is_timed;
    return nullptr;
  }
  virtual void destroy_event(void *) {}
  virtual void record(void *, void *) {}
  // Records an event while the stream is captured, so that each launch of the graph records it.
  virtual void record_in_graph(void *, void *) {}
  // Microseconds between two events.
  virtual double elapsed(void *, void *) { return 0; }
  // Makes a stream wait for an event; a null stream stands for the calling thread.
  virtual void wait(void *, void *) {}

  virtual void *load(std::string_view code) = 0;
  virtual void unload(void *module) = 0;
  virtual void *kernel(void *module, const std::string &name) = 0;
  // Allows launches of a kernel to use this many bytes of dynamic shared memory.
  virtual void allow_shared(void *, uint32_t) {}

  virtual void launch(void *kernel, const Launch &launch, char *arguments, void *stream) = 0;
  virtual void copy(uint64_t target, uint64_t source, uint64_t nbytes, void *stream) = 0;
  // Fills memory with the lowest `width` bytes (1, 2 or 4) of `word`.
  virtual void fill(uint64_t target, uint32_t word, unsigned width, uint64_t nbytes,
                    void *stream) = 0;
  // Fills memory with a pattern whose size is a power of two of up to 16 bytes.
  void fill_pattern(uint64_t target, std::string_view pattern, uint64_t nbytes, void *stream);

  // Fails with HIPGRAFT_INVALID_ARGUMENT if a stream is not one of this device. The device must be
  // current. A driver that is too old to report a stream's device accepts every stream.
  virtual void check_stream(void *) {}

  virtual bool has_graphs() const { return false; }
  virtual void *begin_capture() { return nullptr; }  // the stream to record calls on
  virtual void *end_capture(void *) { return nullptr; }
  virtual void replay(void *, void *) {}
  virtual void free_graph(void *) {}

  // Code and constants of a program, loaded once and kept as long as an executable uses them.
  std::shared_ptr<Loaded> loaded(std::shared_ptr<hipgraft_bundle_data> bundle,
                                 const hipgraft_program &program);

 private:
  virtual void enter(int &) {}
  virtual void leave(int) {}

  std::string architecture_;
  std::mutex mutex_;
  std::map<const hipgraft_program *, std::weak_ptr<Loaded>> loaded_;
};

// Opens a GPU by its name in `hipgraft.h`; a GPU that is already open is shared.
std::shared_ptr<Device> open_gpu(const std::string &name, const char *library);
std::shared_ptr<Device> open_host(const char *architecture, const hipgraft_host_kernels *kernels);

// Code and constants of a program on a device.
class Loaded {
 public:
  Loaded(std::shared_ptr<Device> device, std::shared_ptr<hipgraft_bundle_data> bundle,
         const hipgraft_program &program);
  ~Loaded();
  Loaded(const Loaded &) = delete;

  const hipgraft_program &program;
  const std::shared_ptr<Device> device;
  const std::vector<void *> &kernels() const { return kernels_; }
  // Returns the address of a constant, and 0 for scratch memory.
  uint64_t constant(size_t buffer) const { return reinterpret_cast<uint64_t>(constants_[buffer]); }

 private:
  void load();
  void release();

  std::shared_ptr<hipgraft_bundle_data> bundle_;
  std::vector<void *> modules_, kernels_, constants_;
};

}  // namespace hipgraft
