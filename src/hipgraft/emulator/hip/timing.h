// Estimated times of work, for `hipgraft-emulate --time=model`.
#pragma once

#include "modules.h"

// The parameters of a compute unit in one variation of the model. `hip_runtime.py` writes them.
struct Variation {
  ComputeUnit unit;
  double far_bytes, l2_bytes;  // per cycle: of the whole chip, of a unit
  double clock, far_bandwidth, memory_bandwidth;
};

// Whether events record estimated times.
bool is_modelled();

// Adds the time of a launch to that of the calling thread's work. The launch has not run yet; its
// arguments are in `segment`.
void add_kernel_time(const KernelCall& call, Launch launch, const std::vector<uint8_t>& segment);

// Adds the time to move this many bytes.
void add_memory_time(size_t bytes);
