// A program that runs on a device.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "device.h"

namespace hipgraft {

class Executable {
 public:
  Executable(std::shared_ptr<Device> device, const hipgraft_program &program, uint32_t flags);
  ~Executable();
  Executable(const Executable &) = delete;

  const hipgraft_program &program() const { return loaded_->program; }
  // See hipgraft_enqueue.
  void enqueue(size_t variant, void *stream, void *const *pointers, size_t count, void *workspace);

 private:
  // What runs on one set of addresses; the graph is made at the second run.
  struct Captured {
    size_t variant;
    std::vector<uint64_t> addresses;
    void *graph;
  };

  void make_calls(const Variant &variant, const std::vector<uint64_t> &addresses, void *stream);
  void fill(const Fill &fill, uint64_t target, void *stream);
  // Returns the graph of a repeated run, or null at the first run.
  void *graph(size_t variant, const std::vector<uint64_t> &addresses);
  void *capture(const Variant &variant, const std::vector<uint64_t> &addresses);

  std::shared_ptr<Device> device_;
  std::shared_ptr<Loaded> loaded_;
  const bool replays_;
  std::mutex mutex_;
  std::list<Captured> captured_;  // the latest first
};

}  // namespace hipgraft
