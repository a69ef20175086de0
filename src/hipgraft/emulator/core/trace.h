// Traces of workgroups: which instructions each wave executes, and the memory that they touch.
//
// A trace is recorded while a launch runs on one thread and replayed by `replay.cpp`.
#pragma once

#include "emulator.h"
#include "machine.h"

constexpr int kLineShift = 7;  // lines have 128 bytes
constexpr u64 kStored = 1ull << 63;  // marks lines that were written

template <class T>
struct Array {
  T* data;
  size_t number, room;

  void add(const T& value) {
    if (number == room) {
      room = room ? 2 * room : 256;
      data = (T*)realloc(data, room * sizeof(T));
    }
    data[number++] = value;
  }
};

// An executed instruction.
struct Step {
  u32 pc;      // index of the instruction
  u16 cycles;  // cycles of the LDS or the L1
  u16 lines;   // that it touches, from `first` in the workgroup's lines
  u32 first;
};

struct GroupTrace {
  Array<Step>* waves;
  int wave_count;
  Array<u64> lines;
};

// An access of a lane by the current instruction.
struct LaneAccess {
  u64 address;
  u32 size;
  i16 lane;
  bool stores, in_lds;
};

constexpr int kMostAccesses = 4096;

struct Trace {
  const Cost* costs;
  ComputeUnit unit;
  TraceStatistics* statistics;
  LaneAccess accesses[kMostAccesses];
  int access_count;
  GroupTrace* groups;  // recorded completely
  int group_count;
  GroupTrace* current;     // null while a workgroup is not recorded completely
  Array<u64> touched;      // lines of the current workgroup
  Array<u64> shared;       // distinct lines of the neighbours, in order
  Array<u32> shared_by;    // number of neighbours that touch each
};

void add_access(Trace& trace, int lane, u64 address, u32 size, bool stores, bool in_lds);

// Records the instruction that has just run.
void record_step(Wave& w, int pc);

// Counts the lines of the workgroup that has just run, and the shared lines if it is a neighbour.
void end_group(Trace& trace, bool is_neighbour);
