// Finds uses of uninitialised values.
//
// Each wave of a checked launch has a twin: it executes the same instructions on the same memory,
// but its registers and scratch start with other garbage, and it reads other bytes where nothing
// was stored in global memory. A value in which both differ depends on something uninitialised.
// That is a finding where it matters: as an address, in control flow, or stored to global memory.
// To copy such a value, or to compute with it, is none: compilers do so for lanes that nobody reads.
#pragma once

#include "checker.h"

enum Space { MEMORY_GLOBAL, MEMORY_OF_WORKGROUP, MEMORY_OF_LANE };

// An access that a lane tries; lane -1 is that of scalar loads.
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
  // What uninitialised registers of the twin hold.
  u32 vector_garbage[kVectorRegisters][kLanes];
  u32 scalar_garbage[kScalarRegisters];
  // The instruction that first read something uninitialised, plus one, of what registers hold.
  u32 vector_origins[kVectorRegisters], scalar_origins[kScalarRegisters], scc_origin;
  // Of the current instruction: its index, and the origins of what it reads and of what
  // branches depend on.
  int pc;
  u32 origin, state_origin;
};

// The LDS of the twins of a workgroup, and the origins of its dwords.
struct TwinLds {
  Workgroup group;
  u32* origins;
};

void open_lds(TwinLds& lds, u32 bytes);
void close_lds(TwinLds& lds);
// Before a workgroup starts. What is uninitialised in LDS is left to the checker.
void start_lds(TwinLds& lds, const Workgroup& group);

// Makes the twin of a wave, which starts anew with each workgroup.
void add_twin(Wave& wave, TwinLds& lds, u32 scratch_bytes, u64 seed);
void free_twin(Twin* twin);
// Fills the twin's registers and scratch with garbage.
void start_twin(Wave& wave);

// Around an instruction, which the twin executes in between, before the wave itself does.
void begin_step(Wave& wave);
void end_step(Wave& wave);

// Notes an access, before it is known to be allowed.
void note_access(Wave& wave, const Attempt& attempt);

// Where a twin's access of global memory goes.
u8* twin_place(Wave& wave, const Region& region, u64 address, u32 size, Access access);
