// The state of a machine, and how operations read and write registers.
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef __int128 i128;
typedef unsigned __int128 u128;

#define NOINLINE __attribute__((noinline))

constexpr int kLanes = 64;  // of a register; wave32 uses the first half
constexpr int kVectorRegisters = 512;
constexpr int kScalarRegisters = 160;
// Numbers of special scalar registers, as the decoder writes them.
constexpr int kVcc = 106, kTrap = 108, kExec = 126, kM0 = 130;
constexpr int kFaultBytes = 512;

typedef Source Src;
typedef Destination Dst;
typedef Instruction Op;

template <class T>
static inline T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
static inline T max(T a, T b) {
  return a < b ? b : a;
}

template <class T>
static inline void swap(T& a, T& b) {
  T c = a;
  a = b;
  b = c;
}

enum Access { LOAD, STORE, ATOMIC };

enum WaveState { WAVE_RUNS = 0, WAVE_AT_BARRIER = 1, WAVE_ENDED = 2, WAVE_FAULTED = 3 };

struct Wave;
typedef void (*Function)(Wave&, const Op&);

// An entry of a table of operations. `destinations` and `sources` have one letter per operand:
// w 32 bits, s 16 bits, q 64 bits, f/h/d floats of 32/16/64 bits, m a mask of lanes, P/p packed
// halves, F packed floats, x either float or half by op_sel_hi, i a 16-bit immediate, * registers
// of matrices. Destination "@" stands for a special form, which the sources name. An entry without
// a function is an alias of the operation named in `destinations`.
struct Operation {
  const char *name, *destinations, *sources;
  Function run;
};
struct Table {
  const Operation* operations;
  int count;
};
// The functions in tables; an alias of an operation.
#define ALIAS(alias, name) {alias, name, nullptr, nullptr}
#define TABLE(name, operations) \
  extern const Table name = {operations, sizeof(operations) / sizeof(Operation)}

struct Accesses;
struct Checker;
struct Trace;
struct Twin;

struct Workgroup {
  u32 number, epoch;  // epoch: number of barriers so far
  u8* lds;
  u32 lds_bytes;
};

struct Machine {
  Op* ops;
  Function* functions;
  int count;
  const Region* regions;
  int region_count;
  u64 image;
  int architecture;
  bool ocp;  // 8-bit floats as the Open Compute Project defines them; gfx942 has its own
  int vector_registers;  // maximum that the kernel uses
  Checker* checker;      // null in launches that are not checked
  Trace* trace;          // null in launches that are not traced
  u64 partly_out_of_bounds, loads_out_of_bounds, stores_out_of_bounds;
};

static inline void count(u64& counter, u64 by = 1) {
  __atomic_fetch_add(&counter, by, __ATOMIC_RELAXED);
}

struct alignas(64) Wave {
  u32 v[kVectorRegisters][kLanes];
  alignas(8) u32 s[kScalarRegisters];
  u32 scc;
  u64 wmask;   // lanes that the current instruction writes
  int nl;      // lanes of the wave
  int number;  // index in its workgroup
  u64 all;     // lanes that are on at the start
  u32 mode;    // the MODE register
  int pc, state;
  Machine* E;
  Workgroup* wg;
  u32 shuffled[kLanes];  // the operand that DPP moved
  u8* scratch;
  u32 scratch_lane;  // bytes of scratch per lane
  u64 instructions, bytes_loaded, bytes_stored;
  Twin* twin;          // null in waves that are not checked for uninitialised values, and in twins
  Accesses* accesses;  // where accesses to memory are recorded, or null
  bool is_twin;
  int indexed;      // set by s_set_gpr_idx_on
  int last_region;  // region of the last access
  u8 sink[64];      // replaces memory that must not be accessed
  char fault[kFaultBytes];

  u64& exec() { return *reinterpret_cast<u64*>(&s[kExec]); }
  u64& vcc() { return *reinterpret_cast<u64*>(&s[kVcc]); }
  bool ftz() const { return ((mode >> 4) & 3) != 3; }  // flushes denormals of 32 bits
};

// Stops the wave after the current instruction. The first fault of a wave counts.
NOINLINE __attribute__((unused)) static void fail(Wave& w, const char* what) {
  if (w.state == WAVE_FAULTED) return;
  w.state = WAVE_FAULTED;
  snprintf(w.fault, sizeof w.fault, "%s", what);
}

#define L64 for (int l = 0; l < kLanes; l++)
#define ACTIVE                   \
  for (int l = 0; l < w.nl; l++) \
    if (w.wmask >> l & 1)
