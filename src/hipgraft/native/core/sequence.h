// The calls of a variant on a device, for repeated runs.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "device.h"

namespace hipgraft {

// Makes calls on memory whose addresses each run passes: of the inputs, the results, then the
// program's own buffers. The owners of the calls and kernels must outlive it.
class Sequence {
 public:
  // replays: whether repeated runs on the same addresses become a graph, if the driver supports
  // graphs.
  Sequence(std::shared_ptr<Device> device, const Variant &variant,
           const std::vector<void *> &kernels, bool replays);
  ~Sequence();
  Sequence(const Sequence &) = delete;

  // Starts a run. The device must be current.
  void run(const std::vector<uint64_t> &addresses, void *stream);
  // Starts a single call.
  void make(const Command &command, const std::vector<uint64_t> &addresses, void *stream) const;

 private:
  // The state for one set of addresses; the second run captures the graph.
  struct Captured {
    std::vector<uint64_t> addresses;
    void *graph;
  };

  // Returns the graph of a repeated run, or null at the first run.
  void *graph(const std::vector<uint64_t> &addresses);
  void *capture(const std::vector<uint64_t> &addresses) const;

  const std::shared_ptr<Device> device_;
  const Variant &variant_;
  const std::vector<void *> &kernels_;
  const bool replays_;
  std::mutex mutex_;
  std::list<Captured> captured_;  // the latest first
};

}  // namespace hipgraft
