// Runs launches: workgroups on threads, the waves of a workgroup in turns between barriers.
#include <pthread.h>

#include "checker.h"
#include "machine.h"
#include "trace.h"
#include "twin.h"

extern const Table kVectorIntegerTable, kVectorFloatTable, kCrossLaneTable, kMatrixTable,
    kScalarTable, kMemoryTable;

namespace {

const Table* const kTables[] = {&kVectorIntegerTable, &kVectorFloatTable, &kCrossLaneTable,
                                &kMatrixTable,        &kScalarTable,      &kMemoryTable};

enum DppKind {
  DPP_QUAD_PERM = 1,
  DPP_ROW_SHL,
  DPP_ROW_SHR,
  DPP_ROW_ROR,
  DPP_ROW_MIRROR,
  DPP_ROW_HALF_MIRROR,
  DPP_ROW_BCAST15,
  DPP_ROW_BCAST31,
  DPP_ROW_SHARE,
  DPP_ROW_XMASK,
  DPP_DPP8,
  DPP_WAVE_SHL,
  DPP_WAVE_ROL,
  DPP_WAVE_SHR,
  DPP_WAVE_ROR,
};

// The lane that lane `l` reads, or -1.
int dpp_source(const Op& o, int l, int lanes) {
  int row = l & ~15, i = l & 15, c = o.dpp_control;
  switch (o.dpp_kind) {
    case DPP_QUAD_PERM:
      return (l & ~3) | (c >> ((l & 3) * 2) & 3);
    case DPP_ROW_SHL:
      return i + c < 16 ? l + c : -1;
    case DPP_ROW_SHR:
      return i - c >= 0 ? l - c : -1;
    case DPP_ROW_ROR:
      return row | ((i - c) & 15);
    case DPP_ROW_MIRROR:
      return row | (15 - i);
    case DPP_ROW_HALF_MIRROR:
      return (l & ~7) | (7 - (l & 7));
    case DPP_ROW_BCAST15:
      return row - 1;  // -1 in the first row
    case DPP_ROW_BCAST31:
      return l >= 32 ? 31 : -1;
    case DPP_ROW_SHARE:
      return row | c;
    case DPP_ROW_XMASK:
      return row | (i ^ c);
    case DPP_DPP8:
      return (l & ~7) | (c >> ((l & 7) * 3) & 7);
    case DPP_WAVE_SHL:
      return l + 1 < lanes ? l + 1 : -1;
    case DPP_WAVE_ROL:
      return (l + 1) % lanes;
    case DPP_WAVE_SHR:
      return l - 1;
    default:
      return (l + lanes - 1) % lanes;
  }
}

// Moves the lanes of the first operand into `shuffled` and lets the instruction read them there.
void shuffle_first_operand(Wave& w, Op& o) {
  u32 constant[kLanes];
  Src source = o.s[0];
  const u32* from = src<32>(w, source, constant);
  u64 exec = w.exec(), written = 0;
  u32 moved[kLanes] = {0};
  for (int l = 0; l < w.nl; l++) {
    int lane = dpp_source(o, l, w.nl);
    bool read = lane >= 0 && (o.fetch_inactive || (exec >> lane & 1));
    if (read) moved[l] = from[lane];
    // DPP8 reads zeros from lanes that are off.
    bool zero = o.dpp_kind == DPP_DPP8 || o.bound_control;
    bool row = o.row_mask >> (l / 16) & 1, bank = o.bank_mask >> ((l & 15) / 4) & 1;
    if ((read || zero) && row && bank) written |= 1ull << l;
  }
  memcpy(w.shuffled, moved, sizeof moved);
  w.wmask = exec & written;
  o.s[0].kind = OPERAND_SHUFFLED;
  o.s[0].negate = o.s[0].absolute = o.s[0].part = 0;
}

// Both halves of a dual instruction read their operands before either writes.
void run_dual(Wave& w, int pc) {
  const Op &x = w.E->ops[pc], &y = w.E->ops[x.next];
  if (y.d[0].index == x.d[0].index) return fail(w, "a dual instruction writes one register twice");
  u32 before[kLanes], after[kLanes], *target = w.v[x.d[0].index];
  memcpy(before, target, sizeof before);
  w.E->functions[pc](w, x);
  memcpy(after, target, sizeof after);
  memcpy(target, before, sizeof before);
  w.wmask = w.exec();
  w.E->functions[x.next](w, y);
  memcpy(target, after, sizeof after);
  w.pc = pc + 2;
}

void run_indexed(Wave& w, int pc) {
  Op o = w.E->ops[pc];
  if (o.flags) return fail(w, "DPP or a dual instruction while registers are indexed");
  u32 which = w.s[kM0] >> 12 & 15;
  int by = w.s[kM0] & 255;
  for (int i = 0; i < 3; i++)
    if ((which >> i & 1) && o.s[i].kind == OPERAND_VECTOR) o.s[i].index += by;
  if ((which >> 3 & 1) && o.d[0].kind == OPERAND_VECTOR) o.d[0].index += by;
  w.E->functions[pc](w, o);
}

void check_instruction(Wave& w) {
  Checker& checker = *w.E->checker;
  settle_pending(checker);
  bool diverges = w.state == WAVE_AT_BARRIER && w.exec() != w.all;
  if (diverges && (checker.checks & CHECK_BARRIERS))
    add_finding(*w.E->checker, make_finding(w, FINDING_DIVERGENT_BARRIER,
                                            __builtin_ctzll(w.all & ~w.exec()), 0, 0, nullptr));
}

// All waves that have not ended wait at a barrier.
void check_barrier(Wave** waves, int number) {
  Wave* first = nullptr;
  for (int i = 0; i < number; i++) {
    if (waves[i]->state != WAVE_AT_BARRIER) continue;
    if (!first) first = waves[i];
    const Machine& machine = *first->E;
    if (waves[i]->pc == first->pc || !(machine.checker->checks & CHECK_BARRIERS)) continue;
    const Workgroup& group = *first->wg;
    Site other = {machine.ops[first->pc - 1].address, group.epoch, group.number + 1,
                  (u16)first->number, 0};
    add_finding(*waves[i]->E->checker,
                make_finding(*waves[i], FINDING_DIFFERENT_BARRIERS, 0, 0, 0, &other));
  }
}

inline void step(Wave& w, int pc) {
  const Machine& machine = *w.E;
  const Op& o = machine.ops[pc];
  w.pc = pc + 1;
  w.wmask = w.exec();
  if (machine.trace && machine.trace->costs[pc].kind == COST_MATRIX) {
    // Times do not depend on data, so matrix instructions are not computed.
  } else if (w.indexed && o.is_vector) {
    run_indexed(w, pc);
  } else if (!o.flags) {
    machine.functions[pc](w, o);
  } else if (o.flags & FLAG_DPP) {
    Op moved = o;
    shuffle_first_operand(w, moved);
    machine.functions[pc](w, moved);
  } else {
    run_dual(w, pc);
  }
}

// Runs until a barrier, the end, a fault, or `quantum` instructions.
void run_wave(Wave& w, u64 quantum) {
  const Machine& machine = *w.E;
  for (; quantum && w.state == WAVE_RUNS; quantum--) {
    int pc = w.pc;
    if (pc < 0 || pc >= machine.count) return fail(w, "execution leaves the kernel");
    w.instructions++;
    if (w.twin) {
      begin_step(w);
      step(w.twin->wave, pc);
    }
    step(w, pc);
    if (w.twin) end_step(w);
    if (machine.trace) record_step(w, pc);
    if (machine.checker) check_instruction(w);
    if (w.state == WAVE_FAULTED) w.pc = pc;
  }
}

u64 draw(u64& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

// Fills registers and scratch with signalling NaNs and other garbage, or with zeros.
void set_garbage(Wave& w, const Launch& launch, u64& seed) {
  memset(w.scratch, launch.poison ? 0xCD : 0, (size_t)launch.scratch_bytes * kLanes);
  if (!launch.poison) {
    memset(w.v, 0, sizeof w.v);
    memset(w.s, 0, sizeof w.s);
    return;
  }
  for (int i = 0; i < w.E->vector_registers; i++)
    for (int l = 0; l < kLanes; l += 2) {
      u64 bits = draw(seed);
      w.v[i][l] = 0x7fa00000u | (bits & 0xfffff);
      w.v[i][l + 1] = 0x7fa00000u | (bits >> 32 & 0xfffff);
    }
  for (u32& scalar : w.s) scalar = 0xBAD00000u | (draw(seed) & 0xfffff);
}

// Bits of a kernel descriptor's properties, in the order of the user registers.
enum Property {
  USES_PRIVATE_SEGMENT_BUFFER = 1,
  USES_DISPATCH_PTR = 2,
  USES_QUEUE_PTR = 4,
  USES_KERNARG_PTR = 8,
  USES_DISPATCH_ID = 16,
  USES_FLAT_SCRATCH = 32,
  USES_PRIVATE_SEGMENT_SIZE = 64,
};

int set_pair(Wave& w, int number, u64 value) {
  w.s[number] = (u32)value;
  w.s[number + 1] = value >> 32;
  return number + 2;
}

// Source: LLVM's AMDGPU usage guide, "Initial Kernel Execution State".
void set_user_registers(Wave& w, const Launch& launch, const u32* id) {
  int n = 0;
  if (launch.properties & USES_PRIVATE_SEGMENT_BUFFER)
    for (int i = 0; i < 4; i++) w.s[n++] = 0;
  if (launch.properties & USES_DISPATCH_PTR) n = set_pair(w, n, launch.dispatch_packet);
  if (launch.properties & USES_QUEUE_PTR) n += 2;
  if (launch.properties & USES_KERNARG_PTR) n = set_pair(w, n, launch.kernel_arguments);
  if (launch.properties & USES_DISPATCH_ID) n += 2;
  if (launch.properties & USES_FLAT_SCRATCH) n += 2;
  if (launch.properties & USES_PRIVATE_SEGMENT_SIZE) w.s[n++] = launch.scratch_bytes;
  for (int i = 0; i < launch.preload_length && n + i < launch.user_registers; i++)
    memcpy(&w.s[n + i], (u8*)launch.kernel_arguments + 4 * (launch.preload_offset + i), 4);
  n = launch.user_registers;
  if (launch.ids_in_trap_registers) {
    w.s[kTrap + 9] = id[0];
    w.s[kTrap + 7] = (id[1] & 0xffff) | id[2] << 16;
    return;
  }
  for (int i = 0; i < 3; i++)
    if (launch.rsrc2 >> (7 + i) & 1) w.s[n++] = id[i];
  if (launch.rsrc2 >> 10 & 1) w.s[n++] = 0;
}

// Sets the registers that the hardware sets before a wave starts. ENABLE_VGPR_WORKITEM_ID says
// which of a work-item's positions v0 has; LLVM does not mask the others.
void set_initial_registers(Wave& w, const Launch& launch, const u32* id) {
  u32 items = launch.block[0] * launch.block[1] * launch.block[2];
  u32 last = launch.rsrc2 >> 11 & 3;
  u64 exec = 0;
  for (int l = 0; l < w.nl; l++) {
    u32 item = w.number * w.nl + l;
    if (item >= items) break;
    u32 row = item / launch.block[0], y = row % launch.block[1], z = row / launch.block[1];
    exec |= 1ull << l;
    w.v[0][l] = item % launch.block[0] | (last > 0 ? y << 10 : 0) | (last > 1 ? z << 20 : 0);
  }
  w.exec() = w.all = exec;
  w.s[124] = 0;
  set_user_registers(w, launch, id);
}

void start_wave(Wave& w, const Launch& launch, const u32* id, int number, u64& seed) {
  w.nl = launch.wave_size;
  w.scc = w.indexed = w.last_region = 0;
  w.pc = launch.first;
  w.state = WAVE_RUNS;
  w.instructions = 0;
  w.mode = launch.rsrc1 >> 12 & 0xff;
  w.scratch_lane = launch.scratch_bytes;
  w.number = number;
  set_garbage(w, launch, seed);
  set_initial_registers(w, launch, id);
  if (!w.twin) return;
  start_twin(w);
  set_initial_registers(w.twin->wave, launch, id);
}

// The state that the threads of a launch share.
struct Run {
  Machine* machine;
  const Launch* launch;
  int waves;  // of a workgroup
  u64 total, next;
  int faulted;
  char error[kFaultBytes + 128];
  Statistics statistics;
};

void report(Run& run, const u32* id, int number, const Wave& w) {
  int expected = 0;
  if (!__atomic_compare_exchange_n(&run.faulted, &expected, 1, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return;
  const Machine& machine = *run.machine;
  u32 address = w.pc >= 0 && w.pc < machine.count ? machine.ops[w.pc].address : 0;
  snprintf(run.error, sizeof run.error, "%s, at 0x%x in wave %d of workgroup (%u, %u, %u)", w.fault,
           address, number, id[0], id[1], id[2]);
}

// Runs one wave, or all in turn, and returns the number of a wave that faulted, or -1.
int run_turn(Run& run, Wave** waves, u64& seed) {
  const Launch& launch = *run.launch;
  if (launch.schedule == SCHEDULE_RANDOM) {
    int ready = 0;
    for (int i = 0; i < run.waves; i++) ready += waves[i]->state == WAVE_RUNS;
    int skip = draw(seed) % ready, i = 0;
    while (waves[i]->state != WAVE_RUNS || skip-- > 0) i++;
    run_wave(*waves[i], 1 + draw(seed) % 37);
    return waves[i]->state == WAVE_FAULTED ? i : -1;
  }
  for (int n = 0; n < run.waves; n++) {
    int i = launch.schedule == SCHEDULE_REVERSE ? run.waves - 1 - n : n;
    if (waves[i]->state == WAVE_RUNS) run_wave(*waves[i], launch.most_instructions);
    if (waves[i]->state == WAVE_FAULTED) return i;
  }
  return -1;
}

// The memory of the workgroups that a thread runs one after the other.
struct Residence {
  Workgroup group;
  Wave** waves;
  TwinLds twins;
};

void run_workgroup(Run& run, Residence& residence, u64 number) {
  const Launch& launch = *run.launch;
  Workgroup& group = residence.group;
  Wave** waves = residence.waves;
  u32 id[3] = {(u32)(number % launch.grid[0]), (u32)(number / launch.grid[0] % launch.grid[1]),
               (u32)(number / launch.grid[0] / launch.grid[1])};
  u64 seed = ((launch.seed + 1) * 0x9E3779B97F4A7C15ull) ^ ((number + 1) * 0xD1B54A32D192ED03ull);
  seed += !seed;
  group.number = number;
  group.epoch = 0;
  Checker* checker = run.machine->checker;
  if (checker) memset(checker->lds, 0, launch.lds_bytes * sizeof(Cell));
  const u32 garbage = launch.poison ? 0x7fa00000 | (seed & 0xfffff) : 0;
  for (u32 i = 0; i + 4 <= launch.lds_bytes; i += 4) memcpy(group.lds + i, &garbage, 4);
  if (residence.twins.group.lds) start_lds(residence.twins, group);
  for (int i = 0; i < run.waves; i++) start_wave(*waves[i], launch, id, i, seed);
  while (true) {
    int live = 0, waiting = 0;
    for (int i = 0; i < run.waves; i++) {
      live += waves[i]->state != WAVE_ENDED;
      waiting += waves[i]->state == WAVE_AT_BARRIER;
    }
    if (!live) break;
    if (waiting == live) {
      if (checker) check_barrier(waves, run.waves);
      group.epoch++;
      for (int i = 0; i < run.waves; i++)
        if (waves[i]->state == WAVE_AT_BARRIER) waves[i]->state = WAVE_RUNS;
      count(run.statistics.barriers);
    }
    int faulted = run_turn(run, waves, seed);
    for (int i = 0; i < run.waves && faulted < 0; i++)
      if (waves[i]->instructions >= launch.most_instructions && waves[i]->state == WAVE_RUNS) {
        fail(*waves[i], "too many instructions, perhaps an endless loop");
        faulted = i;
      }
    if (faulted >= 0) return report(run, id, faulted, *waves[faulted]);
  }
  for (int i = 0; i < run.waves; i++) count(run.statistics.instructions, waves[i]->instructions);
}

void open_residence(Residence& residence, Run& run) {
  const Launch& launch = *run.launch;
  residence.group = {0, 0, (u8*)malloc(launch.lds_bytes + 1), launch.lds_bytes};
  residence.twins = {};
  bool twins = run.machine->checker && (launch.checks & CHECK_UNINITIALISED);
  if (twins) open_lds(residence.twins, launch.lds_bytes, launch.seed * 2 + 1);
  Wave** waves = residence.waves = (Wave**)malloc(run.waves * sizeof(Wave*));
  size_t size = (sizeof(Wave) + 63) / 64 * 64;
  for (int i = 0; i < run.waves; i++) {
    waves[i] = (Wave*)aligned_alloc(64, size);
    waves[i]->E = run.machine;
    waves[i]->wg = &residence.group;
    waves[i]->bytes_loaded = waves[i]->bytes_stored = 0;
    waves[i]->scratch = (u8*)malloc((size_t)launch.scratch_bytes * kLanes + 1);
    waves[i]->twin = nullptr;
    waves[i]->accesses = nullptr;
    waves[i]->is_twin = false;
    if (twins) add_twin(*waves[i], residence.twins, launch.scratch_bytes, (launch.seed << 8 | i) * 2 + 1);
  }
}

void close_residence(Residence& residence, Run& run) {
  Wave** waves = residence.waves;
  for (int i = 0; i < run.waves; i++) {
    count(run.statistics.bytes_loaded, waves[i]->bytes_loaded);
    count(run.statistics.bytes_stored, waves[i]->bytes_stored);
    free_twin(waves[i]->twin);
    free(waves[i]->scratch);
    free(waves[i]);
  }
  if (residence.twins.group.lds) close_lds(residence.twins);
  free(waves);
  free(residence.group.lds);
}

void* work(void* argument) {
  Run& run = *(Run*)argument;
  Residence residence;
  open_residence(residence, run);
  const u64 step = max(1u, run.launch->every);
  while (!__atomic_load_n(&run.faulted, __ATOMIC_ACQUIRE)) {
    u64 number = __atomic_fetch_add(&run.next, step, __ATOMIC_RELAXED);
    if (number >= run.total) break;
    run_workgroup(run, residence, number);
  }
  close_residence(residence, run);
  return nullptr;
}

constexpr int kMostThreads = 256;

void run_threads(Run& run, int threads) {
  threads = min(threads, kMostThreads);
  if (threads <= 1 || run.total <= max(1u, run.launch->every)) {
    work(&run);
    return;
  }
  pthread_t started[kMostThreads];
  int number = 0;
  while (number < threads - 1 && !pthread_create(&started[number], nullptr, work, &run)) number++;
  work(&run);
  for (int i = 0; i < number; i++) pthread_join(started[i], nullptr);
}

Checker* new_checker(const Launch& launch, int regions) {
  if (!launch.checks) return nullptr;
  Checker* checker = (Checker*)calloc(1, sizeof(Checker));
  checker->checks = launch.checks;
  checker->findings = (Finding*)launch.findings;
  checker->most = launch.most_findings;
  checker->lds = (Cell*)calloc(launch.lds_bytes + 1, sizeof(Cell));
  checker->regions = (Cell**)calloc(regions + 1, sizeof(Cell*));
  return checker;
}

void free_checker(Checker* checker, const Region* regions, int count) {
  if (!checker) return;
  for (int i = 0; i < count; i++) free_cells(checker->regions[i], regions[i]);
  free(checker->regions);
  free(checker->lds);
  free(checker);
}

void start_run(Run& run, Machine& machine, const Launch* launch, const Region* regions,
               int region_count) {
  machine.regions = regions;
  machine.region_count = region_count;
  machine.image = launch->image;
  machine.partly_out_of_bounds = machine.loads_out_of_bounds = machine.stores_out_of_bounds = 0;
  u32 items = launch->block[0] * launch->block[1] * launch->block[2];
  memset(&run, 0, sizeof run);
  run.machine = &machine;
  run.launch = launch;
  run.waves = (items + launch->wave_size - 1) / launch->wave_size;
  run.total = (u64)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

const Operation& operation(int number) {
  int table = 0;
  while (number >= kTables[table]->count) number -= kTables[table++]->count;
  return kTables[table]->operations[number];
}

// Returns the operation, or the one for which `number` is an alias.
const Operation& resolve(int number) {
  const Operation& found = operation(number);
  if (found.run) return found;
  for (int i = 0, n = emulator_operation_count(); i < n; i++)
    if (!strcmp(operation(i).name, found.destinations)) return resolve(i);
  abort();  // a table has an alias of an operation that no table contains
}

int highest_vector_register(const Op& o) {
  int highest = 0;
  for (const Dst& d : o.d)
    if (d.kind == OPERAND_VECTOR) highest = max(highest, d.index);
  for (const Src& s : o.s)
    if (s.kind == OPERAND_VECTOR) highest = max(highest, s.index);
  return highest;
}

// The context of a launch.
struct Call {
  Machine* machine;
  const Region* regions;
  int region_count;
  char* error;
  int error_size;
};

// `differing` is the address of a byte whose last store is a finding, or 0.
int run_once(const Call& call, const Launch& launch, Statistics& statistics, u64 differing) {
  Machine& machine = *call.machine;
  Run run;
  start_run(run, machine, &launch, call.regions, call.region_count);
  machine.checker = new_checker(launch, call.region_count);
  run_threads(run, machine.checker ? 1 : launch.threads);
  statistics = run.statistics;
  if (machine.checker && differing) add_order_finding(machine, differing);
  statistics.findings = machine.checker ? machine.checker->count : 0;
  free_checker(machine.checker, call.regions, call.region_count);
  machine.checker = nullptr;
  statistics.loads_out_of_bounds = machine.loads_out_of_bounds;
  statistics.stores_out_of_bounds = machine.stores_out_of_bounds;
  statistics.partly_out_of_bounds = machine.partly_out_of_bounds;
  if (run.faulted) snprintf(call.error, call.error_size, "%s", run.error);
  return run.faulted;
}

// A copy of the memory that a launch may write.
struct Snapshot {
  u8 **content, **defined;  // by region; null if there is none
};

u8* copy_of(const void* from, size_t size) {
  u8* copy = (u8*)malloc(size + 1);
  memcpy(copy, from, size);
  return copy;
}

Snapshot take_snapshot(const Call& call) {
  Snapshot taken = {(u8**)calloc(call.region_count + 1, sizeof(u8*)),
                    (u8**)calloc(call.region_count + 1, sizeof(u8*))};
  for (int i = 0; i < call.region_count; i++) {
    const Region& region = call.regions[i];
    size_t size = region.high - region.low;
    if (!region.writable) continue;
    taken.content[i] = copy_of((const void*)region.low, size);
    if (region.defined) taken.defined[i] = copy_of(region.defined, size);
  }
  return taken;
}

void restore(const Call& call, const Snapshot& snapshot) {
  for (int i = 0; i < call.region_count; i++) {
    const Region& region = call.regions[i];
    size_t size = region.high - region.low;
    if (snapshot.content[i]) memcpy((void*)region.low, snapshot.content[i], size);
    if (snapshot.defined[i]) memcpy(region.defined, snapshot.defined[i], size);
  }
}

// Returns the address of the first byte that differs from a snapshot, or 0.
u64 difference(const Call& call, const Snapshot& snapshot) {
  for (int i = 0; i < call.region_count; i++) {
    const Region& region = call.regions[i];
    const u8 *now = (const u8*)region.low, *then = snapshot.content[i];
    size_t size = region.high - region.low;
    if (!then || !memcmp(now, then, size)) continue;
    for (size_t at = 0; at < size; at++)
      if (now[at] != then[at]) return region.low + at;
  }
  return 0;
}

void free_snapshot(const Call& call, Snapshot& snapshot) {
  for (int i = 0; i < call.region_count; i++) {
    free(snapshot.content[i]);
    free(snapshot.defined[i]);
  }
  free(snapshot.content);
  free(snapshot.defined);
}

// Runs a launch in other orders, then in its own, and compares the memory. The results of its own
// order remain.
int run_in_orders(const Call& call, const Launch& launch, Statistics& statistics) {
  Snapshot before = take_snapshot(call);
  int faulted = run_once(call, launch, statistics, 0);
  Snapshot after = take_snapshot(call);
  for (int order = SCHEDULE_FORWARD; order <= SCHEDULE_REVERSE && !faulted; order++) {
    if (order == launch.schedule) continue;
    Statistics ignored;
    Launch again = launch;
    again.checks = 0;
    again.schedule = order;
    restore(call, before);
    faulted = run_once(call, again, ignored, 0);
    u64 differing = faulted ? 0 : difference(call, after);
    if (!differing) continue;
    again = launch;
    again.checks = CHECK_ORDER;
    again.findings += statistics.findings * sizeof(Finding);
    again.most_findings -= statistics.findings;
    restore(call, before);
    faulted = run_once(call, again, ignored, differing);
    statistics.findings += ignored.findings;
    break;
  }
  restore(call, after);
  free_snapshot(call, before);
  free_snapshot(call, after);
  return faulted;
}

}  // namespace

extern "C" {

int emulator_abi() {
  return 1000 * sizeof(Instruction) + sizeof(Launch) + sizeof(Statistics) + sizeof(Cost) +
         sizeof(ComputeUnit) + sizeof(TraceStatistics) + sizeof(Replayed);
}

int emulator_operation_count() {
  int number = 0;
  for (const Table* table : kTables) number += table->count;
  return number;
}
const char* emulator_operation_name(int number) { return operation(number).name; }
const char* emulator_destination_types(int number) { return resolve(number).destinations; }
const char* emulator_source_types(int number) { return resolve(number).sources; }

void* emulator_new(const Instruction* instructions, int count, int architecture) {
  Machine* machine = (Machine*)calloc(1, sizeof(Machine));
  machine->ops = (Op*)malloc(count * sizeof(Op));
  machine->functions = (Function*)malloc(count * sizeof(Function));
  memcpy(machine->ops, instructions, count * sizeof(Op));
  machine->count = count;
  machine->architecture = architecture;
  machine->ocp = architecture != 942;
  int highest = 0;
  for (int i = 0; i < count; i++) {
    machine->functions[i] = resolve(instructions[i].operation).run;
    highest = max(highest, highest_vector_register(instructions[i]));
  }
  // The longest operand has 32 registers.
  machine->vector_registers = min(kVectorRegisters, highest + 33);
  return machine;
}

void emulator_free(void* handle) {
  Machine* machine = (Machine*)handle;
  free(machine->ops);
  free(machine->functions);
  free(machine);
}

int emulator_launch(void* handle, const Launch* launch, const Region* regions, int region_count,
                    Statistics* statistics, char* error, int error_size) {
  Call call = {(Machine*)handle, regions, region_count, error, error_size};
  if (launch->checks & CHECK_ORDER) return run_in_orders(call, *launch, *statistics);
  return run_once(call, *launch, *statistics, 0);
}

void* emulator_trace(void* handle, const Launch* launch, const Region* regions, int region_count,
                     const Cost* costs, const ComputeUnit* unit, const u64* workgroups, int number,
                     int full, TraceStatistics* statistics, char* error, int error_size) {
  Machine& machine = *(Machine*)handle;
  Run run;
  start_run(run, machine, launch, regions, region_count);
  Trace* trace = machine.trace = (Trace*)calloc(1, sizeof(Trace));
  memset(statistics, 0, sizeof *statistics);
  trace->costs = costs;
  trace->unit = *unit;
  trace->statistics = statistics;
  trace->groups = (GroupTrace*)calloc(max(full, 1), sizeof(GroupTrace));
  Residence residence;
  open_residence(residence, run);
  for (int i = 0; i < number && !run.faulted; i++) {
    bool is_neighbour = i >= full;
    trace->current = nullptr;
    if (!is_neighbour) {
      trace->current = &trace->groups[trace->group_count++];
      trace->current->waves = (Array<Step>*)calloc(run.waves, sizeof(Array<Step>));
      trace->current->wave_count = run.waves;
    }
    run_workgroup(run, residence, workgroups[i]);
    end_group(*trace, is_neighbour);
    if (i - full + 1 == (number - full) / 2)
      statistics->unique_lines_of_half = statistics->unique_lines;
  }
  close_residence(residence, run);
  statistics->instructions = run.statistics.instructions;
  machine.trace = nullptr;
  if (!run.faulted) return trace;
  snprintf(error, error_size, "%s", run.error);
  emulator_trace_free(trace);
  return nullptr;
}
}
