// A decoded code object as a file, which `hip_module.py` writes. Offsets are from its start.
#pragma once

#include "../core/emulator.h"

constexpr char kDecodedMagic[8] = {'H', 'G', 'D', 'E', 'C', 'O', 'D', '2'};

struct DecodedHeader {
  char magic[8];
  uint64_t source, source_size;  // the code object before decoding
  uint64_t image, image_size;
  uint64_t kernels, symbols, segments;
  uint32_t kernel_count, symbol_count, segment_count, architecture;
};

// Hidden arguments that are not 0, by number; the others are 0.
enum HiddenArgument {
  ARGUMENT_EXPLICIT = 0,
  HIDDEN_ZERO,
  HIDDEN_BLOCK_COUNT_X,
  HIDDEN_BLOCK_COUNT_Y,
  HIDDEN_BLOCK_COUNT_Z,
  HIDDEN_GROUP_SIZE_X,
  HIDDEN_GROUP_SIZE_Y,
  HIDDEN_GROUP_SIZE_Z,
  HIDDEN_GRID_DIMS,
  HIDDEN_DYNAMIC_LDS_SIZE,
};

struct DecodedArgument {
  uint32_t offset, size, hidden, is_pointer;
};

// Texts are null-terminated. If `error` is not empty, it is the reason why the kernel cannot run.
struct DecodedKernel {
  // `costs` are for estimates of time: one for each instruction, or none where the offset is 0.
  uint64_t name, error, instructions, arguments, costs;
  uint32_t instruction_count, argument_count;
  uint32_t kernarg_size, most_items;
  uint32_t vector_registers, scalar_registers;
  uint32_t block[3], unused;  // required workgroup size, or zeros
  Launch launch;
};

struct DecodedSymbol {
  uint64_t name, address, size;
};

struct DecodedSegment {
  uint64_t low, high, writable;
};