static const u64 MASK32 = 0xffffffff;
NOINLINE __attribute__((unused)) static u32 scal32(Wave& w, const Src& s) {
  switch (s.kind) {
    case OPERAND_SCALAR:
      return w.s[s.index];
    case OPERAND_CONSTANT:
      return s.low;
    case OPERAND_SCC:
      return w.scc;
    case OPERAND_VCCZ:
      return w.vcc() == 0;
    case OPERAND_EXECZ:
      return w.exec() == 0;
  }
  fail(w, "an operand is no scalar");
  return 0;
}
NOINLINE __attribute__((unused)) static u64 scal64(Wave& w, const Src& s) {
  if (s.kind == OPERAND_SCALAR) return w.s[s.index] | (u64)w.s[s.index + 1] << 32;
  if (s.kind == OPERAND_CONSTANT) return s.low | (u64)s.high << 32;
  if (s.kind == OPERAND_SCC) return w.scc;
  fail(w, "an operand is no pair of scalars");
  return 0;
}
static inline u32 dosel(u32 x, int sel, int sext) {
  switch (sel) {
    case PART_WORD0:
      return sext ? (u32)(i32)(i16)x : (x & 0xffff);
    case PART_WORD1:
      return sext ? (u32)((i32)x >> 16) : x >> 16;
    case PART_BYTE0:
      x &= 0xff;
      break;
    case PART_BYTE1:
      x = (x >> 8) & 0xff;
      break;
    case PART_BYTE2:
      x = (x >> 16) & 0xff;
      break;
    case PART_BYTE3:
      x >>= 24;
      break;
    default:
      return x;
  }
  return sext ? (u32)(i32)(i8)x : x;
}
template <int W>
NOINLINE static const u32* src(Wave& w, const Src& s, u32* t) {  // W: modifier width 32 or 16
  const u32* p;
  if (s.kind == OPERAND_VECTOR)
    p = w.v[s.index];
  else if (s.kind == OPERAND_SHUFFLED)
    p = w.shuffled;
  else {
    u32 c = scal32(w, s);
    L64
      t[l] = c;
    p = t;
  }
  if (!(s.part | s.negate | s.absolute)) return p;
  if (s.part) {
    if (s.part == PART_WORD1 && !s.sign_extend)
      L64
        t[l] = p[l] >> 16;
    else
      L64
        t[l] = dosel(p[l], s.part, s.sign_extend);
    p = t;
  }
  if (s.absolute) {
    L64
      t[l] = p[l] & (W == 32 ? 0x7fffffffu : 0xffff7fffu);
    p = t;
  }
  if (s.negate) {
    L64
      t[l] = p[l] ^ (W == 32 ? 0x80000000u : 0x8000u);
    p = t;
  }
  return p;
}
NOINLINE __attribute__((unused)) static void src64(Wave& w, const Src& s, u64* t) {
  if (s.kind == OPERAND_VECTOR) {
    u32 *a = w.v[s.index], *b = w.v[s.index + 1];
    L64
      t[l] = a[l] | (u64)b[l] << 32;
  } else {
    u64 c = scal64(w, s);
    L64
      t[l] = c;
  }
  if (s.absolute)
    L64
      t[l] &= ~(1ull << 63);
  if (s.negate)
    L64
      t[l] ^= 1ull << 63;
}
NOINLINE __attribute__((unused)) static u64 smask(Wave& w, const Src& s) {
  if (s.kind == OPERAND_CONSTANT) return s.low | (u64)s.high << 32;
  return w.nl == 64 ? scal64(w, s) : (u64)scal32(w, s);
}
NOINLINE __attribute__((unused)) static void setmask(Wave& w, const Dst& d, u64 m) {
  if (d.kind == OPERAND_NONE) return;
  w.s[d.index] = (u32)m;
  if (w.nl == 64) w.s[d.index + 1] = m >> 32;
}
NOINLINE __attribute__((unused)) static void wr(Wave& w, const Dst& d, const u32* r) {
  u32* o = w.v[d.index];
  u64 m = w.wmask;
  if (d.part == PART_ALL) {
    if (m == ~0ull) {
      if (o != r) memcpy(o, r, 256);
    } else
      L64
        o[l] = (m >> l & 1) ? r[l] : o[l];
    return;
  }
  int sh = d.part == PART_WORD0 ? 0 : d.part == PART_WORD1 ? 16 : (d.part - PART_BYTE0) * 8;
  u32 wd = d.part <= PART_WORD1 ? 16 : 8;
  u32 mk = ((wd == 16 ? 0xffffu : 0xffu)) << sh;
  L64
    if (m >> l & 1) {
      u32 x = (r[l] << sh) & mk;
      if (d.unused == 2)
        x |= o[l] & ~mk;
      else if (d.unused == 1) {
        u32 lowm = (1u << sh) - 1;
        u32 up = (x >> (sh + wd - 1) & 1) ? ~(lowm | mk) : 0;
        x |= up;
      }
      o[l] = x;
    }
}
NOINLINE __attribute__((unused)) static void wr64(Wave& w, const Dst& d, const u64* r) {
  u32 *a = w.v[d.index], *b = w.v[d.index + 1];
  u64 m = w.wmask;
  L64
    if (m >> l & 1) {
      a[l] = (u32)r[l];
      b[l] = r[l] >> 32;
    }
}
static inline void sw32(Wave& w, const Dst& d, u32 x) { w.s[d.index] = x; }
static inline void sw64(Wave& w, const Dst& d, u64 x) {
  w.s[d.index] = x;
  w.s[d.index + 1] = x >> 32;
}
static inline u64 em(Wave& w, u64 x) { return w.nl == 64 ? x : x & MASK32; }
