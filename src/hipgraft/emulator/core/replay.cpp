// A model of one compute unit that replays traces: in-order waves on SIMDs, matrix units in
// parallel with the vector units, the LDS, the L1, and this unit's share of the L2 and of the
// levels beyond it.
#include "trace.h"

namespace {

// The completion times of outstanding accesses, oldest first.
struct Queue {
  static constexpr int kRoom = 256;
  double done[kRoom];
  int first, number;

  void add(double time) {
    if (number == kRoom) pop();
    done[(first + number++) % kRoom] = time;
  }
  double pop() {
    double time = done[first];
    first = (first + 1) % kRoom;
    number--;
    return time;
  }
  // Leaves at most `most` outstanding; returns when the others are complete, at `time` or later.
  double wait(int most, double time) {
    while (number > most) time = max(time, pop());
    return time;
  }
};

struct Slot;

struct RunningWave {
  const GroupTrace* group;
  const Array<Step>* steps;
  size_t next;
  Slot* slot;
  int simd;
  bool at_barrier;
  Queue loads, lds, stores;
  double ready[kVectorRegisters];   // when registers may be read
  bool by_matrix[kVectorRegisters];  // whether the matrix unit writes them
};

struct Slot {
  RunningWave* waves;
  int live, waiting;
  double last;  // when the last wave reached the barrier
};

struct Event {
  double time;
  u64 order;
  RunningWave* wave;

  bool before(const Event& other) const {
    return time < other.time || (time == other.time && order < other.order);
  }
};

// A heap of events.
struct Events {
  Array<Event> heap;
  u64 order;

  void add(double time, RunningWave* wave) {
    heap.add({time, order++, wave});
    size_t i = heap.number - 1;
    for (; i && heap.data[i].before(heap.data[(i - 1) / 2]); i = (i - 1) / 2)
      swap(heap.data[i], heap.data[(i - 1) / 2]);
  }
  Event pop() {
    Event top = heap.data[0];
    heap.data[0] = heap.data[--heap.number];
    size_t i = 0;
    while (true) {
      size_t least = i;
      for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++)
        if (child < heap.number && heap.data[child].before(heap.data[least])) least = child;
      if (least == i) return top;
      swap(heap.data[i], heap.data[least]);
      i = least;
    }
  }
};

// The L1: lines are evicted in the order in which they were loaded.
struct Lines {
  static constexpr u32 kBuckets = 8192;
  u64 line[kBuckets];  // plus one; 0 for none
  double ready[kBuckets];
  Array<u64> order;
  size_t oldest;

  u32 find(u64 wanted) const {
    u32 i = (u32)((wanted * 0x9E3779B97F4A7C15ull) >> 51);
    while (line[i] && line[i] != wanted + 1) i = (i + 1) % kBuckets;
    return i;
  }
  void remove(u64 wanted) {
    u32 hole = find(wanted);
    if (!line[hole]) return;
    for (u32 i = (hole + 1) % kBuckets; line[i]; i = (i + 1) % kBuckets) {
      u32 home = (u32)(((line[i] - 1) * 0x9E3779B97F4A7C15ull) >> 51);
      if (((i - home) & (kBuckets - 1)) < ((i - hole) & (kBuckets - 1))) continue;
      line[hole] = line[i];
      ready[hole] = ready[i];
      hole = i;
    }
    line[hole] = 0;
  }
  void add(u64 wanted, double time, size_t most) {
    u32 i = find(wanted);
    line[i] = wanted + 1;
    ready[i] = time;
    order.add(wanted);
    while (order.number - oldest > most) remove(order.data[oldest++]);
  }
};

struct Simd {
  double vector, matrix, scalar, lds, l1;  // when each SIMD can issue again
};

constexpr int kMostSimds = 8;
// Cycles of queued requests at which the L1 stalls the waves.
constexpr double kL1Queue = 64;
// Beyond the L2, writes cost half as much as reads.
constexpr double kFarStores = 0.5;
constexpr double kScratchCycles = 4, kScratchLines = 2;
constexpr double kShuffleBytes = 256;
constexpr double kSlotDelay = 4;
constexpr double kPrecision = 1e-9;

struct Replay {
  const Trace& trace;
  const ComputeUnit& unit;
  int workgroups;
  Replayed& busy;
  Simd simds[kMostSimds];
  double lds, l1, l2, far;  // when each unit is free
  Events events;
  Lines* lines;
  int started, next_simd;
  double end;

  void start(Slot& slot, double time) {
    const GroupTrace& group = trace.groups[started++ % trace.group_count];
    slot.live = group.wave_count;
    slot.waiting = 0;
    slot.last = 0;
    slot.waves = (RunningWave*)calloc(group.wave_count, sizeof(RunningWave));
    for (int i = 0; i < group.wave_count; i++) {
      RunningWave& w = slot.waves[i];
      w.group = &group;
      w.steps = &group.waves[i];
      w.slot = &slot;
      w.simd = next_simd++ % (int)unit.simds;
      events.add(time + unit.launch_cycles + i * unit.cadence, &w);
    }
  }

