// Memory of a GPU for ONNX Runtime: a pool, allocators, transfers, streams.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device.h"
#include "ort.h"

namespace hipgraft::ort {

// A pool of device memory. Freed memory is reused only on the same stream, so it need not wait for
// work in flight.
class Pool {
 public:
  explicit Pool(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  ~Pool();
  Pool(const Pool &) = delete;

  const std::shared_ptr<Device> &device() const { return device_; }
  // Without a stream, memory is allocated and freed by the driver.
  void *take(size_t size, void *stream);
  void give(void *memory);
  // Removes a stream that is about to be destroyed.
  void forget(void *stream);

 private:
  struct Block {
    size_t size;
    void *stream;
  };

  void *allocate(size_t size);
  void free(const std::vector<void *> &memory);
  std::vector<void *> unused(void *stream, bool is_all);

  const std::shared_ptr<Device> device_;
  std::mutex mutex_;
  std::map<void *, Block> used_;
  std::map<std::pair<void *, size_t>, std::vector<void *>> unused_;  // by stream and size
};

}  // namespace hipgraft::ort
