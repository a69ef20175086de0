// The calls of a variant on a device, made again and again.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "device.h"

namespace hipgraft {

// Calls on memory whose addresses each run gives: of the inputs, the results, then the program's
// own buffers. What the calls and kernels are taken from must live as long.
class Sequence {
 public:
  // replays: whether repeated runs on the same addresses become a graph, where the driver has them.
  Sequence(std::shared_ptr<Device> device, const Variant &variant,
           const std::vector<void *> &kernels, bool replays);
  ~Sequence();
  Sequence(const Sequence &) = delete;

  // Starts a run. The device must be current.
  void run(const std::vector<uint64_t> &addresses, void *stream);
  // Starts one of the calls.
  void make(const Command &command, const std::vector<uint64_t> &addresses, void *stream) const;

 private:
  // What runs on one set of addresses; the graph is made at the second run.
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
