// Memory of a GPU for ONNX Runtime: a pool, allocators, transfers, streams.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device.h"
#include "ort.h"

namespace hipgraft::ort {

// Memory of a device that streams use again and again. What is given back is used next on the same
// stream only, so that work in flight needs no wait.
class Pool {
 public:
  explicit Pool(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  ~Pool();
  Pool(const Pool &) = delete;

  const std::shared_ptr<Device> &device() const { return device_; }
  // Without a stream, memory comes from the driver, and goes back to it.
  void *take(size_t size, void *stream);
  void give(void *memory);
  // Forgets a stream that is about to end.
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
