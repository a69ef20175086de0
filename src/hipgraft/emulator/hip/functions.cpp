// Attributes of kernels, and how many workgroups fit on a compute unit.
#include <string.h>

#include <algorithm>

#include "modules.h"

namespace {

constexpr int kLdsGranule = 512, kMostBlocks = 32, kMostItems = 1024;

template <class Body>
hipError_t with_function(const void* handle, Body body) {
  Function* function = nullptr;
  if (hipError_t error = find_function(handle, &function)) return error;
  State& all = state();
  Lock lock(all.mutex);
  return is_function(all, function) ? body(*function) : hipErrorInvalidHandle;
}

int most_items(const Function& function) {
  int most = function.kernel->most_items;
  return most ? std::min(most, kMostItems) : kMostItems;
}

int lds_of_block() { return state().settings.number("lds_of_block"); }

// Workgroups of `items` that a compute unit holds: limited by waves, registers and LDS.
int active_blocks(const Function& function, int items, size_t dynamic_lds) {
  const Settings& settings = state().settings;
  const DecodedKernel& kernel = *function.kernel;
  if (items < 1 || items > most_items(function)) return 0;
  int waves = (items + kernel.launch.wave_size - 1) / kernel.launch.wave_size;
  int granule = settings.number("granule", 8), registers = settings.number("registers", 512);
  int taken = (std::max(1u, kernel.vector_registers) + granule - 1) / granule * granule;
  int of_simd = std::min<int>(settings.number("waves", 8), registers / taken);
  int blocks = of_simd * (int)settings.number("simds", 4) / waves;
  size_t lds = kernel.launch.lds_bytes + dynamic_lds;
  if (lds > (size_t)lds_of_block()) return 0;
  size_t rounded = (lds + kLdsGranule - 1) / kLdsGranule * kLdsGranule;
  if (lds) blocks = std::min<int>(blocks, settings.number("lds_of_unit") / rounded);
  return std::min(blocks, kMostBlocks);
}

hipError_t count_active(int* blocks, const void* handle, int items, size_t lds) {
  if (!blocks) return hipErrorInvalidValue;
  return with_function(handle, [&](Function& function) {
    *blocks = active_blocks(function, items, lds);
    return items > 0 ? hipSuccess : hipErrorInvalidValue;
  });
}

// Returns the workgroup size that fills the most lanes of a compute unit; if several do, the
// largest.
hipError_t find_block(int* grid, int* block, const void* handle, size_t lds, int limit) {
  if (!grid || !block || limit < 0) return hipErrorInvalidValue;
  return with_function(handle, [&](Function& function) {
    const int wave = function.kernel->launch.wave_size;
    int most = most_items(function), filled = 0;
    if (limit) most = std::min(most, limit);
    for (int items = wave; items <= std::max(most, wave); items += wave) {
      int blocks = active_blocks(function, std::min(items, most), lds);
      if (blocks * items < filled || !blocks) continue;
      filled = blocks * items;
      *block = std::min(items, most);
      *grid = blocks * (int)state().settings.number("units");
    }
    return filled ? hipSuccess : hipErrorInvalidValue;
  });
}

// Indexed by the numbers of `hipFunction_attribute`.
hipError_t get_attribute(const Function& function, int attribute, int* value) {
  const DecodedKernel& kernel = *function.kernel;
  const int values[] = {most_items(function),
                        (int)kernel.launch.lds_bytes,
                        0,
                        (int)kernel.launch.scratch_bytes,
                        (int)kernel.vector_registers,
                        (int)function.module->header().architecture,
                        (int)function.module->header().architecture,
                        0,
                        function.attributes[0] ? function.attributes[0]
                                               : lds_of_block() - (int)kernel.launch.lds_bytes,
                        function.attributes[1]};
  if (attribute < 0 || attribute >= (int)(sizeof values / sizeof *values))
    return hipErrorInvalidValue;
  *value = values[attribute];
  return hipSuccess;
}

}  // namespace

HIP_API hipFuncGetAttribute(int* value, int attribute, const void* handle) {
  if (!value) return finish(hipErrorInvalidValue);
  return finish(with_function(
      handle, [&](Function& function) { return get_attribute(function, attribute, value); }));
}

HIP_API hipFuncSetAttribute(const void* handle, int attribute, int value) {
  return finish(with_function(handle, [&](Function& function) {
    // 8: the most dynamic LDS; 9: the carve-out, which AMD's GPUs ignore.
    if (attribute != 8 && attribute != 9) return hipErrorInvalidValue;
    int left = lds_of_block() - (int)function.kernel->launch.lds_bytes;
    if (attribute == 8 && (value < 0 || value > left)) return hipErrorInvalidValue;
    function.attributes[attribute - 8] = value;
    return hipSuccess;
  }));
}

HIP_API hipFuncSetCacheConfig(const void* handle, int) {
  return finish(with_function(handle, [](Function&) { return hipSuccess; }));
}
HIP_API hipFuncSetSharedMemConfig(const void* handle, int) {
  return finish(with_function(handle, [](Function&) { return hipSuccess; }));
}

HIP_API hipFuncGetAttributes(hipFuncAttributes* attributes, const void* handle) {
  if (!attributes) return finish(hipErrorInvalidValue);
  return finish(with_function(handle, [&](Function& function) {
    int values[10];
    for (int i = 0; i < 10; i++) get_attribute(function, i, &values[i]);
    *attributes = {values[6], values[7], (size_t)values[2], (size_t)values[3], values[8],
                   values[0], values[4], values[9],         values[5],         (size_t)values[1]};
    return hipSuccess;
  }));
}

HIP_API hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function,
                                                           int items, size_t lds) {
  return finish(count_active(blocks, function, items, lds));
}
HIP_API hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                    hipFunction_t function,
                                                                    int items, size_t lds,
                                                                    unsigned) {
  return finish(count_active(blocks, function, items, lds));
}
HIP_API hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int items,
                                                     size_t lds) {
  return finish(count_active(blocks, function, items, lds));
}
HIP_API hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                              int items, size_t lds, unsigned) {
  return finish(count_active(blocks, function, items, lds));
}
HIP_API hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t function,
                                                size_t lds, int limit) {
  return finish(find_block(grid, block, function, lds, limit));
}
HIP_API hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                         hipFunction_t function, size_t lds,
                                                         int limit, unsigned) {
  return finish(find_block(grid, block, function, lds, limit));
}
HIP_API hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* function, size_t lds,
                                          int limit) {
  return finish(find_block(grid, block, function, lds, limit));
}
