// Loads, stores and atomics on global memory, LDS and scratch.
//
// Sources of a memory instruction: s[0] vector address, s[1] data to store, s[2] scalar offset,
// s[3] second data; `scalar_base` is the first register of the base address or buffer resource.
#include <pthread.h>

#include "checker.h"
#include "floats.h"
#include "machine.h"
#include "trace.h"
#include "twin.h"

namespace {

// The upper halves of generic addresses of LDS and scratch, as Linux's driver sets them. No global
// address has them: global memory is this process's own, below 2^47.
constexpr u32 kSharedAperture = 0x10000, kPrivateAperture = 0x20000;

NOINLINE u8* refuse(Wave& w, const char* what, int lane, u64 address, u32 size) {
  char text[kFaultBytes];
  snprintf(text, sizeof text, "%s: lane %d, address 0x%llx, %u bytes", what, lane,
           (unsigned long long)address, size);
  fail(w, text);
  return w.sink;
}

// The cells of global memory. Regions of pointers into one allocation overlap; the cells are those
// of the region that begins first.
Cell* cells_at(const Machine& machine, u64 address, u32 size) {
  int found = -1;
  for (int i = 0; i < machine.region_count; i++) {
    const Region& region = machine.regions[i];
    bool within = address >= region.low && address + size <= region.high;
    if (within && (found < 0 || region.low < machine.regions[found].low)) found = i;
  }
  const Region& region = machine.regions[found];
  Cell*& cells = machine.checker->regions[found];
  if (!cells) cells = new_cells(region);
  return cells + (address - region.low);
}

NOINLINE u8* global_at(Wave& w, int lane, u64 address, u32 size, Access access) {
  (access == LOAD ? w.bytes_loaded : w.bytes_stored) += size;
  const Machine& machine = *w.E;
  bool writes = access != LOAD, readonly = false;
  if (w.accesses) note_access(w, {MEMORY_GLOBAL, access, lane, size, address});
  // Most accesses fall into the same region as the preceding one.
  for (int i = -1; i < machine.region_count; i++) {
    int number = i < 0 ? w.last_region : i;
    const Region& region = machine.regions[number];
    if (address < region.low || address + size > region.high) continue;
    if (writes && !region.writable) {
      readonly = true;
      continue;
    }
    w.last_region = number;
    if (machine.trace && lane >= 0) add_access(*machine.trace, lane, address, size, writes, false);
    if (machine.checker && lane >= 0) {
      observe(w, cells_at(machine, address, size), lane, (u8*)address, address, size, access,
              false);
    }
    if (w.is_twin) return twin_place(w, region, address, size, access);
    if (writes && region.defined) memset(region.defined + (address - region.low), 1, size);
    return (u8*)address;
  }
  return refuse(w,
                readonly ? "store to memory that is only read"
                : writes ? "store out of bounds"
                         : "load out of bounds",
                lane, address, size);
}

u8* lds_at(Wave& w, int lane, u32 address, u32 size, Access access) {
  if (w.accesses) note_access(w, {MEMORY_OF_WORKGROUP, access, lane, size, address});
  if ((u64)address + size > w.wg->lds_bytes)
    return refuse(w, access == LOAD ? "LDS load out of bounds" : "LDS store out of bounds", lane,
                  address, size);
  if (w.E->trace) add_access(*w.E->trace, lane, address, size, access != LOAD, true);
  if (w.E->checker)
    observe(w, w.E->checker->lds + address, lane, w.wg->lds + address, address, size, access, true);
  return w.wg->lds + address;
}

u8* scratch_at(Wave& w, int lane, u64 address, u32 size, Access access) {
  if (w.accesses) note_access(w, {MEMORY_OF_LANE, access, lane, size, address});
  if (address + size > w.scratch_lane)
    return refuse(w, access == LOAD ? "scratch load out of bounds" : "scratch store out of bounds",
                  lane, address, size);
  return w.scratch + (size_t)lane * w.scratch_lane + address;
}

u8* flat_at(Wave& w, int lane, u64 address, u32 size, Access access) {
  u32 aperture = address >> 32;
  if (aperture == kSharedAperture) return lds_at(w, lane, (u32)address, size, access);
  if (aperture == kPrivateAperture) return scratch_at(w, lane, (u32)address, size, access);
  return global_at(w, lane, address, size, access);
}

struct BufferResource {
  u64 base;
  u32 bytes;
};

// Reads the raw buffers that LLVM makes from `make.buffer.rsrc`; refuses structured ones.
BufferResource buffer_resource(Wave& w, const Op& o) {
  const u32* s = &w.s[o.scalar_base];
  BufferResource buffer = {s[0] | (u64)(s[1] & 0xffff) << 32, s[2]};
  u32 stride = s[1] >> 16 & 0x3fff, word3 = s[3];
  bool swizzled = s[1] >> 31, cache_swizzle = s[1] >> 30 & 1, rdna = w.E->architecture >= 1000;
  bool known = rdna ? (word3 & ~0x30000000u) == 0x01027000u : word3 == 0x27000;
  if (swizzled || (stride && !cache_swizzle) || (cache_swizzle && rdna) || !known) {
    char text[kFaultBytes];
    snprintf(text, sizeof text, "unsupported buffer resource 0x%08x 0x%08x 0x%08x 0x%08x", s[0],
             s[1], s[2], s[3]);
    fail(w, text);
    return {0, 0};
  }
  if (rdna) {
    u32 select = word3 >> 28 & 3;  // OOB_SELECT
    if (select == 2)
      buffer.bytes = buffer.bytes ? ~0u : 0;
    else if (select != 3)
      fail(w, "unsupported OOB_SELECT of a buffer resource");
  }
  return buffer;
}

u32 buffer_offset(Wave& w, const Op& o, int l) {
  return o.offset0 + (o.memory_flags & MEMORY_OFFEN ? w.v[o.s[0].index][l] : 0);
}

// Writes loaded bytes to registers. HALF: 0 a whole register, 1 its lower half, 2 its upper half.
template <int BYTES, int SIGNED, int HALF>
void put(Wave& w, int number, int l, const u8* from) {
  if (BYTES >= 4) {
    for (int i = 0; i < BYTES / 4; i++) memcpy(&w.v[number + i][l], from + 4 * i, 4);
    return;
  }
  u16 bits = 0;
  memcpy(&bits, from, BYTES < 4 ? BYTES : 2);
  u32 value = !SIGNED ? bits : BYTES == 1 ? (u32)(i32)(i8)bits : (u32)(i32)(i16)bits;
  u32& target = w.v[number][l];
  target = HALF == 1   ? (target & 0xffff0000) | (value & 0xffff)
           : HALF == 2 ? (target & 0xffff) | value << 16
                       : value;
}

template <int BYTES, int HALF>
void get(Wave& w, int number, int l, u8* to) {
  if (BYTES >= 4) {
    for (int i = 0; i < BYTES / 4; i++) memcpy(to + 4 * i, &w.v[number + i][l], 4);
    return;
  }
  u32 value = w.v[number][l] >> (HALF == 2 ? 16 : 0);
  memcpy(to, &value, BYTES < 4 ? BYTES : 4);
}

// Returns where a load with the `lds` modifier stores a lane's bytes: at M0, plus the lane's index
// times the element size, at least 4 bytes.
template <int BYTES, int SIGNED>
void put_in_lds(Wave& w, const Op& o, int l, const u8* from) {
  constexpr int kStep = BYTES < 4 ? 4 : BYTES;
  u8* to = lds_at(w, l, (w.s[kM0] & 0xffffff) + o.offset0 + l * kStep, kStep, STORE);
  if (BYTES >= 4) {
    memcpy(to, from, BYTES);
    return;
  }
  u16 bits = 0;
  memcpy(&bits, from, BYTES < 4 ? BYTES : 2);
  u32 value = !SIGNED ? bits : BYTES == 1 ? (u32)(i32)(i8)bits : (u32)(i32)(i16)bits;
  memcpy(to, &value, 4);
}

// A raw buffer checks each dword separately: loads beyond its range return zero, and stores beyond
// it are dropped.
template <int BYTES, int SIGNED, int HALF>
void buffer_load(Wave& w, const Op& o) {
  BufferResource buffer = buffer_resource(w, o);
  u32 scalar = scal32(w, o.s[2]);
  if (o.memory_flags & MEMORY_IDXEN) return fail(w, "unsupported buffer access by index");
  ACTIVE {
    u64 offset = buffer_offset(w, o, l);
    constexpr u32 kPart = BYTES >= 4 ? 4 : BYTES;
    u8 data[16];
    int outside = 0;
    for (u32 part = 0; part < BYTES; part += kPart) {
      u64 place = offset + part + scalar;
      if (place + kPart > buffer.bytes) {
        memset(data + part, 0, kPart);
        outside++;
      } else {
        memcpy(data + part, global_at(w, l, buffer.base + place, kPart, LOAD), kPart);
      }
    }
    if (outside) count(w.E->loads_out_of_bounds);
    if (outside && outside * kPart < BYTES) count(w.E->partly_out_of_bounds);
    if (o.memory_flags & MEMORY_LDS)
      put_in_lds<BYTES, SIGNED>(w, o, l, data);
    else
      put<BYTES, SIGNED, HALF>(w, o.d[0].index, l, data);
  }
}

template <int BYTES, int HALF>
void buffer_store(Wave& w, const Op& o) {
  BufferResource buffer = buffer_resource(w, o);
  u32 scalar = scal32(w, o.s[2]);
  if (o.memory_flags & MEMORY_IDXEN) return fail(w, "unsupported buffer access by index");
  ACTIVE {
    u64 offset = buffer_offset(w, o, l);
    constexpr u32 kPart = BYTES >= 4 ? 4 : BYTES;
    u8 data[16];
    get<BYTES, HALF>(w, o.s[1].index, l, data);
    int outside = 0;
    for (u32 part = 0; part < BYTES; part += kPart) {
      u64 place = offset + part + scalar;
      if (place + kPart > buffer.bytes)
        outside++;
      else
        memcpy(global_at(w, l, buffer.base + place, kPart, STORE), data + part, kPart);
    }
    if (outside) count(w.E->stores_out_of_bounds);
    if (outside && outside * kPart < BYTES) count(w.E->partly_out_of_bounds);
  }
}

u64 global_address(Wave& w, const Op& o, int l) {
  u64 address = (i64)o.offset0;
  const Src& vector = o.s[0];
  if (o.scalar_base < 0)
    return address + (w.v[vector.index][l] | (u64)w.v[vector.index + 1][l] << 32);
  address += w.s[o.scalar_base] | (u64)w.s[o.scalar_base + 1] << 32;
  return address + (vector.kind == OPERAND_VECTOR ? w.v[vector.index][l] : 0);
}

template <int BYTES, int SIGNED, int HALF>
void global_load(Wave& w, const Op& o) {
  ACTIVE {
    u8* from = flat_at(w, l, global_address(w, o, l), BYTES, LOAD);
    if (o.memory_flags & MEMORY_LDS)
      put_in_lds<BYTES, SIGNED>(w, o, l, from);
    else
      put<BYTES, SIGNED, HALF>(w, o.d[0].index, l, from);
  }
}

template <int BYTES, int HALF>
void global_store(Wave& w, const Op& o) {
  ACTIVE
    get<BYTES, HALF>(w, o.s[1].index, l, flat_at(w, l, global_address(w, o, l), BYTES, STORE));
}

u32 scratch_address(Wave& w, const Op& o, int l) {
  u32 address = o.offset0;
  if (o.scalar_base >= 0) address += w.s[o.scalar_base];
  if (o.s[0].kind == OPERAND_VECTOR) address += w.v[o.s[0].index][l];
  return address;
}

template <int BYTES, int SIGNED, int HALF>
void scratch_load(Wave& w, const Op& o) {
  ACTIVE
    put<BYTES, SIGNED, HALF>(w, o.d[0].index, l,
                             scratch_at(w, l, scratch_address(w, o, l), BYTES, LOAD));
}

template <int BYTES, int HALF>
void scratch_store(Wave& w, const Op& o) {
  ACTIVE
    get<BYTES, HALF>(w, o.s[1].index, l, scratch_at(w, l, scratch_address(w, o, l), BYTES, STORE));
}

u32 lds_address(Wave& w, const Op& o, int l) { return w.v[o.s[0].index][l] + o.offset0; }

template <int BYTES, int SIGNED, int HALF>
void lds_load(Wave& w, const Op& o) {
  ACTIVE
    put<BYTES, SIGNED, HALF>(w, o.d[0].index, l, lds_at(w, l, lds_address(w, o, l), BYTES, LOAD));
}

template <int BYTES, int HALF>
void lds_store(Wave& w, const Op& o) {
  ACTIVE
    get<BYTES, HALF>(w, o.s[1].index, l, lds_at(w, l, lds_address(w, o, l), BYTES, STORE));
}

// Two elements; offsets count STRIDE elements.
template <int BYTES, int STRIDE>
void lds_load2(Wave& w, const Op& o) {
  u32 base[kLanes];
  memcpy(base, w.v[o.s[0].index], sizeof base);
  ACTIVE {
    u32 first = base[l] + o.offset0 * BYTES * STRIDE, second = base[l] + o.offset1 * BYTES * STRIDE;
    put<BYTES, 0, 0>(w, o.d[0].index, l, lds_at(w, l, first, BYTES, LOAD));
    put<BYTES, 0, 0>(w, o.d[0].index + BYTES / 4, l, lds_at(w, l, second, BYTES, LOAD));
  }
}

template <int BYTES, int STRIDE>
void lds_store2(Wave& w, const Op& o) {
  ACTIVE {
    u32 base = w.v[o.s[0].index][l];
    u32 first = base + o.offset0 * BYTES * STRIDE, second = base + o.offset1 * BYTES * STRIDE;
    get<BYTES, 0>(w, o.s[1].index, l, lds_at(w, l, first, BYTES, STORE));
    get<BYTES, 0>(w, o.s[3].index, l, lds_at(w, l, second, BYTES, STORE));
  }
}

// gfx950: 16 lanes load 64 bits each. These form the rows of a matrix with elements of BITS bits,
// and each lane gets its column.
template <int BITS>
void lds_load_transposed(Wave& w, const Op& o) {
  constexpr int kElements = 64 / BITS;
  constexpr u64 kMask = (1ull << BITS) - 1;
  if (w.exec() != ~0ull) return fail(w, "transposing load while some lanes are off");
  u64 rows[kLanes];
  L64
    memcpy(&rows[l], lds_at(w, l, lds_address(w, o, l), 8, LOAD), 8);
  L64 {
    int group = l & ~15, column = l & 15;
    u64 result = 0;
    for (int k = 0; k < kElements; k++) {
      int position = 16 * k + column;
      u64 row = rows[group + position / kElements];
      result |= (row >> BITS * (position % kElements) & kMask) << BITS * k;
    }
    w.v[o.d[0].index][l] = (u32)result;
    w.v[o.d[0].index + 1][l] = result >> 32;
  }
}

enum AtomicKind {
  AT_ADD,
  AT_SUB,
  AT_SMIN,
  AT_UMIN,
  AT_SMAX,
  AT_UMAX,
  AT_AND,
  AT_OR,
  AT_XOR,
  AT_SWAP,
  AT_FADD,
  AT_FMIN,
  AT_FMAX,
  AT_CAS,
  AT_PKH,
  AT_PKBF,
  AT_INC,
  AT_DEC,
  AT_CSUB,
  AT_SUBCLAMP,
  AT_RSUB,
};

// The result of an atomic: `m` is the value in memory, `d` the operand, `c` the value that
// compare-and-swap expects.
u32 atomic_result(int kind, u32 m, u32 d, u32 c) {
  switch (kind) {
    case AT_ADD:
      return m + d;
    case AT_SUB:
      return m - d;
    case AT_RSUB:
      return d - m;
    case AT_CSUB:
      return m >= d ? m - d : m;
    case AT_SUBCLAMP:
      return m >= d ? m - d : 0;
    case AT_SMIN:
      return (i32)m < (i32)d ? m : d;
    case AT_UMIN:
      return m < d ? m : d;
    case AT_SMAX:
      return (i32)m > (i32)d ? m : d;
    case AT_UMAX:
      return m > d ? m : d;
    case AT_AND:
      return m & d;
    case AT_OR:
      return m | d;
    case AT_XOR:
      return m ^ d;
    case AT_SWAP:
      return d;
    case AT_FADD:
      return asu(asf(m) + asf(d));
    case AT_FMIN:
      return asu(fminq(asf(m), asf(d)));
    case AT_FMAX:
      return asu(fmaxq(asf(m), asf(d)));
    case AT_CAS:
      return m == c ? d : m;
    case AT_INC:
      return m >= d ? 0 : m + 1;
    case AT_DEC:
      return m == 0 || m > d ? d : m - 1;
    case AT_PKH:
      return f2h(h2f(m & 0xffff) + h2f(d & 0xffff)) | f2h(h2f(m >> 16) + h2f(d >> 16)) << 16;
    case AT_PKBF:
      return f2bf(bf2f(m & 0xffff) + bf2f(d & 0xffff)) | f2bf(bf2f(m >> 16) + bf2f(d >> 16)) << 16;
  }
  return m;
}
u64 atomic_result(int kind, u64 m, u64 d, u64 c) {
  switch (kind) {
    case AT_ADD:
      return m + d;
    case AT_SUB:
      return m - d;
    case AT_RSUB:
      return d - m;
    case AT_SMIN:
      return (i64)m < (i64)d ? m : d;
    case AT_UMIN:
      return m < d ? m : d;
    case AT_SMAX:
      return (i64)m > (i64)d ? m : d;
    case AT_UMAX:
      return m > d ? m : d;
    case AT_AND:
      return m & d;
    case AT_OR:
      return m | d;
    case AT_XOR:
      return m ^ d;
    case AT_SWAP:
      return d;
    case AT_FADD:
      return asq(asd(m) + asd(d));
    case AT_FMIN:
      return asq(dminq(asd(m), asd(d)));
    case AT_FMAX:
      return asq(dmaxq(asd(m), asd(d)));
    case AT_CAS:
      return m == c ? d : m;
    case AT_INC:
      return m >= d ? 0 : m + 1;
    case AT_DEC:
      return m == 0 || m > d ? d : m - 1;
  }
  return m;
}

enum Space { GLOBAL, BUFFER, LDS };

u32 register_value(Wave& w, int number, int l, u32) { return w.v[number][l]; }
u64 register_value(Wave& w, int number, int l, u64) {
  return w.v[number][l] | (u64)w.v[number + 1][l] << 32;
}

// Threads run workgroups of one launch at the same time.
pthread_mutex_t atomic_lock = PTHREAD_MUTEX_INITIALIZER;

template <int KIND, class VALUE, int SPACE>
void atomic(Wave& w, const Op& o) {
  constexpr int kBytes = sizeof(VALUE);
  int data = o.s[1].index;
  if (SPACE != LDS) pthread_mutex_lock(&atomic_lock);
  ACTIVE {
    u8* place;
    if (SPACE == LDS) {
      place = lds_at(w, l, lds_address(w, o, l), kBytes, ATOMIC);
    } else if (SPACE == GLOBAL) {
      place = flat_at(w, l, global_address(w, o, l), kBytes, ATOMIC);
    } else {
      BufferResource buffer = buffer_resource(w, o);
      u64 offset = (u64)buffer_offset(w, o, l) + scal32(w, o.s[2]);
      if (offset + kBytes > buffer.bytes) {
        count(w.E->stores_out_of_bounds);
        continue;
      }
      place = global_at(w, l, buffer.base + offset, kBytes, ATOMIC);
    }
    VALUE operand = register_value(w, data, l, VALUE()), expected = 0, old;
    if (KIND == AT_CAS && SPACE == LDS) {
      // gfx9 and gfx10 have the expected value first, gfx11 the new one.
      VALUE second = register_value(w, o.s[3].index, l, VALUE());
      bool expected_first = w.E->architecture < 1100;
      expected = expected_first ? operand : second;
      operand = expected_first ? second : operand;
    } else if (KIND == AT_CAS) {
      expected = register_value(w, data + kBytes / 4, l, VALUE());
    }
    memcpy(&old, place, kBytes);
    VALUE result = atomic_result(KIND, old, operand, expected);
    memcpy(place, &result, kBytes);
    if (o.d[0].kind == OPERAND_VECTOR)
      for (int i = 0; i < kBytes / 4; i++) w.v[o.d[0].index + i][l] = (u32)((u64)old >> 32 * i);
  }
  if (SPACE != LDS) pthread_mutex_unlock(&atomic_lock);
}

template <int BYTES, int SIGNED, int WORDS>
void scalar_load(Wave& w, const Op& o) {
  u64 address = (w.s[o.scalar_base] | (u64)w.s[o.scalar_base + 1] << 32) + (i64)o.offset0;
  if (o.s[2].kind != OPERAND_NONE) address += scal32(w, o.s[2]);
  if (BYTES < 4) {
    u16 bits = 0;
    memcpy(&bits, global_at(w, -1, address, BYTES, LOAD), BYTES < 4 ? BYTES : 2);
    w.s[o.d[0].index] = !SIGNED ? bits : BYTES == 1 ? (u32)(i32)(i8)bits : (u32)(i32)(i16)bits;
    return;
  }
  address &= ~3ull;
  u32 data[WORDS];
  // The memory that replaces a faulting access is smaller than the widest load, so copy word by
  // word.
  for (int i = 0; i < WORDS; i++) memcpy(&data[i], global_at(w, -1, address + 4 * i, 4, LOAD), 4);
  memcpy(&w.s[o.d[0].index], data, sizeof data);
}

template <int WORDS>
void scalar_buffer_load(Wave& w, const Op& o) {
  BufferResource buffer = buffer_resource(w, o);
  u64 offset = (i64)o.offset0;
  if (o.s[2].kind != OPERAND_NONE) offset += scal32(w, o.s[2]);
  offset &= ~3ull;
  u32 data[WORDS];
  for (int i = 0; i < WORDS; i++) {
    if (offset + 4 * i + 4 <= buffer.bytes) {
      memcpy(&data[i], global_at(w, -1, buffer.base + offset + 4 * i, 4, LOAD), 4);
    } else {
      data[i] = 0;
      count(w.E->loads_out_of_bounds);
    }
  }
  memcpy(&w.s[o.d[0].index], data, sizeof data);
}

// Each macro takes the mnemonics of gfx9 and of gfx11.
#define SCALAR_LOAD(gfx9, gfx11, words)                                \
  {"s_load_" gfx9, "@", "SL", scalar_load<4, 0, words>},               \
      {"s_load_" gfx11, "@", "SL", scalar_load<4, 0, words>},          \
      {"s_buffer_load_" gfx9, "@", "SL", scalar_buffer_load<words>}, { \
    "s_buffer_load_" gfx11, "@", "SL", scalar_buffer_load<words>       \
  }
#define LOAD_FORM(name, bytes, sign, half)                                     \
  {"buffer_load_" name, "@", "BL" #bytes, buffer_load<bytes, sign, half>},     \
      {"global_load_" name, "@", "GL" #bytes, global_load<bytes, sign, half>}, \
      {"flat_load_" name, "@", "GL" #bytes, global_load<bytes, sign, half>}, { \
    "scratch_load_" name, "@", "CL" #bytes, scratch_load<bytes, sign, half>    \
  }
#define LOADS(gfx9, gfx11, bytes, sign, half) \
  LOAD_FORM(gfx9, bytes, sign, half), LOAD_FORM(gfx11, bytes, sign, half)
#define STORE_FORM(name, bytes, half)                                      \
  {"buffer_store_" name, "@", "BS" #bytes, buffer_store<bytes, half>},     \
      {"global_store_" name, "@", "GS" #bytes, global_store<bytes, half>}, \
      {"flat_store_" name, "@", "GS" #bytes, global_store<bytes, half>}, { \
    "scratch_store_" name, "@", "CS" #bytes, scratch_store<bytes, half>    \
  }
#define STORES(gfx9, gfx11, bytes, half) \
  STORE_FORM(gfx9, bytes, half), STORE_FORM(gfx11, bytes, half)
#define LOAD_TO_LDS(name, bytes, sign) \
  {"global_load_lds_" name, "@", "GLL" #bytes, global_load<bytes, sign, 0>}
#define LDS_LOADS(name, bytes, sign, half)                            \
  {"ds_read_" name, "@", "DL" #bytes, lds_load<bytes, sign, half>}, { \
    "ds_load_" name, "@", "DL" #bytes, lds_load<bytes, sign, half>    \
  }
#define LDS_STORES(name, bytes, half)                             \
  {"ds_write_" name, "@", "DS" #bytes, lds_store<bytes, half>}, { \
    "ds_store_" name, "@", "DS" #bytes, lds_store<bytes, half>    \
  }
#define ATOMIC_FORM(name, kind, value, bytes)                                 \
  {"global_atomic_" name, "@", "GA" #bytes, atomic<kind, value, GLOBAL>},     \
      {"flat_atomic_" name, "@", "GA" #bytes, atomic<kind, value, GLOBAL>}, { \
    "buffer_atomic_" name, "@", "BA" #bytes, atomic<kind, value, BUFFER>      \
  }
#define ATOMICS(gfx9, gfx11, kind) ATOMIC_FORM(gfx9, kind, u32, 4), ATOMIC_FORM(gfx11, kind, u32, 4)
#define ATOMICS64(gfx9, gfx11, kind) \
  ATOMIC_FORM(gfx9, kind, u64, 8), ATOMIC_FORM(gfx11, kind, u64, 8)
// `form` is C where two operands are swapped, else empty.
#define LDS_ATOMIC(name, type, kind, value, bytes, form)                      \
  {"ds_" name "_" type, "@", "DA" form #bytes, atomic<kind, value, LDS>}, {   \
    "ds_" name "_rtn_" type, "@", "DAR" form #bytes, atomic<kind, value, LDS> \
  }

// clang-format off
const Operation kOperations[] = {
    SCALAR_LOAD("dword", "b32", 1),
    SCALAR_LOAD("dwordx2", "b64", 2),
    SCALAR_LOAD("dwordx3", "b96", 3),
    SCALAR_LOAD("dwordx4", "b128", 4),
    SCALAR_LOAD("dwordx8", "b256", 8),
    SCALAR_LOAD("dwordx16", "b512", 16),
    {"s_load_u8", "@", "SL", scalar_load<1, 0, 1>},
    {"s_load_i8", "@", "SL", scalar_load<1, 1, 1>},
    {"s_load_u16", "@", "SL", scalar_load<2, 0, 1>},
    {"s_load_i16", "@", "SL", scalar_load<2, 1, 1>},
    LOADS("ubyte", "u8", 1, 0, 0),
    LOADS("sbyte", "i8", 1, 1, 0),
    LOADS("ushort", "u16", 2, 0, 0),
    LOADS("sshort", "i16", 2, 1, 0),
    LOADS("dword", "b32", 4, 0, 0),
    LOADS("dwordx2", "b64", 8, 0, 0),
    LOADS("dwordx3", "b96", 12, 0, 0),
    LOADS("dwordx4", "b128", 16, 0, 0),
    LOADS("ubyte_d16", "d16_u8", 1, 0, 1),
    LOADS("ubyte_d16_hi", "d16_hi_u8", 1, 0, 2),
    LOADS("sbyte_d16", "d16_i8", 1, 1, 1),
    LOADS("sbyte_d16_hi", "d16_hi_i8", 1, 1, 2),
    LOADS("short_d16", "d16_b16", 2, 0, 1),
    LOADS("short_d16_hi", "d16_hi_b16", 2, 0, 2),
    STORES("byte", "b8", 1, 0),
    STORES("short", "b16", 2, 0),
    STORES("dword", "b32", 4, 0),
    STORES("dwordx2", "b64", 8, 0),
    STORES("dwordx3", "b96", 12, 0),
    STORES("dwordx4", "b128", 16, 0),
    STORES("byte_d16_hi", "d16_hi_b8", 1, 2),
    STORES("short_d16_hi", "d16_hi_b16", 2, 2),
    LOAD_TO_LDS("dword", 4, 0),
    LOAD_TO_LDS("ushort", 2, 0),
    LOAD_TO_LDS("sshort", 2, 1),
    LOAD_TO_LDS("ubyte", 1, 0),
    LOAD_TO_LDS("sbyte", 1, 1),
    LOAD_TO_LDS("dwordx3", 12, 0),
    LOAD_TO_LDS("dwordx4", 16, 0),
    LDS_LOADS("b32", 4, 0, 0),
    LDS_LOADS("b64", 8, 0, 0),
    LDS_LOADS("b96", 12, 0, 0),
    LDS_LOADS("b128", 16, 0, 0),
    LDS_LOADS("u8", 1, 0, 0),
    LDS_LOADS("i8", 1, 1, 0),
    LDS_LOADS("u16", 2, 0, 0),
    LDS_LOADS("i16", 2, 1, 0),
    LDS_LOADS("u8_d16", 1, 0, 1),
    LDS_LOADS("u8_d16_hi", 1, 0, 2),
    LDS_LOADS("i8_d16", 1, 1, 1),
    LDS_LOADS("i8_d16_hi", 1, 1, 2),
    LDS_LOADS("u16_d16", 2, 0, 1),
    LDS_LOADS("u16_d16_hi", 2, 0, 2),
    LDS_STORES("b8", 1, 0),
    LDS_STORES("b16", 2, 0),
    LDS_STORES("b32", 4, 0),
    LDS_STORES("b64", 8, 0),
    LDS_STORES("b96", 12, 0),
    LDS_STORES("b128", 16, 0),
    LDS_STORES("b8_d16_hi", 1, 2),
    LDS_STORES("b16_d16_hi", 2, 2),
    {"ds_read2_b32", "@", "DLD4", lds_load2<4, 1>},
    {"ds_read2_b64", "@", "DLD8", lds_load2<8, 1>},
    {"ds_read2st64_b32", "@", "DLD4", lds_load2<4, 64>},
    {"ds_read2st64_b64", "@", "DLD8", lds_load2<8, 64>},
    {"ds_load_2addr_b32", "@", "DLD4", lds_load2<4, 1>},
    {"ds_load_2addr_b64", "@", "DLD8", lds_load2<8, 1>},
    {"ds_load_2addr_stride64_b32", "@", "DLD4", lds_load2<4, 64>},
    {"ds_load_2addr_stride64_b64", "@", "DLD8", lds_load2<8, 64>},
    {"ds_write2_b32", "@", "DSD4", lds_store2<4, 1>},
    {"ds_write2_b64", "@", "DSD8", lds_store2<8, 1>},
    {"ds_write2st64_b32", "@", "DSD4", lds_store2<4, 64>},
    {"ds_write2st64_b64", "@", "DSD8", lds_store2<8, 64>},
    {"ds_store_2addr_b32", "@", "DSD4", lds_store2<4, 1>},
    {"ds_store_2addr_b64", "@", "DSD8", lds_store2<8, 1>},
    {"ds_store_2addr_stride64_b32", "@", "DSD4", lds_store2<4, 64>},
    {"ds_store_2addr_stride64_b64", "@", "DSD8", lds_store2<8, 64>},
    {"ds_read_b64_tr_b4", "@", "DL8", lds_load_transposed<4>},
    {"ds_read_b64_tr_b8", "@", "DL8", lds_load_transposed<8>},
    {"ds_read_b64_tr_b16", "@", "DL8", lds_load_transposed<16>},
    ATOMICS("add", "add_u32", AT_ADD),
    ATOMICS("sub", "sub_u32", AT_SUB),
    ATOMICS("csub", "csub_u32", AT_SUBCLAMP),
    ATOMIC_FORM("sub_clamp_u32", AT_SUBCLAMP, u32, 4),
    ATOMIC_FORM("cond_sub_u32", AT_CSUB, u32, 4),
    ATOMICS("smin", "min_i32", AT_SMIN),
    ATOMICS("umin", "min_u32", AT_UMIN),
    ATOMICS("smax", "max_i32", AT_SMAX),
    ATOMICS("umax", "max_u32", AT_UMAX),
    ATOMICS("and", "and_b32", AT_AND),
    ATOMICS("or", "or_b32", AT_OR),
    ATOMICS("xor", "xor_b32", AT_XOR),
    ATOMICS("swap", "swap_b32", AT_SWAP),
    ATOMICS("cmpswap", "cmpswap_b32", AT_CAS),
    ATOMICS("inc", "inc_u32", AT_INC),
    ATOMICS("dec", "dec_u32", AT_DEC),
    ATOMICS("fmin", "min_f32", AT_FMIN),
    ATOMICS("fmax", "max_f32", AT_FMAX),
    ATOMIC_FORM("min_num_f32", AT_FMIN, u32, 4),
    ATOMIC_FORM("max_num_f32", AT_FMAX, u32, 4),
    ATOMIC_FORM("add_f32", AT_FADD, u32, 4),
    ATOMIC_FORM("pk_add_f16", AT_PKH, u32, 4),
    ATOMIC_FORM("pk_add_bf16", AT_PKBF, u32, 4),
    ATOMICS64("add_x2", "add_u64", AT_ADD),
    ATOMICS64("sub_x2", "sub_u64", AT_SUB),
    ATOMICS64("smin_x2", "min_i64", AT_SMIN),
    ATOMICS64("umin_x2", "min_u64", AT_UMIN),
    ATOMICS64("smax_x2", "max_i64", AT_SMAX),
    ATOMICS64("umax_x2", "max_u64", AT_UMAX),
    ATOMICS64("and_x2", "and_b64", AT_AND),
    ATOMICS64("or_x2", "or_b64", AT_OR),
    ATOMICS64("xor_x2", "xor_b64", AT_XOR),
    ATOMICS64("swap_x2", "swap_b64", AT_SWAP),
    ATOMICS64("cmpswap_x2", "cmpswap_b64", AT_CAS),
    ATOMICS64("inc_x2", "inc_u64", AT_INC),
    ATOMICS64("dec_x2", "dec_u64", AT_DEC),
    ATOMIC_FORM("add_f64", AT_FADD, u64, 8),
    ATOMIC_FORM("min_f64", AT_FMIN, u64, 8),
    ATOMIC_FORM("max_f64", AT_FMAX, u64, 8),
    LDS_ATOMIC("add", "u32", AT_ADD, u32, 4, ""),
    LDS_ATOMIC("add", "u64", AT_ADD, u64, 8, ""),
    LDS_ATOMIC("add", "f32", AT_FADD, u32, 4, ""),
    LDS_ATOMIC("add", "f64", AT_FADD, u64, 8, ""),
    LDS_ATOMIC("sub", "u32", AT_SUB, u32, 4, ""),
    LDS_ATOMIC("sub_clamp", "u32", AT_SUBCLAMP, u32, 4, ""),
    LDS_ATOMIC("cond_sub", "u32", AT_CSUB, u32, 4, ""),
    LDS_ATOMIC("sub", "u64", AT_SUB, u64, 8, ""),
    LDS_ATOMIC("rsub", "u32", AT_RSUB, u32, 4, ""),
    LDS_ATOMIC("rsub", "u64", AT_RSUB, u64, 8, ""),
    LDS_ATOMIC("inc", "u32", AT_INC, u32, 4, ""),
    LDS_ATOMIC("inc", "u64", AT_INC, u64, 8, ""),
    LDS_ATOMIC("dec", "u32", AT_DEC, u32, 4, ""),
    LDS_ATOMIC("dec", "u64", AT_DEC, u64, 8, ""),
    LDS_ATOMIC("min", "u32", AT_UMIN, u32, 4, ""),
    LDS_ATOMIC("min", "u64", AT_UMIN, u64, 8, ""),
    LDS_ATOMIC("min", "i32", AT_SMIN, u32, 4, ""),
    LDS_ATOMIC("min", "i64", AT_SMIN, u64, 8, ""),
    LDS_ATOMIC("min", "f32", AT_FMIN, u32, 4, ""),
    LDS_ATOMIC("min", "f64", AT_FMIN, u64, 8, ""),
    LDS_ATOMIC("min_num", "f32", AT_FMIN, u32, 4, ""),
    LDS_ATOMIC("min_num", "f64", AT_FMIN, u64, 8, ""),
    LDS_ATOMIC("max", "u32", AT_UMAX, u32, 4, ""),
    LDS_ATOMIC("max", "u64", AT_UMAX, u64, 8, ""),
    LDS_ATOMIC("max", "i32", AT_SMAX, u32, 4, ""),
    LDS_ATOMIC("max", "i64", AT_SMAX, u64, 8, ""),
    LDS_ATOMIC("max", "f32", AT_FMAX, u32, 4, ""),
    LDS_ATOMIC("max", "f64", AT_FMAX, u64, 8, ""),
    LDS_ATOMIC("max_num", "f32", AT_FMAX, u32, 4, ""),
    LDS_ATOMIC("max_num", "f64", AT_FMAX, u64, 8, ""),
    LDS_ATOMIC("and", "b32", AT_AND, u32, 4, ""),
    LDS_ATOMIC("and", "b64", AT_AND, u64, 8, ""),
    LDS_ATOMIC("or", "b32", AT_OR, u32, 4, ""),
    LDS_ATOMIC("or", "b64", AT_OR, u64, 8, ""),
    LDS_ATOMIC("xor", "b32", AT_XOR, u32, 4, ""),
    LDS_ATOMIC("xor", "b64", AT_XOR, u64, 8, ""),
    LDS_ATOMIC("pk_"
               "add",
               "f16", AT_PKH, u32, 4, ""),
    LDS_ATOMIC("pk"
               "_a"
               "d"
               "d",
               "bf"
               "1"
               "6",
               AT_PKBF, u32, 4, ""),
    LDS_ATOMIC("cmpst", "b32", AT_CAS, u32, 4, "C"),
    LDS_ATOMIC("cmpst", "b64", AT_CAS, u64, 8, "C"),
    LDS_ATOMIC("cmpstore", "b32", AT_CAS, u32, 4, "C"),
    LDS_ATOMIC("cmpstore", "b64", AT_CAS, u64, 8, "C"),
    {"ds_wrxchg_rtn_b32", "@", "DAR4", atomic<AT_SWAP, u32, LDS>},
    {"ds_wrxchg_rtn_b64", "@", "DAR8", atomic<AT_SWAP, u64, LDS>},
    {"ds_storexchg_rtn_b32", "@", "DAR4", atomic<AT_SWAP, u32, LDS>},
    {"ds_storexchg_rtn_b64", "@", "DAR8", atomic<AT_SWAP, u64, LDS>},
};
// clang-format on

}  // namespace

TABLE(kMemoryTable, kOperations);
