// A program that runs on a device.
#pragma once

#include <deque>
#include <memory>

#include "device.h"
#include "sequence.h"

namespace hipgraft {

class Executable {
 public:
  Executable(std::shared_ptr<Device> device, const hipgraft_program &program, uint32_t flags);
  Executable(const Executable &) = delete;

  const hipgraft_program &program() const { return loaded_->program; }
  // Fails if the workspace that a run would get is missing or misaligned.
  void check_workspace(const void *workspace) const;
  // See hipgraft_enqueue.
  void enqueue(size_t variant, void *stream, void *const *pointers, size_t count, void *workspace);

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<Loaded> loaded_;
  std::deque<Sequence> sequences_;  // of each variant
};

}  // namespace hipgraft
