// The C interface of the emulator's core. `native.py` declares the same structures for ctypes;
// `emulator_abi` returns a number by which it checks that both agree.
//
// A machine is a decoded kernel. A launch runs its workgroups on threads; each wave executes in
// order, all lanes of an instruction at once. No function throws; `emulator_launch` reports the
// first fault as text.
#pragma once

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

extern "C" {

// Where a source operand comes from.
enum OperandKind {
  OPERAND_NONE = 0,
  OPERAND_VECTOR = 1,    // vector register; accumulation registers start at 256
  OPERAND_SCALAR = 2,    // scalar register
  OPERAND_CONSTANT = 3,  // `low` and `high`
  OPERAND_SCC = 4,
  OPERAND_SHUFFLED = 5,  // the lanes that DPP moved
  OPERAND_VCCZ = 6,
  OPERAND_EXECZ = 7,
};

// Which part of a 32-bit register an operand reads or writes.
enum Part { PART_ALL = 0, PART_WORD0, PART_WORD1, PART_BYTE0, PART_BYTE1, PART_BYTE2, PART_BYTE3 };

struct Source {
  int32_t kind, index;
  int32_t count;  // of registers
  uint32_t low, high;
  int32_t negate, absolute, part, sign_extend;
};

struct Destination {
  int32_t kind, index;
  int32_t count;  // of registers
  int32_t part;
  int32_t unused;  // the rest of the register: 0 zeros, 1 sign, 2 kept
};

enum InstructionFlag { FLAG_DPP = 1, FLAG_DUAL_FIRST = 2, FLAG_DUAL_SECOND = 4 };
enum MemoryFlag { MEMORY_OFFEN = 1, MEMORY_IDXEN = 2, MEMORY_LDS = 4 };

// One decoded instruction.
struct Instruction {
  int32_t operation, flags;
  uint32_t address;  // in the code object's image
  int32_t target;    // index of the instruction that a branch goes to; -1 outside the kernel
  Destination d[2];
  Source s[5];
  int32_t output_modifier, clamp, op_sel, op_sel_hi, neg_lo, neg_hi;
  int32_t dpp_kind, dpp_control, row_mask, bank_mask, bound_control, fetch_inactive;
  int32_t offset0, offset1, memory_flags, scalar_base;  // scalar_base: -1 if there is none
  int32_t immediate, immediate2;
  int32_t is_vector;
  int32_t next;  // index of the second half of a dual instruction
};

// A range of memory that a kernel may access, addresses [low, high).
struct Region {
  uint64_t low, high;
  int32_t writable, id;
  uint8_t* defined;  // whether each byte was stored to; null if all were
};

enum Schedule { SCHEDULE_FORWARD = 0, SCHEDULE_REVERSE = 1, SCHEDULE_RANDOM = 2 };

struct Launch {
  uint64_t entry;
  uint32_t grid[3], block[3];
  uint32_t lds_bytes, scratch_bytes;  // bytes per workgroup, bytes per lane
  uint32_t rsrc1, rsrc2, properties;  // from the kernel descriptor
  uint64_t kernel_arguments, dispatch_packet;
  int32_t user_registers, preload_length, preload_offset;
  int32_t wave_size, schedule;
  uint64_t seed;
  int32_t threads;
  uint32_t poison;             // 1: registers, LDS and scratch start as garbage drawn from the seed
  uint64_t most_instructions;  // instructions that one wave may execute
  int32_t first;               // index of the first instruction
  int32_t ids_in_trap_registers;  // gfx12: workgroup ids are in ttmp7 and ttmp9
  uint64_t image;
  uint32_t every;   // runs each n-th workgroup
  uint32_t checks;  // bits of `Check`; findings go to `findings`, at most `most_findings`
  uint64_t findings;
  uint32_t most_findings;
};

struct Statistics {
  uint64_t instructions;                                                     // executed by waves
  uint64_t loads_out_of_bounds, stores_out_of_bounds, partly_out_of_bounds;  // of buffer accesses
  uint64_t barriers;
  uint64_t bytes_loaded, bytes_stored;  // bytes requested by lanes
  uint64_t findings;
};

// The defects that a checked launch detects, besides faults.
enum Check {
  CHECK_RACES = 1,
  CHECK_UNINITIALISED = 2,
  CHECK_ALIGNMENT = 4,
  CHECK_BARRIERS = 8,
  CHECK_ORDER = 16,  // runs the launch several times, from the same memory
};

enum FindingKind {
  FINDING_LDS_RACE = 0,
  FINDING_GLOBAL_RACE,
  FINDING_MISALIGNED,
  FINDING_DIVERGENT_BARRIER,   // a barrier while some lanes of the wave are off
  FINDING_DIFFERENT_BARRIERS,  // waves of a workgroup wait at different barriers
  FINDING_UNINITIALISED_STORE,    // to global memory
  FINDING_UNINITIALISED_ADDRESS,  // of memory
  FINDING_UNINITIALISED_CONTROL,  // a branch, or lanes that are turned on or off
  FINDING_ORDER,  // a stored value that differs if waves run in another order
};

// `instruction` is the address of the instruction. `other_instruction` is, for races, the address
// of the earlier one; for uninitialised values, that of the instruction that first read them, or 0.
struct Finding {
  int32_t kind, lane;
  uint32_t size, instruction, other_instruction, workgroup, other_workgroup, wave, other_wave;
  uint64_t address;  // address in global memory, or offset in LDS
};

// The kind of an instruction's work, for estimates of time.
enum CostKind {
  COST_VALU = 0,
  COST_TRANSCENDENTAL,
  COST_MATRIX,
  COST_SCALAR,
  COST_SCALAR_LOAD,
  COST_LDS_LOAD,
  COST_LDS_STORE,
  COST_LDS_SHUFFLE,
  COST_LOAD,
  COST_STORE,
  COST_ATOMIC,
  COST_WAIT,
  COST_BARRIER,
  COST_BRANCH,
  COST_IDLE,
  COST_END,
  COST_KINDS,
};

struct Registers {
  int32_t first, number;
};

// The cost of an instruction; times are in cycles.
struct Cost {
  int32_t kind, issue;
  int32_t matrix, matrix_latency;        // until the matrix unit is free, until its result is ready
  int32_t most_loads, most_lds, most_stores;  // COST_WAIT: accesses outstanding after it
  Registers sources[5], destination;
};

// A compute unit. Times are in cycles, rates in bytes or lines of 128 bytes per cycle.
struct ComputeUnit {
  double simds, cadence;  // cadence: cycles between two instructions of a wave
  double valu_latency, scalar_latency, branch_cycles, launch_cycles;
  double matrix_beside_vector;  // 1: vector instructions issue while the matrix unit works
  double lds_bytes, lds_latency;
  double l1_bytes, l1_least_cycles, l1_scale, l1_latency, l1_lines;
  double l2_line_cycles, l2_latency;
  double far_line_cycles, far_latency;  // this unit's share of the bandwidth beyond the L2
  double store_latency, scalar_load_latency;
  double separate_stores;  // 1: stores have a counter of their own
  double share_scale;      // how many times more workgroups share lines than among the traced ones
};

// The counts of a trace, over all its workgroups.
struct TraceStatistics {
  uint64_t instructions;
  uint64_t kinds[COST_KINDS];
  uint64_t matrix_cycles, lds_cycles, l1_cycles;
  uint64_t group_lines;   // lines that each workgroup touches, summed over workgroups
  uint64_t shared_lines;  // the same for the neighbours only
  uint64_t unique_lines, unique_lines_of_half;  // of all neighbours, of half of them
};

// The time to replay a trace.
struct Replayed {
  double cycles;
  double vector, matrix, scalar, lds, l1, l2, far;  // busy cycles of each part
};

// Returns a number that changes with the structures above.
EXPORT int emulator_abi();

// The operations: their number, and the mnemonic and operand types of each.
EXPORT int emulator_operation_count();
EXPORT const char* emulator_operation_name(int number);
EXPORT const char* emulator_destination_types(int number);
EXPORT const char* emulator_source_types(int number);

// Returns a machine for `count` instructions, to be freed with `emulator_free`. `architecture` is
// the decimal number after "gfx", 90 for gfx90a. The instructions are copied.
EXPORT void* emulator_new(const Instruction* instructions, int count, int architecture);
EXPORT void emulator_free(void* machine);

// Runs a launch and returns 0, or 1 after a fault, whose text goes to `error`. A machine runs one
// launch at a time.
EXPORT int emulator_launch(void* machine, const Launch* launch, const Region* regions,
                           int region_count, Statistics* statistics, char* error, int error_size);

// Runs `number` workgroups on one thread, without the arithmetic of matrix instructions, and returns
// a trace, to be freed with `emulator_trace_free`; null after a fault. The first `full` of them are
// recorded completely; the others are neighbours that share an L2. `costs` has an entry for each
// instruction of the machine.
EXPORT void* emulator_trace(void* machine, const Launch* launch, const Region* regions,
                            int region_count, const Cost* costs, const ComputeUnit* unit,
                            const uint64_t* workgroups, int number, int full,
                            TraceStatistics* statistics, char* error, int error_size);
EXPORT void emulator_trace_free(void* trace);

// Replays `workgroups` recorded workgroups on a compute unit, `slots` at a time.
EXPORT void emulator_replay(const void* trace, const ComputeUnit* unit, int workgroups, int slots,
                            Replayed* replayed);
}
