// Matrix operations: MFMA of gfx9 and WMMA of gfx11 and gfx12, also sparse and scaled.
//
// Products and sums are kept in double and rounded once at the end. Integers are exact. AMD's
// instruction set guides, "Matrix Arithmetic Instructions", define the positions of a lane's
// elements in the matrices.
#include "floats.h"
#include "machine.h"

namespace {

enum Format { F16, BF16, F32, I8, U8, I4, U4, FP8, BF8, FP6, BF6, FP4 };

constexpr int bits_of(Format format) {
  switch (format) {
    case F32:
      return 32;
    case F16:
    case BF16:
      return 16;
    case FP6:
    case BF6:
      return 6;
    case I4:
    case U4:
    case FP4:
      return 4;
    default:
      return 8;
  }
}

// Floats of 6 and 4 bits: no infinities, no NaNs.
float small_float(u32 bits, int exponent_bits, int mantissa_bits) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  int mantissa = bits & ((1 << mantissa_bits) - 1);
  float value =
      exponent ? ldexp((float)(mantissa + (1 << mantissa_bits)), exponent - bias - mantissa_bits)
               : ldexp((float)mantissa, 1 - bias - mantissa_bits);
  return bits >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

float decode(u32 bits, Format format, bool ocp) {
  switch (format) {
    case F16:
      return h2f(bits);
    case BF16:
      return bf2f(bits);
    case F32:
      return asf(bits);
    case I8:
      return (float)(i8)bits;
    case U8:
    case U4:
      return (float)bits;
    case I4:
      return (float)((i32)(bits << 28) >> 28);
    case FP8:
      return fp8dec(bits, false, ocp);
    case BF8:
      return fp8dec(bits, true, ocp);
    case FP6:
      return small_float(bits, 2, 3);
    case BF6:
      return small_float(bits, 3, 2);
    case FP4:
      return small_float(bits, 2, 1);
  }
  return 0;
}

constexpr int kMostElements = 32;  // elements of a lane in one operand
typedef float Elements[kMostElements][kLanes];

// Reads `number` elements of each lane, packed from the lowest bits of the first register.
void unpack(Wave& w, const Src& source, Format format, int number, Elements out) {
  const int bits = bits_of(format);
  const u32 mask = bits == 32 ? ~0u : (1u << bits) - 1;
  if (source.kind != OPERAND_VECTOR)
    return fail(w, "an operand of a matrix operation is no vector");
  for (int e = 0; e < number; e++) {
    int word = e * bits / 32, shift = e * bits % 32;
    const u32* low = w.v[source.index + word];
    const u32* high = w.v[source.index + word + (shift + bits > 32)];
    if (format == F16) {
      L64
        out[e][l] = h2f(low[l] >> shift & 0xffff);
    } else if (format == F32) {
      L64
        out[e][l] = asf(low[l]);
    } else {
      L64
        out[e][l] = decode((u32)((low[l] | (u64)high[l] << 32) >> shift) & mask, format, w.E->ocp);
    }
  }
}

template <int M, int K>
struct Operands {
  double a[M][K], b[K][M];
};

template <int M, int K>
NOINLINE void multiply(const Operands<M, K>& in, double out[M][M]) {
  for (int i = 0; i < M; i++) {
    double sums[M] = {0};
    for (int k = 0; k < K; k++) {
      double a = in.a[i][k];
      for (int j = 0; j < M; j++) sums[j] += a * in.b[k][j];
    }
    memcpy(out[i], sums, sizeof sums);
  }
}

// Returns the position in an MFMA result of register `r` of lane `l`.
template <int M>
void result_place(int l, int r, int& block, int& i, int& j) {
  if (M == 32) {
    block = r / 16;
    i = 8 * (r % 16 / 4) + 4 * (l / 32) + r % 4;
  } else if (M == 16) {
    block = r / 4;
    i = 4 * (l / 16) + r % 4;
  } else {
    block = l / 4;
    i = r;
  }
  j = l % M;
}

u32 addend(Wave& w, const Src& c, int r, int l) {
  return c.kind == OPERAND_VECTOR ? w.v[c.index + r][l] : scal32(w, c);
}

template <int M, int BLOCKS, class PLACE>
void add_and_write(Wave& w, const Op& o, const Src& c, bool integers, PLACE product) {
  constexpr int kRegisters = M * M * BLOCKS / kLanes;
  u32 result[kRegisters][kLanes];
  for (int r = 0; r < kRegisters; r++)
    L64 {
      int block, i, j;
      result_place<M>(l, r, block, i, j);
      u32 add = addend(w, c, r, l);
      double sum = product(block, i, j);
      result[r][l] = integers ? add + (u32)(i64)sum : asu((float)(sum + (double)asf(add)));
    }
  memcpy(w.v[o.d[0].index], result, sizeof result);
}

// Returns the lane that provides lane `l` of the second operand.
int blgp_lane(int pattern, int l) {
  switch (pattern) {
    case 0:
      return l;
    case 1:
      return l % 32;
    case 2:
      return 32 + l % 32;
    case 3:
      return (l + 16) % kLanes;
    default:
      return 16 * (pattern - 4) + l % 16;
  }
}

template <int M, int K, int BLOCKS, Format A, Format B>
void mfma(Wave& w, const Op& o) {
  if (w.nl != kLanes) return fail(w, "MFMA in a wave of 32 lanes");
  constexpr int kGroups = kLanes / M / BLOCKS;  // lanes that share a row
  constexpr int kElements = K / kGroups;
  int cbsz = o.immediate & 15, abid = o.immediate >> 4 & 15, blgp = o.immediate >> 8;
  Elements a, b;
  unpack(w, o.s[0], A, kElements, a);
  unpack(w, o.s[1], B, kElements, b);
  static thread_local Operands<M, K> in[BLOCKS];
  static thread_local double out[BLOCKS][M][M];
  L64 {
    int group = l / M, block = group / kGroups, first = group % kGroups * kElements;
    // One block of A is broadcast to 2^cbsz blocks.
    int from = (block >> cbsz << cbsz) + (cbsz ? abid : 0);
    int a_lane = l + (from - block) * kGroups * M, b_lane = blgp_lane(blgp, l);
    for (int e = 0; e < kElements; e++) {
      in[block].a[l % M][first + e] = a[e][a_lane];
      in[block].b[first + e][l % M] = b[e][b_lane];
    }
  }
  for (int block = 0; block < BLOCKS; block++) multiply<M, K>(in[block], out[block]);
  add_and_write<M, BLOCKS>(w, o, o.s[2], A == I8,
                           [](int block, int i, int j) { return out[block][i][j]; });
}

double pair(Wave& w, int number, int l) {
  return asd(w.v[number][l] | (u64)w.v[number + 1][l] << 32);
}

// Doubles: a fused multiply-add per step of K. `blgp` negates A, B and C on gfx942.
template <int M, int BLOCKS>
void mfma_f64(Wave& w, const Op& o) {
  constexpr int kK = 4, kRegisters = M * M * BLOCKS / kLanes;
  double a[BLOCKS][M][kK], b[BLOCKS][kK][M], result[kRegisters][kLanes];
  int negate = o.immediate >> 8;
  if (o.immediate & 255) return fail(w, "unsupported modifier of an MFMA of doubles");
  L64 {
    int block = l / M % BLOCKS, k = l / M / BLOCKS;
    a[block][l % M][k] = pair(w, o.s[0].index, l) * (negate & 1 ? -1 : 1);
    b[block][k][l % M] = pair(w, o.s[1].index, l) * (negate & 2 ? -1 : 1);
  }
  for (int r = 0; r < kRegisters; r++)
    L64 {
      int block = l / M % BLOCKS, i = 4 * r + l / M / BLOCKS;
      const Src& c = o.s[2];
      double sum =
          c.kind == OPERAND_VECTOR ? pair(w, c.index + 2 * r, l) : asd(c.low | (u64)c.high << 32);
      if (negate & 4) sum = -sum;
      for (int k = 0; k < kK; k++) sum = fma(a[block][i][k], b[block][k][l % M], sum);
      result[r][l] = sum;
    }
  L64
    for (int r = 0; r < kRegisters; r++) {
      u64 bits = asq(result[r][l]);
      w.v[o.d[0].index + 2 * r][l] = (u32)bits;
      w.v[o.d[0].index + 2 * r + 1][l] = bits >> 32;
    }
}

// A has two of every four elements of K; the third operand has their indices, 2 bits each. If a
// lane needs fewer than 32 bits of indices and `cbsz` is zero, `abid` selects the set.
template <int M, int K, Format A, Format B>
void smfmac(Wave& w, const Op& o) {
  if (w.nl != kLanes) return fail(w, "MFMA in a wave of 32 lanes");
  constexpr int kElements = K / (kLanes / M), kStored = kElements / 2;
  int cbsz = o.immediate & 15, abid = o.immediate >> 4 & 15;
  constexpr int kIndexBits = 2 * kStored;
  int set = cbsz == 0 && kIndexBits < 32 ? abid % (32 / kIndexBits) : 0;
  Elements a, b;
  unpack(w, o.s[0], A, kStored, a);
  unpack(w, o.s[1], B, kElements, b);
  if (o.s[2].kind != OPERAND_VECTOR) return fail(w, "the index of a sparse product is no vector");
  static thread_local Operands<M, K> in;
  static thread_local double out[M][M];
  L64 {
    int first = l / M * kElements;
    u32 places = w.v[o.s[2].index][l] >> set * kIndexBits % 32;
    for (int e = 0; e < kElements; e++) {
      in.a[l % M][first + e] = 0;
      in.b[first + e][l % M] = b[e][l];
    }
    for (int e = 0; e < kStored; e++)
      in.a[l % M][first + e / 2 * 4 + (places >> 2 * e & 3)] += a[e][l];
  }
  multiply<M, K>(in, out);
  Src accumulator = {OPERAND_VECTOR, o.d[0].index, 0, 0, 0, 0, 0, 0};
  add_and_write<M, 1>(w, o, accumulator, A == I8, [](int, int i, int j) { return out[i][j]; });
}

// An E8M0 scale: a power of two.
double scale_of(Wave& w, const Src& source, int byte, int l) {
  u32 bits = source.kind == OPERAND_VECTOR ? w.v[source.index][l] : scal32(w, source);
  bits = bits >> 8 * byte & 255;
  return bits == 255 ? NAN : ldexp(1.0, (int)bits - 127);
}

Format small_format(int code) {
  constexpr Format kFormats[] = {FP8, BF8, FP6, BF6, FP4};
  return kFormats[code];
}

// gfx950: `cbsz` and `blgp` are the formats of A and B. A scale, if there is one, applies to the 32
// elements of a lane.
template <int M, int K, bool SCALED>
void mfma_small(Wave& w, const Op& o) {
  constexpr int kElements = K / (kLanes / M);
  if (o.immediate > 4 || o.immediate2 > 4) return fail(w, "unknown format of a matrix operand");
  Elements a, b;
  unpack(w, o.s[0], small_format(o.immediate), kElements, a);
  unpack(w, o.s[1], small_format(o.immediate2), kElements, b);
  static thread_local Operands<M, K> in;
  static thread_local double out[M][M];
  L64 {
    int first = l / M * kElements;
    double a_scale = 1, b_scale = 1;
    if (SCALED) {
      a_scale = scale_of(w, o.s[3], (o.op_sel & 1) | (o.op_sel_hi & 1) << 1, l);
      b_scale = scale_of(w, o.s[4], (o.op_sel >> 1 & 1) | (o.op_sel_hi & 2), l);
    }
    for (int e = 0; e < kElements; e++) {
      in.a[l % M][first + e] = a[e][l] * a_scale;
      in.b[first + e][l % M] = b[e][l] * b_scale;
    }
  }
  multiply<M, K>(in, out);
  add_and_write<M, 1>(w, o, o.s[2], false, [](int, int i, int j) { return out[i][j]; });
}

enum WmmaResult { TO_F32, TO_F16, TO_BF16, TO_I32 };

// 16x16xK in a wave of 32 lanes. On gfx11, lanes 16 to 31 repeat the operands of lanes 0 to 15, and
// 16-bit results take half of a register; on gfx12, each half of the wave has half of K.
template <int K, Format A, Format B, WmmaResult RESULT>
void wmma(Wave& w, const Op& o) {
  if (w.nl != 32) return fail(w, "unsupported WMMA in a wave of 64 lanes");
  const bool gfx12 = w.E->architecture >= 1200;
  const int elements = gfx12 ? K / 2 : K;
  Format a_format = A, b_format = B;
  if (RESULT == TO_I32) {
    if (o.neg_lo & 1) a_format = A == U8 ? I8 : I4;
    if (o.neg_lo & 2) b_format = B == U8 ? I8 : I4;
  } else if (o.neg_lo | o.neg_hi) {
    return fail(w, "unsupported negation in WMMA");
  }
  Elements a, b;
  unpack(w, o.s[0], a_format, elements, a);
  unpack(w, o.s[1], b_format, elements, b);
  Operands<16, K> in;
  double out[16][16];
  for (int l = 0; l < (gfx12 ? 32 : 16); l++)
    for (int e = 0; e < elements; e++) {
      int k = gfx12 ? l / 16 * elements + e : e;
      in.a[l % 16][k] = a[e][l];
      in.b[k][l % 16] = b[e][l];
      if (gfx12) continue;
      bool same = asu(a[e][l]) == asu(a[e][l + 16]) && asu(b[e][l]) == asu(b[e][l + 16]);
      if (!same) return fail(w, "lanes 16 to 31 do not repeat an operand of WMMA");
    }
  multiply<16, K>(in, out);
  u32 result[8][32];
  const Src& c = o.s[2];
  const bool upper = o.op_sel >> 2 & 1;
  for (int l = 0; l < 32; l++)
    for (int r = 0; r < 8; r++) {
      double sum = out[gfx12 ? 8 * (l / 16) + r : 2 * r + l / 16][l % 16];
      u32 halves = gfx12 ? addend(w, c, r / 2, l) : addend(w, c, r, l);
      bool high = c.kind == OPERAND_VECTOR && (gfx12 ? r & 1 : upper);
      u32 half = high ? halves >> 16 : halves & 0xffff;
      switch (RESULT) {
        case TO_F32:
          result[r][l] = asu((float)(sum + asf(addend(w, c, r, l))));
          break;
        case TO_F16:
          result[r][l] = d2h(sum + h2f(half));
          break;
        case TO_BF16:
          result[r][l] = f2bf((float)(sum + bf2f(half)));
          break;
        case TO_I32: {
          i64 total = (i64)(i32)addend(w, c, r, l) + (i64)sum;
          if (o.clamp) total = min<i64>(max<i64>(total, INT32_MIN), INT32_MAX);
          result[r][l] = (u32)total;
        }
      }
    }
  const bool whole = RESULT == TO_F32 || RESULT == TO_I32;
  for (int l = 0; l < 32; l++)
    for (int r = 0; r < 8; r++) {
      if (!whole && gfx12) {
        if (r & 1) w.v[o.d[0].index + r / 2][l] = result[r - 1][l] | result[r][l] << 16;
        continue;
      }
      u32& target = w.v[o.d[0].index + r][l];
      if (whole)
        target = result[r][l];
      else if (upper)
        target = (target & 0xffff) | result[r][l] << 16;
      else
        target = (target & 0xffff0000) | result[r][l];
    }
}

// gfx12: A has two of every four elements of K; a lane's index register has their indices.
template <int K, Format A, Format B, WmmaResult RESULT>
void swmmac(Wave& w, const Op& o) {
  if (w.nl != 32) return fail(w, "unsupported WMMA in a wave of 64 lanes");
  constexpr int kElements = K / 2, kStored = kElements / 2, kIndexBits = 2 * kStored;
  Format a_format = A, b_format = B;
  if (RESULT == TO_I32) {
    if (o.neg_lo & 1) a_format = A == U8 ? I8 : I4;
    if (o.neg_lo & 2) b_format = B == U8 ? I8 : I4;
  }
  Elements a, b;
  unpack(w, o.s[0], a_format, kStored, a);
  unpack(w, o.s[1], b_format, kElements, b);
  Operands<16, K> in;
  double out[16][16];
  for (int l = 0; l < 32; l++) {
    int first = l / 16 * kElements;
    u32 places = w.v[o.s[2].index][l] >> o.immediate * kIndexBits % 32;
    for (int e = 0; e < kElements; e++) {
      in.a[l % 16][first + e] = 0;
      in.b[first + e][l % 16] = b[e][l];
    }
    for (int e = 0; e < kStored; e++)
      in.a[l % 16][first + e / 2 * 4 + (places >> 2 * e & 3)] += a[e][l];
  }
  multiply<16, K>(in, out);
  for (int l = 0; l < 32; l++)
    for (int r = 0; r < 8; r++) {
      double sum = out[8 * (l / 16) + r][l % 16];
      u32& whole = w.v[o.d[0].index + r][l];
      u32& pair = w.v[o.d[0].index + r / 2][l];
      u32 shift = r % 2 * 16, half = pair >> shift & 0xffff, bits;
      switch (RESULT) {
        case TO_F32:
          whole = asu((float)(sum + asf(whole)));
          continue;
        case TO_I32: {
          i64 total = (i64)(i32)whole + (i64)sum;
          if (o.clamp) total = min<i64>(max<i64>(total, INT32_MIN), INT32_MAX);
          whole = (u32)total;
          continue;
        }
        case TO_F16:
          bits = d2h(sum + h2f(half));
          break;
        default:
          bits = f2bf((float)(sum + bf2f(half)));
      }
      pair = (pair & ~(0xffffu << shift)) | bits << shift;
    }
}

#define MFMA(name, m, k, blocks, a, b) {"v_mfma_" name, "*", "***", mfma<m, k, blocks, a, b>}
#define SMFMAC(name, m, k, a, b) {"v_smfmac_" name, "*", "**w", smfmac<m, k, a, b>}
#define WMMA(name, k, a, b, result) {"v_wmma_" name, "*", "***", wmma<k, a, b, result>}
#define SWMMAC(name, k, a, b, result) {"v_swmmac_" name, "*", "**w", swmmac<k, a, b, result>}
// The four pairs of 8-bit float formats.
#define EIGHT_BITS(FORM, prefix, ...)                                                           \
  FORM(prefix "fp8_fp8", __VA_ARGS__, FP8, FP8), FORM(prefix "fp8_bf8", __VA_ARGS__, FP8, BF8), \
      FORM(prefix "bf8_fp8", __VA_ARGS__, BF8, FP8), FORM(prefix "bf8_bf8", __VA_ARGS__, BF8, BF8)
#define WMMA_F32(name, k, a, b) WMMA(name, k, a, b, TO_F32)
#define SWMMAC_F32(name, k, a, b) SWMMAC(name, k, a, b, TO_F32)

// clang-format off
const Operation kOperations[] = {
    MFMA("f32_16x16x16_f16", 16, 16, 1, F16, F16),
    MFMA("f32_32x32x8_f16", 32, 8, 1, F16, F16),
    MFMA("f32_16x16x16_bf16", 16, 16, 1, BF16, BF16),
    MFMA("f32_32x32x8_bf16", 32, 8, 1, BF16, BF16),
    MFMA("f32_16x16x4_f32", 16, 4, 1, F32, F32),
    MFMA("f32_32x32x2_f32", 32, 2, 1, F32, F32),
    MFMA("i32_16x16x32_i8", 16, 32, 1, I8, I8),
    MFMA("i32_32x32x16_i8", 32, 16, 1, I8, I8),
    EIGHT_BITS(MFMA, "f32_16x16x32_", 16, 32, 1),
    EIGHT_BITS(MFMA, "f32_32x32x16_", 32, 16, 1),
    MFMA("f32_32x32x1_2b_f32", 32, 1, 2, F32, F32),
    MFMA("f32_16x16x1_4b_f32", 16, 1, 4, F32, F32),
    MFMA("f32_4x4x1_16b_f32", 4, 1, 16, F32, F32),
    MFMA("f32_32x32x4_2b_f16", 32, 4, 2, F16, F16),
    MFMA("f32_16x16x4_4b_f16", 16, 4, 4, F16, F16),
    MFMA("f32_4x4x4_16b_f16", 4, 4, 16, F16, F16),
    MFMA("f32_32x32x4_2b_bf16", 32, 4, 2, BF16, BF16),
    MFMA("f32_16x16x4_4b_bf16", 16, 4, 4, BF16, BF16),
    MFMA("f32_4x4x4_16b_bf16", 4, 4, 16, BF16, BF16),
    MFMA("i32_32x32x4_2b_i8", 32, 4, 2, I8, I8),
    MFMA("i32_16x16x4_4b_i8", 16, 4, 4, I8, I8),
    MFMA("i32_4x4x4_16b_i8", 4, 4, 16, I8, I8),
    // gfx90a, with its own spelling
    MFMA("f32_16x16x16f16", 16, 16, 1, F16, F16),
    MFMA("f32_32x32x8f16", 32, 8, 1, F16, F16),
    MFMA("f32_16x16x16bf16_1k", 16, 16, 1, BF16, BF16),
    MFMA("f32_32x32x8bf16_1k", 32, 8, 1, BF16, BF16),
    MFMA("f32_16x16x8bf16", 16, 8, 1, BF16, BF16),
    MFMA("f32_32x32x4bf16", 32, 4, 1, BF16, BF16),
    MFMA("f32_16x16x4f32", 16, 4, 1, F32, F32),
    MFMA("f32_32x32x2f32", 32, 2, 1, F32, F32),
    MFMA("i32_16x16x16i8", 16, 16, 1, I8, I8),
    MFMA("i32_32x32x8i8", 32, 8, 1, I8, I8),
    MFMA("f32_32x32x1f32", 32, 1, 2, F32, F32),
    MFMA("f32_16x16x1f32", 16, 1, 4, F32, F32),
    MFMA("f32_4x4x1f32", 4, 1, 16, F32, F32),
    MFMA("f32_32x32x4f16", 32, 4, 2, F16, F16),
    MFMA("f32_16x16x4f16", 16, 4, 4, F16, F16),
    MFMA("f32_4x4x4f16", 4, 4, 16, F16, F16),
    MFMA("f32_32x32x4bf16_1k", 32, 4, 2, BF16, BF16),
    MFMA("f32_16x16x4bf16_1k", 16, 4, 4, BF16, BF16),
    MFMA("f32_4x4x4bf16_1k", 4, 4, 16, BF16, BF16),
    MFMA("f32_32x32x2bf16", 32, 2, 2, BF16, BF16),
    MFMA("f32_16x16x2bf16", 16, 2, 4, BF16, BF16),
    MFMA("f32_4x4x2bf16", 4, 2, 16, BF16, BF16),
    MFMA("i32_32x32x4i8", 32, 4, 2, I8, I8),
    MFMA("i32_16x16x4i8", 16, 4, 4, I8, I8),
    MFMA("i32_4x4x4i8", 4, 4, 16, I8, I8),
    // gfx950
    MFMA("f32_16x16x32_f16", 16, 32, 1, F16, F16),
    MFMA("f32_32x32x16_f16", 32, 16, 1, F16, F16),
    MFMA("f32_16x16x32_bf16", 16, 32, 1, BF16, BF16),
    MFMA("f32_32x32x16_bf16", 32, 16, 1, BF16, BF16),
    MFMA("i32_16x16x64_i8", 16, 64, 1, I8, I8),
    MFMA("i32_32x32x32_i8", 32, 32, 1, I8, I8),
    {"v_mfma_f32_16x16x128_f8f6f4", "*", "***", mfma_small<16, 128, false>},
    {"v_mfma_f32_32x32x64_f8f6f4", "*", "***", mfma_small<32, 64, false>},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", "*", "***ww", mfma_small<16, 128, true>},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", "*", "***ww", mfma_small<32, 64, true>},
    {"v_mfma_f64_16x16x4_f64", "*", "***", mfma_f64<16, 1>},
    {"v_mfma_f64_4x4x4_4b_f64", "*", "***", mfma_f64<4, 4>},
    {"v_mfma_f64_16x16x4f64", "*", "***", mfma_f64<16, 1>},
    {"v_mfma_f64_4x4x4f64", "*", "***", mfma_f64<4, 4>},
    SMFMAC("f32_16x16x32_f16", 16, 32, F16, F16),
    SMFMAC("f32_32x32x16_f16", 32, 16, F16, F16),
    SMFMAC("f32_16x16x32_bf16", 16, 32, BF16, BF16),
    SMFMAC("f32_32x32x16_bf16", 32, 16, BF16, BF16),
    SMFMAC("i32_16x16x64_i8", 16, 64, I8, I8),
    SMFMAC("i32_32x32x32_i8", 32, 32, I8, I8),
    EIGHT_BITS(SMFMAC, "f32_16x16x64_", 16, 64),
    EIGHT_BITS(SMFMAC, "f32_32x32x32_", 32, 32),
    SMFMAC("f32_16x16x64_f16", 16, 64, F16, F16),
    SMFMAC("f32_32x32x32_f16", 32, 32, F16, F16),
    SMFMAC("f32_16x16x64_bf16", 16, 64, BF16, BF16),
    SMFMAC("f32_32x32x32_bf16", 32, 32, BF16, BF16),
    SMFMAC("i32_16x16x128_i8", 16, 128, I8, I8),
    SMFMAC("i32_32x32x64_i8", 32, 64, I8, I8),
    EIGHT_BITS(SMFMAC, "f32_16x16x128_", 16, 128),
    EIGHT_BITS(SMFMAC, "f32_32x32x64_", 32, 64),
    WMMA("f32_16x16x16_f16", 16, F16, F16, TO_F32),
    WMMA("f32_16x16x16_bf16", 16, BF16, BF16, TO_F32),
    WMMA("f16_16x16x16_f16", 16, F16, F16, TO_F16),
    WMMA("bf16_16x16x16_bf16", 16, BF16, BF16, TO_BF16),
    WMMA("i32_16x16x16_iu8", 16, U8, U8, TO_I32),
    WMMA("i32_16x16x16_iu4", 16, U4, U4, TO_I32),
    WMMA("i32_16x16x32_iu4", 32, U4, U4, TO_I32),
    EIGHT_BITS(WMMA_F32, "f32_16x16x16_", 16),
    SWMMAC("f32_16x16x32_f16", 32, F16, F16, TO_F32),
    SWMMAC("f32_16x16x32_bf16", 32, BF16, BF16, TO_F32),
    SWMMAC("f16_16x16x32_f16", 32, F16, F16, TO_F16),
    SWMMAC("bf16_16x16x32_bf16", 32, BF16, BF16, TO_BF16),
    SWMMAC("i32_16x16x32_iu8", 32, U8, U8, TO_I32),
    SWMMAC("i32_16x16x32_iu4", 32, U4, U4, TO_I32),
    SWMMAC("i32_16x16x64_iu4", 64, U4, U4, TO_I32),
    EIGHT_BITS(SWMMAC_F32, "f32_16x16x32_", 32),
};
// clang-format on

}  // namespace

TABLE(kMatrixTable, kOperations);
