// Finds uses of uninitialised values.
//
// Each wave of a checked launch has a twin: it executes the same instructions on the same memory,
// but its registers, scratch and LDS start with other garbage, and it reads other bytes where
// nothing was stored in global memory. A value in which both differ depends on something
// uninitialised. This is a finding if the value is used as an address or in control flow, or is
// stored to global memory. If the control flow only turns lanes on or off, they must store
// something while they are on, or be off when others do. Copying or computing with such a value is
// allowed: compilers do so for lanes whose results are not read.
#pragma once

#include "checker.h"

enum Space { MEMORY_GLOBAL, MEMORY_OF_WORKGROUP, MEMORY_OF_LANE };

// An attempted access of a lane; lane -1 stands for scalar loads.
struct Attempt {
  Space space;
  Access access;
  int lane;
  u32 size;
  u64 address;
};

constexpr int kMostAttempts = 1024;  // of an instruction
constexpr int kMostBytes = 16;       // of an access

struct Accesses {
  Attempt attempts[kMostAttempts];
  u8 bytes[kMostAttempts][kMostBytes];  // in place of global memory, of twins
  int count;
};

struct Twin {
  Wave wave;
  Machine machine;  // its own, without checks
  Accesses own, of_wave;
  struct TwinLds* lds;
  u64 seed;
  // The contents of the twin's uninitialised registers.
  u32 vector_garbage[kVectorRegisters][kLanes];
  u32 scalar_garbage[kScalarRegisters];
  // For each register, the index plus one of the instruction that first read an uninitialised value
  // on which its value depends.
  u32 vector_origins[kVectorRegisters], scalar_origins[kScalarRegisters], scc_origin;
  // The index of the current instruction, and the origins of its operands and of branch conditions.
  int pc;
  u32 origin, state_origin;
  // The lanes that are on or off because of uninitialised values, and the finding for these.
  u64 on_lanes, off_lanes;
  Finding chosen;
};

// The LDS of the twins of a workgroup, and the origins of its dwords.
struct TwinLds {
  Workgroup group;
  u32* origins;
  u64 seed;
};

void open_lds(TwinLds& lds, u32 bytes, u64 seed);
void close_lds(TwinLds& lds);
// Called before a workgroup starts. Fills the LDS with garbage.
void start_lds(TwinLds& lds, const Workgroup& group);

// Makes the twin of a wave, which starts anew with each workgroup.
void add_twin(Wave& wave, TwinLds& lds, u32 scratch_bytes, u64 seed);
void free_twin(Twin* twin);
// Fills the twin's registers and scratch with garbage.
void start_twin(Wave& wave);

// Called before and after the twin executes an instruction, which it does before the wave.
void begin_step(Wave& wave);
void end_step(Wave& wave);

// Records an access before it is checked.
void note_access(Wave& wave, const Attempt& attempt);

// Returns the memory for a twin's access of global memory.
u8* twin_place(Wave& wave, const Region& region, u64 address, u32 size, Access access);
