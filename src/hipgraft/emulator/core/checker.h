// Finds races, misaligned accesses and divergent barriers. The file twin.h finds uses of
// uninitialised values.
//
// A checked launch runs on one thread, its workgroups one after the other. Every byte that it
// accesses has a cell with its last writer and two readers. Two accesses, at least one of them a
// store, race unless the same wave makes both, a barrier of their workgroup is between them, or
// both are atomic. Stores that do not change the value are ignored.
#pragma once

#include "emulator.h"
#include "machine.h"

struct Site {
  u32 address;  // address of the instruction
  u32 epoch;    // number of barriers of the workgroup before it
  u32 group;    // number of the workgroup plus one; 0 for none
  u16 wave;
  u16 atomic;
};

struct Cell {
  Site writer, first_reader, last_reader;
};

// A store that races if it changes memory.
struct Pending {
  Finding finding;
  const u8* place;
  u8 before[16];
};

constexpr int kMostPending = 1024;

struct Checker {
  u32 checks;
  Finding* findings;
  int most, count;
  Cell* lds;
  Cell** regions;  // indexed by region; null if nothing was accessed
  Pending pending[kMostPending];
  int pending_count;
};

// The cells of a region; their memory is allocated as they are used.
Cell* new_cells(const Region& region);
void free_cells(Cell* cells, const Region& region);

// Observes a lane's access to memory that it may access. `cells` are the cells of the accessed
// bytes.
void observe(Wave& w, Cell* cells, int lane, const u8* place, u64 address, u32 size, Access access,
             bool in_lds);

// Returns the current instruction of a wave.
Site site_of(const Wave& w, Access access);

// Returns a finding of the wave's current instruction.
Finding make_finding(const Wave& w, FindingKind kind, int lane, u64 address, u32 size,
                     const Site* other);

// Adds a finding, once for each pair of instructions.
void add_finding(Checker& checker, const Finding& finding);

// Adds a finding for the last store to a byte of global memory whose value depends on the order of
// waves. Atomic stores are exempt: sums of floats depend on the order on GPUs, too.
void add_order_finding(const Machine& machine, u64 address);

// Checks the stores of the instruction that has just run.
void settle_pending(Checker& checker);