  // Releases the waves at the barrier.
  void release(Slot& slot, int waves, double time) {
    for (int i = 0; i < waves; i++) {
      RunningWave& w = slot.waves[i];
      if (!w.at_barrier) continue;
      w.at_barrier = false;
      events.add(time, &w);
    }
    slot.waiting = 0;
    slot.last = 0;
  }

  void finish(RunningWave& w, double time) {
    end = max(end, time);
    Slot& slot = *w.slot;
    int waves = w.group->wave_count;
    if (--slot.live == 0) {
      free(slot.waves);
      slot.waves = nullptr;
      if (started < workgroups) start(slot, time);
    } else if (slot.waiting && slot.waiting == slot.live) {
      release(slot, waves, max(time, slot.last));
    }
  }

  // Returns when the operands of an instruction are available.
  double operands(const RunningWave& w, const Cost& cost, double time) const {
    for (int k = 0; k < 5; k++) {
      const Registers& registers = cost.sources[k];
      for (int i = registers.first; i < registers.first + registers.number; i++) {
        // The matrix unit forwards an accumulator to its next instruction.
        if (cost.kind == COST_MATRIX && k == 2 && w.by_matrix[i]) continue;
        time = max(time, w.ready[i]);
      }
    }
    return time;
  }

  // Returns when an instruction can issue.
  double issues(RunningWave& w, const Cost& cost, double time) {
    const Simd& simd = simds[w.simd];
    switch (cost.kind) {
      case COST_VALU:
      case COST_TRANSCENDENTAL:
        return max(operands(w, cost, time), simd.vector);
      case COST_MATRIX:
        return max(operands(w, cost, time), max(simd.vector, simd.matrix));
      case COST_SCALAR:
      case COST_BRANCH:
      case COST_SCALAR_LOAD:
        return max(time, simd.scalar);
      case COST_LDS_LOAD:
      case COST_LDS_STORE:
      case COST_LDS_SHUFFLE:
        return max(max(operands(w, cost, time), simd.lds), lds - unit.lds_latency);
      case COST_LOAD:
      case COST_STORE:
      case COST_ATOMIC:
        return max(max(operands(w, cost, time), simd.l1), l1 - kL1Queue);
      case COST_WAIT:
        time = w.loads.wait(cost.most_loads, time);
        time = w.stores.wait(cost.most_stores, time);
        return w.lds.wait(cost.most_lds, time);
      default:
        return time;
    }
  }

  void write(RunningWave& w, const Cost& cost, double time) {
    const Registers& registers = cost.destination;
    for (int i = registers.first; i < registers.first + registers.number; i++) {
      w.ready[i] = time;
      w.by_matrix[i] = cost.kind == COST_MATRIX;
    }
  }

  void use_lds(RunningWave& w, const Cost& cost, const Step& step, double time) {
    simds[w.simd].lds = time + unit.cadence;
    double cycles = max(1.0, (double)step.cycles) * 128 / unit.lds_bytes;
    if (cost.kind == COST_LDS_SHUFFLE) cycles = kShuffleBytes / unit.lds_bytes;
    lds = max(time, lds) + cycles;
    busy.lds += cycles;
    w.lds.add(lds + unit.lds_latency);
  }

