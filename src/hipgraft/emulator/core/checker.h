// Finds races, reads of uninitialised LDS, misaligned accesses and divergent barriers. Uses of other
// uninitialised values are found by twin.h.
//
// A checked launch runs on one thread, its workgroups one after the other. Every byte that it
// accesses has a cell with its last writer and two readers. Two accesses of which one writes race
// unless the same wave makes both, a barrier of their workgroup is between them, or both are
// atomic. Stores that change nothing do not count.
#pragma once

#include "emulator.h"
#include "machine.h"

struct Site {
  u32 address;  // of the instruction
  u32 epoch;    // barriers of the workgroup before
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
  Cell** regions;  // by number of the region; null where nothing was accessed
  Pending pending[kMostPending];
  int pending_count;
};

// The cells of a region, of which memory is taken where they are used.
Cell* new_cells(const Region& region);
void free_cells(Cell* cells, const Region& region);

// Observes an access of a lane to memory that it may access. `cells` are those of its bytes.
void observe(Wave& w, Cell* cells, int lane, const u8* place, u64 address, u32 size, Access access,
             bool in_lds);

// The current instruction of a wave.
Site site_of(const Wave& w, Access access);

// Adds a finding of the wave's current instruction, once for each pair of instructions.
void add_finding(Wave& w, FindingKind kind, int lane, u64 address, u32 size, const Site* other);

// Adds a finding of the last store to a byte of global memory, which depends on the order of waves,
// unless an atomic made it: sums of floats depend on the order on GPUs, too.
void add_order_finding(const Machine& machine, u64 address);

// Decides about the stores of the instruction that has just run.
void settle_pending(Checker& checker);
