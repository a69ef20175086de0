// Estimated times of work, where `hipgraft-emulate --time=model` asks for them.
#pragma once

#include "modules.h"

// A compute unit as one variation of the model has it. Written by `hip_runtime.py`.
struct Variation {
  ComputeUnit unit;
  double far_bytes, l2_bytes;  // per cycle: of the whole chip, of a unit
  double clock, far_bandwidth, memory_bandwidth;
};

// Whether events hold estimated times.
bool is_modelled();

// Adds the time of a launch to that of the calling thread's work. The launch has not run yet; its
// arguments are in `segment`.
void add_kernel_time(const KernelCall& call, Launch launch, const std::vector<uint8_t>& segment);

// Adds the time of moving so many bytes.
void add_memory_time(size_t bytes);