  u32 sharers(u64 line) const {
    size_t low = 0, high = trace.shared.number;
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (trace.shared.data[middle] < line)
        low = middle + 1;
      else
        high = middle;
    }
    bool found = low < trace.shared.number && trace.shared.data[low] == line;
    return found ? trace.shared_by.data[low] : 0;
  }

  double load_line(u64 line, double start) {
    u32 known = lines->find(line);
    if (lines->line[known]) return lines->ready[known];
    double share = max(1.0, sharers(line) * unit.share_scale);
    l2 = max(start, l2) + unit.l2_line_cycles;
    busy.l2 += unit.l2_line_cycles;
    far = max(start, far) + unit.far_line_cycles / share;
    busy.far += unit.far_line_cycles / share;
    // The first workgroup that shares the line waits for it; the others find it in the L2.
    double latency = unit.l2_latency + (unit.far_latency - unit.l2_latency) * (0.5 + 0.5 / share);
    double done = max(max(l2, far), l1) + latency;
    lines->add(line, done, (size_t)unit.l1_lines);
    return done;
  }

  double store_line(u64 line, double start) {
    double share = max(1.0, sharers(line) * unit.share_scale);
    double cycles = unit.far_line_cycles * kFarStores / share;
    l2 = max(start, l2) + unit.l2_line_cycles;
    busy.l2 += unit.l2_line_cycles;
    far = max(start, far) + cycles;
    busy.far += cycles;
    return max(l2, far) + unit.store_latency;
  }

  void use_memory(RunningWave& w, const Cost& cost, const Step& step, double time) {
    simds[w.simd].l1 = time + unit.cadence;
    double start = max(time, l1), cycles = step.cycles * unit.l1_scale;
    bool is_load = cost.kind == COST_LOAD, scratch = !step.lines && !step.cycles;
    if (scratch) cycles = kScratchCycles;
    l1 = start + cycles;
    busy.l1 += cycles;
    double done = l1 + (cost.kind == COST_STORE ? unit.store_latency : unit.l1_latency);
    if (scratch) {
      l2 = max(start, l2) + kScratchLines * unit.l2_line_cycles;
      busy.l2 += kScratchLines * unit.l2_line_cycles;
      done = l2 + (is_load ? unit.l2_latency : unit.store_latency);
    }
    for (u32 i = 0; i < step.lines; i++) {
      u64 line = w.group->lines.data[step.first + i] & ~kStored;
      done = max(done, is_load ? load_line(line, start) : store_line(line, start));
    }
    (cost.kind == COST_STORE && unit.separate_stores ? w.stores : w.loads).add(done);
  }

  // Issues an instruction at `time`; returns when the wave issues its next one.
  double issue(RunningWave& w, const Cost& cost, const Step& step, double time) {
    Simd& simd = simds[w.simd];
    const double next = time + unit.cadence;
    switch (cost.kind) {
      case COST_VALU:
      case COST_TRANSCENDENTAL:
        simd.vector = time + cost.issue;
        busy.vector += cost.issue;
        write(w, cost, time + max(unit.valu_latency, (double)cost.issue));
        return cost.kind == COST_VALU ? max(next, time + cost.issue) : next;
      case COST_MATRIX:
        simd.matrix = time + cost.matrix;
        simd.vector = unit.matrix_beside_vector ? next : simd.matrix;
        busy.matrix += cost.matrix;
        busy.vector += unit.cadence;
        write(w, cost, simd.matrix + cost.matrix_latency);
        return next;
      case COST_SCALAR:
      case COST_BRANCH:
        simd.scalar = next;
        busy.scalar += unit.cadence;
        if (cost.kind == COST_BRANCH) return time + unit.branch_cycles;
        return max(next, time + unit.scalar_latency);
      case COST_SCALAR_LOAD:
        simd.scalar = next;
        w.lds.add(time + unit.scalar_load_latency);
        return next;
      case COST_LDS_LOAD:
      case COST_LDS_STORE:
      case COST_LDS_SHUFFLE:
        use_lds(w, cost, step, time);
        return next;
      case COST_LOAD:
      case COST_STORE:
      case COST_ATOMIC:
        use_memory(w, cost, step, time);
        return next;
      case COST_IDLE:
        return time + unit.cadence * cost.issue;
      case COST_END:
        w.next = w.steps->number;
        return w.loads.wait(0, time);
      default:
        return next;
    }
  }

  // Makes a wave wait at a barrier; the last wave releases all.
  void stop_at_barrier(RunningWave& w, double time) {
    Slot& slot = *w.slot;
    slot.waiting++;
    slot.last = max(slot.last, time);
    w.at_barrier = true;
    if (slot.waiting < slot.live) return;
    w.at_barrier = false;
    release(slot, w.group->wave_count, slot.last + unit.cadence);
    events.add(time + unit.cadence, &w);
  }

  void step(const Event& event) {
    RunningWave& w = *event.wave;
    if (w.next >= w.steps->number) return finish(w, event.time);
    const Step& step = w.steps->data[w.next];
    const Cost& cost = trace.costs[step.pc];
    double time = issues(w, cost, event.time);
    // Other waves may issue earlier.
    if (time > event.time + kPrecision && cost.kind != COST_WAIT) return events.add(time, &w);
    w.next++;
    if (cost.kind == COST_BARRIER) return stop_at_barrier(w, time);
    events.add(issue(w, cost, step, time), &w);
  }
};

}  // namespace

extern "C" void emulator_replay(const void* handle, const ComputeUnit* unit, int workgroups,
                                int slots, Replayed* replayed) {
  memset(replayed, 0, sizeof *replayed);
  Replay replay = {*(const Trace*)handle, *unit, workgroups, *replayed, {}, 0, 0, 0, 0, {}, nullptr,
                   0,                     0,     0};
  replay.lines = (Lines*)calloc(1, sizeof(Lines));
  Slot* places = (Slot*)calloc(slots, sizeof(Slot));
  for (int i = 0; i < slots && replay.started < workgroups; i++)
    replay.start(places[i], i * kSlotDelay);
  while (replay.events.heap.number) replay.step(replay.events.pop());
  replayed->cycles = replay.end;
  free(places);
  free(replay.lines->order.data);
  free(replay.lines);
  free(replay.events.heap.data);
}
