// See twin.h.
#include "twin.h"

namespace {

u64 next(u64& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

// Garbage that differs from the wave's, which has signalling NaNs in vector registers: random bits,
// or small numbers, so that comparisons give other results.
u32 garbage(u64& state) {
  u64 bits = next(state);
  return bits >> 63 ? (u32)bits : (u32)bits & 15;
}

// Whether active lanes differ.
bool differ(const Wave& a, const Wave& b, int number, u64 lanes) {
  if (!memcmp(a.v[number], b.v[number], sizeof a.v[number])) return false;
  for (int l = 0; l < a.nl; l++)
    if ((lanes >> l & 1) && a.v[number][l] != b.v[number][l]) return true;
  return false;
}

u32 origin_of_vector(const Wave& w, int number) {
  const Twin& t = *w.twin;
  if (number >= kVectorRegisters || !differ(w, t.wave, number, w.wmask)) return 0;
  bool some = false, all = true;  // whether differing lanes hold their initial contents
  for (int l = 0; l < w.nl; l++) {
    if (!(w.wmask >> l & 1) || w.v[number][l] == t.wave.v[number][l]) continue;
    bool fresh = t.wave.v[number][l] == t.vector_garbage[number][l];
    some |= fresh;
    all &= fresh;
  }
  u32 origin = t.vector_origins[number];
  return all || (some && !origin) ? w.pc + 1 : origin;
}

u32 origin_of_scalar(const Wave& w, int number) {
  const Twin& t = *w.twin;
  if (number >= kScalarRegisters || w.s[number] == t.wave.s[number]) return 0;
  return t.wave.s[number] == t.scalar_garbage[number] ? w.pc + 1 : t.scalar_origins[number];
}

u32 origin_of_source(const Wave& w, const Src& source) {
  u32 found = 0;
  for (int i = 0; i < source.count && !found; i++) {
    if (source.kind == OPERAND_VECTOR) found = origin_of_vector(w, source.index + i);
    if (source.kind == OPERAND_SCALAR) found = origin_of_scalar(w, source.index + i);
  }
  if (source.kind == OPERAND_SCC && w.scc != w.twin->wave.scc) found = w.twin->scc_origin;
  return found;
}

u32 origin_of_instruction(const Wave& w) {
  const Op& o = w.E->ops[w.pc];
  u32 found = 0;
  for (const Src& source : o.s)
    if (!found) found = origin_of_source(w, source);
  for (int i = 0; i < 2 && o.scalar_base >= 0 && !found; i++)
    found = origin_of_scalar(w, o.scalar_base + i);
  return found;
}

// The implicit operands of a branch.
u32 origin_of_state(const Wave& w) {
  const Twin& t = *w.twin;
  if (w.scc != t.wave.scc) return t.scc_origin;
  u32 found = 0;
  for (int i = 0; i < 2 && !found; i++) {
    found = origin_of_scalar(w, kVcc + i);
    if (!found) found = origin_of_scalar(w, kExec + i);
  }
  return found;
}

// In `origins`: nothing was stored to the dword of LDS.
constexpr u32 kUnwritten = ~0u;

// A value loaded from LDS has the origin of the stored value.
void find_origin_in_lds(Twin& t) {
  for (int i = 0; i < t.of_wave.count && !t.origin; i++) {
    const Attempt& one = t.of_wave.attempts[i];
    if (one.space != MEMORY_OF_WORKGROUP || one.access == STORE) continue;
    for (u32 at = one.address / 4; at <= (one.address + one.size - 1) / 4 && !t.origin; at++) {
      u32 origin = t.lds->origins[at];
      t.origin = origin == kUnwritten ? t.pc + 1 : origin;
    }
  }
}

void set_origins(const Wave& w, const Op& o) {
  Twin& t = *w.twin;
  for (const Dst& destination : o.d) {
    for (int i = 0; i < destination.count; i++) {
      int number = destination.index + i;
      if (destination.kind == OPERAND_VECTOR && number < kVectorRegisters) {
        if (t.origin || w.wmask == w.all) t.vector_origins[number] = t.origin;
      } else if (destination.kind == OPERAND_SCALAR && number < kScalarRegisters) {
        t.scalar_origins[number] = t.origin;
      }
    }
  }
  if (!o.is_vector && t.origin) t.scc_origin = t.origin;
  for (int i = 0; i < t.of_wave.count; i++) {
    const Attempt& one = t.of_wave.attempts[i];
    if (one.space != MEMORY_OF_WORKGROUP || one.access == LOAD) continue;
    for (u32 at = one.address / 4; at <= (one.address + one.size - 1) / 4; at++)
      t.lds->origins[at] = t.origin;
  }
}

Finding finding_of(const Wave& w, FindingKind kind, const Attempt* attempt, u32 origin) {
  Site first = {};
  if (origin) {
    first = site_of(w, LOAD);
    first.address = w.E->ops[origin - 1].address;
  }
  const Attempt none = {};
  const Attempt& at = attempt ? *attempt : none;
  return make_finding(w, kind, max(at.lane, 0), at.address, at.size, origin ? &first : nullptr);
}

void add(Wave& w, const Finding& finding) { add_finding(*w.E->checker, finding); }

// Returns the first access that the twin makes differently, or null.
const Attempt* other_access(const Accesses& a, const Accesses& b) {
  for (int i = 0; i < a.count; i++) {
    const Attempt &one = a.attempts[i], &two = b.attempts[i];
    if (i >= b.count || one.lane != two.lane || one.address != two.address) return &one;
  }
  return nullptr;
}

// Copies the wave's state, because the twin's control flow or addresses diverged.
void follow(Twin& t, const Wave& w, const Op& o) {
  for (const Dst& destination : o.d)
    for (int i = 0; i < destination.count; i++) {
      int number = destination.index + i;
      if (destination.kind == OPERAND_VECTOR && number < kVectorRegisters)
        memcpy(t.wave.v[number], w.v[number], sizeof w.v[number]);
      if (destination.kind == OPERAND_SCALAR && number < kScalarRegisters)
        t.wave.s[number] = w.s[number];
    }
  const Src& address = o.s[0];
  for (int i = 0; address.kind == OPERAND_VECTOR && i < address.count; i++)
    memcpy(t.wave.v[address.index + i], w.v[address.index + i], sizeof w.v[0]);
  for (int i = 0; o.scalar_base >= 0 && i < 4; i++)
    t.wave.s[o.scalar_base + i] = w.s[o.scalar_base + i];
  if (o.s[2].kind == OPERAND_SCALAR) t.wave.s[o.s[2].index] = w.s[o.s[2].index];
  t.wave.s[kM0] = w.s[kM0];
  memcpy(t.wave.wg->lds, w.wg->lds, w.wg->lds_bytes);
}

bool stored_again(const Accesses& accesses, int number) {
  const Attempt& one = accesses.attempts[number];
  for (int i = 0; i < accesses.count; i++) {
    const Attempt& other = accesses.attempts[i];
    if (i != number && other.space == MEMORY_GLOBAL && other.address < one.address + one.size &&
        one.address < other.address + other.size)
      return true;
  }
  return false;
}

// Adds the finding that an uninitialised value turned a lane on or off.
void report_chosen(Wave& w, int lane) {
  Twin& t = *w.twin;
  t.on_lanes = t.off_lanes = 0;
  t.chosen.lane = lane;
  add(w, t.chosen);
}

// Compares the stores of both to global memory.
void check_stores(Wave& w) {
  Twin& t = *w.twin;
  for (int i = 0; i < t.own.count; i++) {
    const Attempt& one = t.own.attempts[i];
    if (one.space != MEMORY_GLOBAL || one.access == LOAD) continue;
    if (t.off_lanes || (one.lane >= 0 && (t.on_lanes >> one.lane & 1)))
      return report_chosen(w, t.off_lanes ? __builtin_ctzll(t.off_lanes) : one.lane);
    if (!memcmp(t.own.bytes[i], (const void*)one.address, one.size)) continue;
    if (stored_again(t.own, i)) continue;
    return add(w, finding_of(w, FINDING_UNINITIALISED_STORE, &one, t.origin));
  }
}

// The twin takes the results of atomics from the wave, because the twin has not changed the memory.
void copy_returned(Wave& w, const Op& o) {
  Twin& t = *w.twin;
  bool is_atomic = t.own.count && t.own.attempts[0].space == MEMORY_GLOBAL &&
                   t.own.attempts[0].access == ATOMIC;
  if (!is_atomic || o.d[0].kind != OPERAND_VECTOR) return;
  for (int i = 0; i < o.d[0].count; i++)
    ACTIVE
      t.wave.v[o.d[0].index + i][l] = w.v[o.d[0].index + i][l];
}

bool writes_exec(const Op& o) {
  for (const Dst& destination : o.d)
    if (destination.kind == OPERAND_SCALAR && destination.index <= kExec &&
        kExec < destination.index + destination.count)
      return true;
  return false;
}

// Branches, and the EXEC mask. Lanes that an uninitialised value turns on matter if they store
// something before EXEC is set again; those that it turns off, while they are off when others
// store something or when the wave ends.
void check_control(Wave& w, const Op& o, int next) {
  Twin& t = *w.twin;
  Wave& twin = t.wave;
  u64 lanes = twin.exec() ^ w.exec();
  bool is_elsewhere = twin.pc != next || twin.state != w.state;
  t.off_lanes &= ~w.exec();
  if (writes_exec(o)) t.on_lanes = 0;
  if (!lanes && !is_elsewhere) {
    if (w.state == WAVE_ENDED && t.off_lanes) report_chosen(w, __builtin_ctzll(t.off_lanes));
    return;
  }
  Finding finding =
      finding_of(w, FINDING_UNINITIALISED_CONTROL, nullptr, t.origin ? t.origin : t.state_origin);
  if (is_elsewhere) {
    add(w, finding);
  } else {
    if (!t.off_lanes) t.chosen = finding;
    t.on_lanes |= lanes & w.exec();
    t.off_lanes |= lanes & ~w.exec();
  }
  twin.pc = next;
  twin.state = w.state;
  twin.exec() = w.exec();
  twin.scc = w.scc;
}

}  // namespace

void open_lds(TwinLds& lds, u32 bytes, u64 seed) {
  lds.group = {0, 0, (u8*)malloc(bytes + 1), bytes};
  lds.seed = seed;
  lds.origins = (u32*)malloc(bytes + 16);
}

void close_lds(TwinLds& lds) {
  free(lds.group.lds);
  free(lds.origins);
}

void start_lds(TwinLds& lds, const Workgroup& group) {
  lds.group.number = group.number;
  u64 seed = lds.seed;
  for (u32 i = 0; i < group.lds_bytes; i++) lds.group.lds[i] = (u8)next(seed);
  memset(lds.origins, 0xff, group.lds_bytes + 16);
}

void add_twin(Wave& w, TwinLds& lds, u32 scratch_bytes, u64 seed) {
  Twin* twin = w.twin = (Twin*)aligned_alloc(alignof(Twin), sizeof(Twin));
  memset(twin, 0, sizeof *twin);
  twin->machine = *w.E;
  twin->machine.checker = nullptr;
  twin->lds = &lds;
  twin->seed = seed;
  twin->wave.E = &twin->machine;
  twin->wave.wg = &lds.group;
  twin->wave.accesses = &twin->own;
  twin->wave.is_twin = true;
  twin->wave.scratch = (u8*)malloc((size_t)scratch_bytes * kLanes + 1);
  w.accesses = &twin->of_wave;
}

void free_twin(Twin* twin) {
  if (!twin) return;
  free(twin->wave.scratch);
  free(twin);
}

void start_twin(Wave& w) {
  Twin& t = *w.twin;
  Wave& twin = t.wave;
  for (int i = 0; i < w.E->vector_registers; i++)
    for (u32& value : t.vector_garbage[i]) value = garbage(t.seed);
  for (u32& value : t.scalar_garbage) value = garbage(t.seed);
  memcpy(twin.v, t.vector_garbage, sizeof twin.v);
  memcpy(twin.s, t.scalar_garbage, sizeof twin.s);
  twin.nl = w.nl;
  twin.scc = w.scc;
  twin.pc = w.pc;
  twin.mode = w.mode;
  twin.state = w.state;
  twin.number = w.number;
  twin.indexed = w.indexed;
  twin.last_region = w.last_region;
  twin.scratch_lane = w.scratch_lane;
  for (size_t i = 0; i < (size_t)w.scratch_lane * kLanes; i++) twin.scratch[i] = (u8)next(t.seed);
  memset(t.vector_origins, 0, sizeof t.vector_origins);
  memset(t.scalar_origins, 0, sizeof t.scalar_origins);
  t.scc_origin = 0;
  t.on_lanes = t.off_lanes = 0;
}

void begin_step(Wave& w) {
  Twin& t = *w.twin;
  t.own.count = t.of_wave.count = 0;
  t.pc = w.pc;
  t.wave.instructions = w.instructions;
  t.wave.state = w.state;  // another wave may have released this one from a barrier
  w.wmask = w.exec();
  t.origin = origin_of_instruction(w);
  t.state_origin = origin_of_state(w);
  if (!t.origin && !w.E->ops[w.pc].is_vector && w.scc != t.wave.scc) t.origin = t.scc_origin;
}

void end_step(Wave& w) {
  Twin& t = *w.twin;
  const Op& o = w.E->ops[t.pc];
  const Attempt none = {}, *astray = other_access(t.of_wave, t.own);
  if (w.state == WAVE_FAULTED) {
    size_t length = strlen(w.fault);
    if (astray)
      snprintf(w.fault + length, sizeof w.fault - length,
               "; the address depends on an uninitialised value");
    return;
  }
  if (!astray && (t.wave.state == WAVE_FAULTED || t.own.count != t.of_wave.count)) astray = &none;
  int after = w.pc;
  w.pc = t.pc + 1;  // findings refer to this instruction
  if (astray) {
    add(w, finding_of(w, FINDING_UNINITIALISED_ADDRESS, astray, t.origin));
    follow(t, w, o);
    t.wave.state = w.state;
    t.wave.pc = after;
  } else {
    check_stores(w);
    copy_returned(w, o);
  }
  find_origin_in_lds(t);
  set_origins(w, o);
  check_control(w, o, after);
  w.pc = after;
}

void note_access(Wave& w, const Attempt& attempt) {
  Accesses& accesses = *w.accesses;
  if (accesses.count < kMostAttempts) accesses.attempts[accesses.count++] = attempt;
}

u8* twin_place(Wave& w, const Region& region, u64 address, u32 size, Access access) {
  Twin& t = *(Twin*)&w;
  u8* place = t.own.bytes[t.own.count - 1];
  const u8* defined = region.defined ? region.defined + (address - region.low) : nullptr;
  bool undefined = access == LOAD && defined && memchr(defined, 0, size);
  if (access == LOAD && !undefined) return (u8*)address;
  memcpy(place, (const void*)address, size);
  for (u32 i = 0; i < size && undefined; i++)
    if (!defined[i]) place[i] = (u8)next(t.seed);
  if (undefined) t.origin = t.pc + 1;
  return place;
}
