// Records traces.
#include "trace.h"

namespace {

int compare(const void* a, const void* b) {
  u64 x = *(const u64*)a, y = *(const u64*)b;
  return (x > y) - (x < y);
}

// Sorts numbers and drops equal ones; returns how many are left.
size_t sort_unique(u64* numbers, size_t number) {
  qsort(numbers, number, sizeof(u64), compare);
  size_t kept = 0;
  for (size_t i = 0; i < number; i++)
    if (!kept || numbers[kept - 1] != numbers[i]) numbers[kept++] = numbers[i];
  return kept;
}

constexpr int kBanks = 32, kBankBytes = 4, kMostPasses = 4;
constexpr u32 kPhaseBytes = kBanks * kBankBytes;

// The lanes that access the LDS in one phase. A bank delivers one of its words per cycle, to all
// lanes.
struct Phase {
  u32 words[kBanks][8];
  int numbers[kBanks];
  int worst;

  void add(u64 address, u32 size) {
    for (u32 i = 0; i < max(1u, (size + 3) / kBankBytes); i++) {
      u32 word = (u32)(address / kBankBytes) + i, bank = word % kBanks;
      bool found = false;
      for (int k = 0; k < min(numbers[bank], 8); k++) found |= words[bank][k] == word;
      if (found) continue;
      if (numbers[bank] < 8) words[bank][numbers[bank]] = word;
      worst = max(worst, ++numbers[bank]);
    }
  }
};

// Returns cycles of the LDS. The n-th accesses of all lanes form a pass, which processes
// consecutive lanes in phases of 128 bytes.
int lds_cycles(const Trace& trace) {
  int cycles = 0;
  for (int pass = 0; pass < kMostPasses; pass++) {
    int seen[kLanes] = {0}, current = -1, lanes = 0;
    Phase phase;
    phase.worst = 0;
    for (int i = 0; i < trace.access_count; i++) {
      const LaneAccess& access = trace.accesses[i];
      if (!access.in_lds || access.lane < 0 || seen[access.lane]++ != pass) continue;
      if (!lanes) lanes = max(1u, kPhaseBytes / max(4u, access.size));
      if (access.lane / lanes != current) {
        cycles += phase.worst;
        memset(&phase, 0, sizeof phase);
        current = access.lane / lanes;
      }
      phase.add(access.address, access.size);
    }
    cycles += phase.worst;
  }
  return cycles;
}

// Adds the lines of 128 bytes that the instruction touches to `lines`, and returns the L1's cycles.
int l1_cycles(Trace& trace, Array<u64>& lines) {
  u64 bytes = 0, stored = 0;
  size_t start = lines.number;
  for (int i = 0; i < trace.access_count; i++) {
    const LaneAccess& access = trace.accesses[i];
    if (access.in_lds) continue;
    bytes += access.size;
    if (access.stores) stored = kStored;
    u64 last = (access.address + access.size - 1) >> kLineShift;
    for (u64 line = access.address >> kLineShift; line <= last; line++) lines.add(line);
  }
  size_t number = sort_unique(lines.data + start, lines.number - start);
  for (size_t i = start; i < start + number; i++) lines.data[i] |= stored;
  lines.number = start + number;
  const ComputeUnit& unit = trace.unit;
  return (int)max(max(unit.l1_least_cycles, bytes / unit.l1_bytes), (double)number);
}

}  // namespace

void add_access(Trace& trace, int lane, u64 address, u32 size, bool stores, bool in_lds) {
  LaneAccess* last = trace.access_count ? &trace.accesses[trace.access_count - 1] : nullptr;
  if (last && !in_lds && !last->in_lds && last->lane == lane &&
      last->address + last->size == address) {
    last->size += size;
    return;
  }
  if (trace.access_count < kMostAccesses)
    trace.accesses[trace.access_count++] = {address, size, (i16)lane, stores, in_lds};
}

void record_step(Wave& w, int pc) {
  Trace& trace = *w.E->trace;
  const Cost& cost = trace.costs[pc];
  TraceStatistics& statistics = *trace.statistics;
  statistics.kinds[cost.kind]++;
  if (cost.kind == COST_MATRIX) statistics.matrix_cycles += cost.matrix;
  Step step = {(u32)pc, 0, 0, 0};
  bool in_lds = false, global = false;
  for (int i = 0; i < trace.access_count; i++)
    (trace.accesses[i].in_lds ? in_lds : global) = true;
  if (in_lds && !global) {
    step.cycles = (u16)min(65535, lds_cycles(trace));
    statistics.lds_cycles += step.cycles;
  } else if (global && cost.kind != COST_SCALAR_LOAD) {
    size_t first = trace.touched.number;
    step.cycles = (u16)min(65535, l1_cycles(trace, trace.touched));
    statistics.l1_cycles += step.cycles;
    step.lines = (u16)(trace.touched.number - first);
    if (trace.current) {
      Array<u64>& lines = trace.current->lines;
      step.first = (u32)lines.number;
      for (size_t i = first; i < trace.touched.number; i++) lines.add(trace.touched.data[i]);
    }
  }
  trace.access_count = 0;
  if (trace.current) trace.current->waves[w.number].add(step);
}

void end_group(Trace& trace, bool is_neighbour) {
  Array<u64>& touched = trace.touched;
  for (size_t i = 0; i < touched.number; i++) touched.data[i] &= ~kStored;
  touched.number = sort_unique(touched.data, touched.number);
  trace.statistics->group_lines += touched.number;
  if (is_neighbour) {
    trace.statistics->shared_lines += touched.number;
    Array<u64> lines = {};
    Array<u32> by = {};
    size_t i = 0, k = 0;
    while (i < trace.shared.number || k < touched.number) {
      bool old = i < trace.shared.number &&
                 (k == touched.number || trace.shared.data[i] <= touched.data[k]);
      u64 line = old ? trace.shared.data[i] : touched.data[k];
      u32 number = old ? trace.shared_by.data[i++] : 0;
      if (k < touched.number && touched.data[k] == line) {
        number++;
        k++;
      }
      lines.add(line);
      by.add(number);
    }
    free(trace.shared.data);
    free(trace.shared_by.data);
    trace.shared = lines;
    trace.shared_by = by;
    trace.statistics->unique_lines = lines.number;
  }
  touched.number = 0;
}

extern "C" void emulator_trace_free(void* handle) {
  Trace* trace = (Trace*)handle;
  for (int i = 0; i < trace->group_count; i++) {
    GroupTrace& group = trace->groups[i];
    for (int k = 0; k < group.wave_count; k++) free(group.waves[k].data);
    free(group.waves);
    free(group.lines.data);
  }
  free(trace->groups);
  free(trace->touched.data);
  free(trace->shared.data);
  free(trace->shared_by.data);
  free(trace);
}
