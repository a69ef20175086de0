// Vector operations on floats, conversions, packed forms and compares.
#include "vector.h"

namespace {

template <int C>
static void cmp_f32(Wave& w, const Op& o) {
  A32(A, 0, 32);
  A32(B, 1, 32);
  ftzv(w, A, tA);
  ftzv(w, B, tB);
  u64 m = 0;
  L64
    m |= (u64)fcmp<float>(C, asf(A[l]), asf(B[l])) << l;
  cmpout(w, o, m);
}
template <int C>
static void cmp_f16(Wave& w, const Op& o) {
  A32(A, 0, 16);
  A32(B, 1, 16);
  u64 m = 0;
  L64
    m |= (u64)fcmp<float>(C, h2f(A[l]), h2f(B[l])) << l;
  cmpout(w, o, m);
}
template <int C>
static void cmp_f64(Wave& w, const Op& o) {
  A64(A, 0);
  A64(B, 1);
  u64 m = 0;
  L64
    m |= (u64)fcmp<double>(C, asd(A[l]), asd(B[l])) << l;
  cmpout(w, o, m);
}
template <int C, class TT>
static void cmp_i(Wave& w, const Op& o) {
  A32(A, 0, 32);
  A32(B, 1, 32);
  u64 m = 0;
  L64
    m |= (u64)icmp<TT>(C, (TT)A[l], (TT)B[l]) << l;
  cmpout(w, o, m);
}
template <int C, class TT>
static void cmp_q(Wave& w, const Op& o) {
  A64(A, 0);
  A64(B, 1);
  u64 m = 0;
  L64
    m |= (u64)icmp<TT>(C, (TT)A[l], (TT)B[l]) << l;
  cmpout(w, o, m);
}
static inline u32 divfix32(u32 A, u32 B, u32 C) {
  float a = asf(A), b = asf(B), c = asf(C);
  u32 sg = (B ^ C) & 0x80000000;
  if (isnan(c)) return C | 0x400000;
  if (isnan(b)) return B | 0x400000;
  if (b == 0 && c == 0) return 0xffc00000;
  if (isinf(b) && isinf(c)) return 0xffc00000;
  if (b == 0 || isinf(c)) return sg | 0x7f800000;
  if (isinf(b) || c == 0) return sg;
  if (fexp(c) - fexp(b) < -150) return sg;
  if (fexp(a) == 255)
    return sg |
           0x7f800000; /* documents say exponent(S1); only the quotient makes sense (overflow) */
  return sg | (asu(a) & 0x7fffffff);
}
static inline int dexp(double x) { return (asq(x) >> 52) & 2047; }

static float flushed(float x) { return asf(ftzu(asu(x))); }

// Rounds twice, and flushes denormals in every mode.
static float mad(float a, float b, float c) {
  return flushed(flushed(flushed(a) * flushed(b)) + flushed(c));
}

// Returns 53 bits of 2/pi, by which range reduction multiplies an angle, starting at the given
// segment; for large angles it skips the leading bits that do not affect the result.
static double two_over_pi(double angle, int segment) {
  static const u64 bits[] = {
      // the first 1201 bits after the binary point
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
      0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
      0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
      0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
      0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000};
  int first = 53 * segment + max(dexp(angle) - 1077, 0);
  u64 mantissa = 0;
  for (int i = first; i < first + 53; ++i)
    mantissa = mantissa << 1 | (i < 1201 ? bits[i / 64] >> (63 - i % 64) & 1 : 0);
  return ldexp((double)mantissa, -53 - first + (dexp(angle) >= 1968 ? 128 : 0));
}

// The comparisons of one condition; `v_cmpx` also sets EXEC.
#define COMPARE(condition, type, sources, function)        \
  {"v_cmp_" condition "_" type, "m", sources, function}, { \
    "v_cmpx_" condition "_" type, "m", sources, function   \
  }
#define COMPARE_FLOATS(name, c)                                                   \
  COMPARE(name, "f32", "ff", cmp_f32<c>), COMPARE(name, "f16", "hh", cmp_f16<c>), \
      COMPARE(name, "f64", "dd", cmp_f64<c>)
#define COMPARE_INTEGERS(name, c)                                                               \
  COMPARE(name, "i32", "ww", (cmp_i<c, i32>)), COMPARE(name, "u32", "ww", (cmp_i<c, u32>)),     \
      COMPARE(name, "i16", "ss", (cmp_i<c, i16>)), COMPARE(name, "u16", "ss", (cmp_i<c, u16>)), \
      COMPARE(name, "i64", "qq", (cmp_q<c, i64>)), COMPARE(name, "u64", "qq", (cmp_q<c, u64>))

#define CUB(i)                                                \
  {"v_cvt_f32_ubyte" #i, "f", "w", [](Wave& w, const Op& o) { \
     A32(A, 0, 0);                                            \
     u32 r[kLanes];                                           \
     L64                                                      \
       r[l] = asu((float)(A[l] >> (8 * i) & 255));            \
     postf(w, o, r);                                          \
     wr(w, o.d[0], r);                                        \
   }}

// clang-format off
const Operation kOperations[] = {
    // f32
    F2("v_add_f32", a + b),
    F2("v_sub_f32", a - b),
    F2("v_subrev_f32", b - a),
    F2("v_mul_f32", a* b),
    F2("v_mul_legacy_f32", (a == 0 || b == 0) ? 0.0f : a * b),
    ALIAS("v_mul_dx9_zero_f32", "v_mul_legacy_f32"),
    F3("v_fma_f32", __builtin_fmaf(a, b, c)),
    F3("v_mad_f32", mad(a, b, c)),
    ALIAS("v_madak_f32", "v_mad_f32"),
    ALIAS("v_madmk_f32", "v_mad_f32"),
    {"v_mac_f32", "f", "ff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       const u32* C = w.v[o.d[0].index];
       u32 r[kLanes];
       L64
         r[l] = asu(mad(asf(A[l]), asf(B[l]), asf(C[l])));
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    F3("v_fmaak_f32", __builtin_fmaf(a, b, c)),
    F3("v_fmamk_f32", __builtin_fmaf(a, b, c)),
    {"v_fmac_f32", "f", "ff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       ftzv(w, A, tA);
       ftzv(w, B, tB);
       const u32* C = w.v[o.d[0].index];
       u32 tC[64];
       ftzv(w, C, tC);
       u32 r[kLanes];
       L64
         r[l] = asu(__builtin_fmaf(asf(A[l]), asf(B[l]), asf(C[l])));
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_fmac_f64", "d", "dd",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       A64(B, 1);
       u64 r[64];
       L64 {
         double c = asd(w.v[o.d[0].index][l] | (u64)w.v[o.d[0].index + 1][l] << 32);
         r[l] = asq(fma(asd(A[l]), asd(B[l]), c));
       }
       postd(w, o, r);
       wr64(w, o.d[0], r);
     }},
    {"v_mac_f16", "h", "hh",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       u32 r[kLanes];
       int sh = o.d[0].part == PART_WORD1 ? 16 : 0;
       L64
         r[l] = d2h((double)h2f(f2h(h2f(A[l]) * h2f(B[l]))) + h2f(w.v[o.d[0].index][l] >> sh));
       posth(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_fmac_f16", "h", "hh",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       u32 r[kLanes];
       int sh = o.d[0].part == PART_WORD1 ? 16 : 0;
       L64
         r[l] = d2h(fma_odd(h2f(A[l]), h2f(B[l]), h2f(w.v[o.d[0].index][l] >> sh)));
       posth(w, o, r);
       wr(w, o.d[0], r);
     }},
    F2("v_max_f32", fmaxq(a, b)),
    F2("v_min_f32", fminq(a, b)),
    ALIAS("v_max_num_f32", "v_max_f32"),
    ALIAS("v_min_num_f32", "v_min_f32"),
    F2("v_maximum_f32", maximum_of(a, b)),
    F2("v_minimum_f32", minimum_of(a, b)),
    F3("v_max3_f32", fmaxq(fmaxq(a, b), c)),
    F3("v_min3_f32", fminq(fminq(a, b), c)),
    F3("v_med3_f32", med3f(a, b, c)),
    ALIAS("v_max3_num_f32", "v_max3_f32"),
    ALIAS("v_min3_num_f32", "v_min3_f32"),
    ALIAS("v_med3_num_f32", "v_med3_f32"),
    F3("v_maximum3_f32", maximum_of(maximum_of(a, b), c)),
    F3("v_minimum3_f32", minimum_of(minimum_of(a, b), c)),
    F3("v_maxmin_f32", fminq(fmaxq(a, b), c)),
    F3("v_minmax_f32", fmaxq(fminq(a, b), c)),
    ALIAS("v_maxmin_num_f32", "v_maxmin_f32"),
    ALIAS("v_minmax_num_f32", "v_minmax_f32"),
    F3("v_maximumminimum_f32", minimum_of(maximum_of(a, b), c)),
    F3("v_minimummaximum_f32", maximum_of(minimum_of(a, b), c)),
    F1("v_rcp_f32", rcpf(a)),
    ALIAS("v_rcp_iflag_f32", "v_rcp_f32"),
    F1("v_rsq_f32", rsqf(a)),
    F1("v_sqrt_f32", sqrt(flushd(a))),
    F1("v_exp_f32", exp2h(a)),
    F1("v_log_f32", log2h(a)),
    F1("v_sin_f32", isinf(a)        ? NAN
                    : fabs(a) > 256 ? 0.0f
                                    : (float)sin2pi(a)),
    F1("v_cos_f32", isinf(a)        ? NAN
                    : fabs(a) > 256 ? 1.0f
                                    : (float)cos2pi(a)),
    F1("v_floor_f32", floor(a)),
    F1("v_ceil_f32", ceil(a)),
    F1("v_trunc_f32", trunc(a)),
    F1("v_rndne_f32", rndne(a)),
    F1("v_fract_f32", min((float)(a - floor(a)), 0x1.fffffep-1f)),
    F1("v_frexp_mant_f32", (isinf(a) || isnan(a)) ? a : ({
         int e_;
         frexp(a, &e_);
       })),
    {"v_frexp_exp_i32_f32", "w", "f",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       u32 r[kLanes];
       L64 {
         float a = asf(A[l]);
         int e = 0;
         if (!(isinf(a) || isnan(a))) frexp(a, &e);
         r[l] = e;
       }
       wr(w, o.d[0], r);
     }},
    {"v_ldexp_f32", "f", "fw",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       ftzv(w, A, tA);
       A32(B, 1, 0);
       u32 r[kLanes];
       L64 {
         int e = (i32)B[l];
         if (e > 2000) e = 2000;
         if (e < -2000) e = -2000;
         r[l] = asu(ldexp(asf(A[l]), e));
       }
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_div_scale_f32", "fm", "fff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       A32(C, 2, 32);
       u32 r[kLanes];
       u64 m = 0;
       L64 {
         float s0 = asf(A[l]), s1 = asf(B[l]), s2 = asf(C[l]);
         float d = s0;
         bool v = false;
         float rc = (float)(1.0 / (double)s1), qt = (float)((double)s2 / (double)s1);
         if (s2 == 0 || s1 == 0)
           d = NAN;
         else if (fexp(s2) - fexp(s1) >= 96) {
           v = true;
           if (A[l] == B[l]) d = ldexp(s0, 64);
         } else if (fden(s1))
           d = ldexp(s0, 64);
         else if (fden(rc) && fden(qt)) {
           v = true;
           if (A[l] == B[l]) d = ldexp(s0, -64);
         } else if (fden(rc))
           d = ldexp(s0, -64);
         else if (fden(qt)) {
           v = true;
           if (A[l] == C[l]) d = ldexp(s0, 64);
         } else if (fexp(s2) <= 23)
           d = ldexp(s0, 64);
         r[l] = asu(d);
         m |= (u64)v << l;
       }
       u64 wm = w.wmask;
       wr(w, o.d[0], r);
       setmask(w, o.d[1], m & wm);
     }},
    {"v_div_fmas_f32", "f", "fff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       A32(C, 2, 32);
       u32 r[kLanes];
       u64 v = em(w, w.vcc());
       L64 {
         float f = __builtin_fmaf(asf(A[l]), asf(B[l]), asf(C[l]));
         if (v >> l & 1) {
           double q = fma_odd(asf(A[l]), asf(B[l]), asf(C[l]));
           f = (float)ldexp(q, fexp(asf(C[l])) > 127 ? 64 : -64);
         }
         r[l] = asu(f);
       }
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_div_fixup_f32", "f", "fff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       A32(C, 2, 32);
       u32 r[kLanes];
       L64
         r[l] = divfix32(A[l], B[l], C[l]);
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_div_scale_f64", "dm", "ddd",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       A64(B, 1);
       A64(C, 2);
       u64 r[64];
       u64 m = 0;
       auto dd = [](double x) {
         u64 b = asq(x);
         return !(b & 0x7ff0000000000000ull) && (b & 0xfffffffffffffull);
       };
       L64 {
         double s0 = asd(A[l]), s1 = asd(B[l]), s2 = asd(C[l]), d = s0;
         bool v = false;
         double rc = 1.0 / s1, qt = s2 / s1;
         if (s2 == 0 || s1 == 0)
           d = NAN;
         else if (dexp(s2) - dexp(s1) >= 768) {
           v = true;
           if (A[l] == B[l]) d = ldexp(s0, 128);
         } else if (dd(s1))
           d = ldexp(s0, 128);
         else if (dd(rc) && dd(qt)) {
           v = true;
           if (A[l] == B[l]) d = ldexp(s0, -128);
         } else if (dd(rc))
           d = ldexp(s0, -128);
         else if (dd(qt)) {
           v = true;
           if (A[l] == C[l]) d = ldexp(s0, 128);
         } else if (dexp(s2) <= 53)
           d = ldexp(s0, 128);
         r[l] = asq(d);
         m |= (u64)v << l;
       }
       u64 wm = w.wmask;
       wr64(w, o.d[0], r);
       setmask(w, o.d[1], m & wm);
     }},
    {"v_div_fmas_f64", "d", "ddd",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       A64(B, 1);
       A64(C, 2);
       u64 r[64];
       u64 v = em(w, w.vcc());
       L64 {
         double f = fma(asd(A[l]), asd(B[l]), asd(C[l]));
         if (v >> l & 1) f = ldexp(f, dexp(asd(C[l])) > 1023 ? 128 : -128);
         r[l] = asq(f);
       }
       wr64(w, o.d[0], r);
     }},
    {"v_div_fixup_f64", "d", "ddd",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       A64(B, 1);
       A64(C, 2);
       u64 r[64];
       L64 {
         double a = asd(A[l]), b = asd(B[l]), c = asd(C[l]);
         u64 sg = (B[l] ^ C[l]) & (1ull << 63), x;
         const u64 inf = 0x7ff0000000000000ull;
         if (isnan(c))
           x = C[l] | (1ull << 51);
         else if (isnan(b))
           x = B[l] | (1ull << 51);
         else if ((b == 0 && c == 0) || (isinf(b) && isinf(c)))
           x = 0xfff8000000000000ull;
         else if (b == 0 || isinf(c))
           x = sg | inf;
         else if (isinf(b) || c == 0)
           x = sg;
         else if (dexp(c) - dexp(b) < -1075)
           x = sg;
         else if (dexp(a) == 2047)
           x = sg | inf;
         else
           x = sg | (asq(a) & ~(1ull << 63));
         r[l] = x;
       }
       wr64(w, o.d[0], r);
     }},
    {"v_div_fixup_f16", "h", "hhh",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       A32(C, 2, 16);
       u32 r[kLanes];
       L64 {
         float a = h2f(A[l]), b = h2f(B[l]), c = h2f(C[l]);
         u32 sg = (B[l] ^ C[l]) & 0x8000, x;
         if (isnan(c))
           x = (C[l] & 0xffff) | 0x200;
         else if (isnan(b))
           x = (B[l] & 0xffff) | 0x200;
         else if ((b == 0 && c == 0) || (isinf(b) && isinf(c)))
           x = 0xfe00;
         else if (b == 0 || isinf(c))
           x = sg | 0x7c00;
         else if (isinf(b) || c == 0)
           x = sg;
         else if (isnan(a))
           x = sg | 0x7c00;
         else
           x = sg | (f2h(a) & 0x7fff);
         r[l] = x;
       }
       posth(w, o, r);
       wr(w, o.d[0], r);
     }},
    // f16
    H2("v_add_f16", a + b),
    H2("v_sub_f16", a - b),
    H2("v_subrev_f16", b - a),
    H2("v_mul_f16", a* b),
    H2("v_max_f16", fmaxq(a, b)),
    H2("v_min_f16", fminq(a, b)),
    ALIAS("v_max_num_f16", "v_max_f16"),
    ALIAS("v_min_num_f16", "v_min_f16"),
    H2("v_maximum_f16", maximum_of(a, b)),
    H2("v_minimum_f16", minimum_of(a, b)),
    H3("v_fma_f16", fma_odd(a, b, c)),
    H3("v_mad_f16", (double)h2f(f2h(a* b)) + c),
    ALIAS("v_madak_f16", "v_mad_f16"),
    ALIAS("v_madmk_f16", "v_mad_f16"),
    H3("v_fmaak_f16", fma_odd(a, b, c)),
    H3("v_fmamk_f16", fma_odd(a, b, c)),
    H3("v_max3_f16", fmaxq(fmaxq(a, b), c)),
    H3("v_min3_f16", fminq(fminq(a, b), c)),
    H3("v_med3_f16", med3f(a, b, c)),
    ALIAS("v_max3_num_f16", "v_max3_f16"),
    ALIAS("v_min3_num_f16", "v_min3_f16"),
    ALIAS("v_med3_num_f16", "v_med3_f16"),
    H3("v_maximum3_f16", maximum_of(maximum_of(a, b), c)),
    H3("v_minimum3_f16", minimum_of(minimum_of(a, b), c)),
    H3("v_maximumminimum_f16", minimum_of(maximum_of(a, b), c)),
    H3("v_minimummaximum_f16", maximum_of(minimum_of(a, b), c)),
    H3("v_maxmin_f16", fminq(fmaxq(a, b), c)),
    H3("v_minmax_f16", fmaxq(fminq(a, b), c)),
    ALIAS("v_maxmin_num_f16", "v_maxmin_f16"),
    ALIAS("v_minmax_num_f16", "v_minmax_f16"),
    H1("v_rcp_f16", 1.0f / a),
    H1("v_rsq_f16", 1.0 / sqrt((double)a)),
    H1("v_sqrt_f16", sqrt(a)),
    H1("v_exp_f16", exp2((double)a)),
    H1("v_log_f16", log2((double)a)),
    H1("v_sin_f16", sin2pi(a)),
    H1("v_cos_f16", cos2pi(a)),
    H1("v_floor_f16", floor(a)),
    H1("v_ceil_f16", ceil(a)),
    H1("v_trunc_f16", trunc(a)),
    H1("v_rndne_f16", rndne(a)),
    H1("v_fract_f16", min((float)(a - floor(a)), 0x1.ffcp-1f)),
    H1("v_frexp_mant_f16", (isinf(a) || isnan(a)) ? a : ({
         int e_;
         frexp(a, &e_);
       })),
    {"v_frexp_exp_i16_f16", "s", "h",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       u32 r[kLanes];
       L64 {
         float a = h2f(A[l]);
         int e = 0;
         if (!(isinf(a) || isnan(a))) frexp(a, &e);
         r[l] = (u16)e;
       }
       wr(w, o.d[0], r);
     }},
    {"v_ldexp_f16", "h", "hs",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 0);
       u32 r[kLanes];
       L64
         r[l] = d2h(ldexp((double)h2f(A[l]), (i16)B[l]));
       posth(w, o, r);
       wr(w, o.d[0], r);
     }},
    // f64
    D2("v_add_f64", a + b),
    D2("v_mul_f64", a* b),
    D3("v_fma_f64", fma(a, b, c)),
    D2("v_max_f64", dmaxq(a, b)),
    D2("v_min_f64", dminq(a, b)),
    D2("v_maximum_f64", isnan(a) || isnan(b) ? NAN : dmaxq(a, b)),
    D2("v_minimum_f64", isnan(a) || isnan(b) ? NAN : dminq(a, b)),
    ALIAS("v_max_num_f64", "v_max_f64"),
    ALIAS("v_min_num_f64", "v_min_f64"),
    D1("v_rcp_f64", 1.0 / a),
    D1("v_rsq_f64", 1.0 / sqrt(a)),
    D1("v_sqrt_f64", sqrt(a)),
    D1("v_floor_f64", floor(a)),
    D1("v_ceil_f64", ceil(a)),
    D1("v_trunc_f64", trunc(a)),
    D1("v_rndne_f64", nearbyint(a)),
    D1("v_fract_f64", min(a - floor(a), 0x1.fffffffffffffp-1)),
    D1("v_frexp_mant_f64", (isinf(a) || isnan(a)) ? a : ({
         int e_;
         frexp(a, &e_);
       })),
    {"v_ldexp_f64", "d", "dw",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       A32(B, 1, 0);
       u64 r[64];
       L64 {
         int e = (i32)B[l];
         if (e > 5000) e = 5000;
         if (e < -5000) e = -5000;
         r[l] = asq(ldexp(asd(A[l]), e));
       }
       postd(w, o, r);
       wr64(w, o.d[0], r);
     }},
    {"v_trig_preop_f64", "d", "dw",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       A32(B, 1, 0);
       u64 r[64];
       L64 r[l] = asq(two_over_pi(asd(A[l]), B[l] & 31));
       postd(w, o, r);
       wr64(w, o.d[0], r);
     }},
    {"v_frexp_exp_i32_f64", "w", "d",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       u32 r[kLanes];
       L64 {
         double a = asd(A[l]);
         int e = 0;
         if (!(isinf(a) || isnan(a))) frexp(a, &e);
         r[l] = e;
       }
       wr(w, o.d[0], r);
     }},
    // conversions
    {"v_cvt_f32_i32", "f", "w",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u32 r[kLanes];
       L64
         r[l] = asu((float)(i32)A[l]);
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_cvt_f32_u32", "f", "w",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u32 r[kLanes];
       L64
         r[l] = asu((float)A[l]);
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    CUB(0),
    CUB(1),
    CUB(2),
    CUB(3),
    {"v_cvt_i32_f32", "w", "f",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       u32 r[kLanes];
       L64
         r[l] = cvti32(asf(A[l]));
       wr(w, o.d[0], r);
     }},
    {"v_cvt_u32_f32", "w", "f",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       u32 r[kLanes];
       L64
         r[l] = cvtu32(asf(A[l]));
       wr(w, o.d[0], r);
     }},
    {"v_cvt_rpi_i32_f32", "w", "f",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       u32 r[kLanes];
       L64
         r[l] = cvti32(floor((double)asf(A[l]) + 0.5));
       wr(w, o.d[0], r);
     }},
    ALIAS("v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"),
    {"v_cvt_flr_i32_f32", "w", "f",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       u32 r[kLanes];
       L64
         r[l] = cvti32(floor(asf(A[l])));
       wr(w, o.d[0], r);
     }},
    ALIAS("v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"),
    {"v_cvt_f16_f32", "h", "f",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       u32 r[kLanes];
       L64
         r[l] = f2h(asf(A[l]));
       posth(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_cvt_f32_f16", "f", "h",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       u32 r[kLanes];
       L64
         r[l] = asu(h2f(A[l]));
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_cvt_f32_bf16", "f", "s",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       u32 r[kLanes];
       L64
         r[l] = A[l] << 16;
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_cvt_f64_f32", "d", "f",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       u64 r[64];
       L64
         r[l] = asq(asf(A[l]));
       postd(w, o, r);
       wr64(w, o.d[0], r);
     }},
    {"v_cvt_f32_f64", "f", "d",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       u32 r[kLanes];
       L64
         r[l] = asu((float)asd(A[l]));
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_cvt_f64_i32", "d", "w",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u64 r[64];
       L64
         r[l] = asq((i32)A[l]);
       postd(w, o, r);
       wr64(w, o.d[0], r);
     }},
    {"v_cvt_f64_u32", "d", "w",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u64 r[64];
       L64
         r[l] = asq(A[l]);
       postd(w, o, r);
       wr64(w, o.d[0], r);
     }},
    {"v_cvt_i32_f64", "w", "d",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       u32 r[kLanes];
       L64
         r[l] = cvti32(asd(A[l]));
       wr(w, o.d[0], r);
     }},
    {"v_cvt_u32_f64", "w", "d",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       u32 r[kLanes];
       L64
         r[l] = cvtu32(asd(A[l]));
       wr(w, o.d[0], r);
     }},
    {"v_cvt_f16_u16", "h", "s",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u32 r[kLanes];
       L64
         r[l] = f2h((float)(u16)A[l]);
       posth(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_cvt_f16_i16", "h", "s",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u32 r[kLanes];
       L64
         r[l] = f2h((float)(i16)A[l]);
       posth(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_cvt_u16_f16", "s", "h",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       u32 r[kLanes];
       L64 {
         float a = h2f(A[l]);
         r[l] = isnan(a) ? 0 : a >= 65535 ? 65535 : a <= 0 ? 0 : (u32)a;
       }
       wr(w, o.d[0], r);
     }},
    {"v_cvt_i16_f16", "s", "h",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       u32 r[kLanes];
       L64 {
         float a = h2f(A[l]);
         r[l] = (u16)(isnan(a) ? 0 : a >= 32767 ? 32767 : a <= -32768 ? -32768 : (i32)a);
       }
       wr(w, o.d[0], r);
     }},
    {"v_cvt_i32_i16", "w", "s",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u32 r[kLanes];
       L64
         r[l] = (u32)(i32)(i16)A[l];
       wr(w, o.d[0], r);
     }},
    {"v_cvt_u32_u16", "w", "s",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u32 r[kLanes];
       L64
         r[l] = (u16)A[l];
       wr(w, o.d[0], r);
     }},
    {"v_pack_b32_f16", "w", "hh",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       u32 r[kLanes];
       L64
         r[l] = (A[l] & 0xffff) | B[l] << 16;
       wr(w, o.d[0], r);
     }},
    {"v_cvt_pkrtz_f16_f32", "w", "ff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64 {
         r[l] = (u32)float_to_half_rtz(asf(A[l])) | (u32)float_to_half_rtz(asf(B[l])) << 16;
       }
       wr(w, o.d[0], r);
     }},
    ALIAS("v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"),
    {"v_cvt_pk_f16_f32", "w", "ff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64
         r[l] = f2h(asf(A[l])) | f2h(asf(B[l])) << 16;
       wr(w, o.d[0], r);
     }},
    {"v_cvt_pk_bf16_f32", "w", "ff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64
         r[l] = f2bf(asf(A[l])) | f2bf(asf(B[l])) << 16;
       wr(w, o.d[0], r);
     }},
    {"v_cvt_pk_i16_i32", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       u32 r[kLanes];
       L64 {
         i32 a = min(max((i32)A[l], -32768), 32767), b = min(max((i32)B[l], -32768), 32767);
         r[l] = (u16)a | (u32)b << 16;
       }
       wr(w, o.d[0], r);
     }},
    {"v_cvt_pk_u16_u32", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       u32 r[kLanes];
       L64
         r[l] = min(A[l], 65535u) | min(B[l], 65535u) << 16;
       wr(w, o.d[0], r);
     }},
    // fp8
    {"v_cvt_pk_fp8_f32", "s", "ff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       bool oc = w.E->ocp;
       L64
         r[l] = fp8enc(asf(A[l]), false, oc) | fp8enc(asf(B[l]), false, oc) << 8;
       wr(w, o.d[0], r);
     }},
    {"v_cvt_pk_bf8_f32", "s", "ff",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       bool oc = w.E->ocp;
       L64
         r[l] = fp8enc(asf(A[l]), true, oc) | fp8enc(asf(B[l]), true, oc) << 8;
       wr(w, o.d[0], r);
     }},
    {"v_cvt_f32_fp8", "f", "w",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u32 r[kLanes];
       L64
         r[l] = asu(fp8dec(A[l] & 255, false, w.E->ocp));
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_cvt_f32_bf8", "f", "w",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u32 r[kLanes];
       L64
         r[l] = asu(fp8dec(A[l] & 255, true, w.E->ocp));
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_cvt_pk_f32_fp8", "q", "w",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u64 r[64];
       L64
         r[l] = asu(fp8dec(A[l] & 255, false, w.E->ocp)) |
                (u64)asu(fp8dec(A[l] >> 8 & 255, false, w.E->ocp)) << 32;
       wr64(w, o.d[0], r);
     }},
    {"v_cvt_pk_f32_bf8", "q", "w",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u64 r[64];
       L64
         r[l] = asu(fp8dec(A[l] & 255, true, w.E->ocp)) |
                (u64)asu(fp8dec(A[l] >> 8 & 255, true, w.E->ocp)) << 32;
       wr64(w, o.d[0], r);
     }},
    // packed
    PKH2("v_pk_add_f16", a + b),
    PKH2("v_pk_mul_f16", a* b),
    PKH2("v_pk_max_f16", fmaxq(a, b)),
    PKH2("v_pk_min_f16", fminq(a, b)),
    ALIAS("v_pk_max_num_f16", "v_pk_max_f16"),
    ALIAS("v_pk_min_num_f16", "v_pk_min_f16"),
    PKH2("v_pk_maximum_f16", maximum_of(a, b)),
    PKH2("v_pk_minimum_f16", minimum_of(a, b)),
    {"v_pk_fma_f16", "P", "PPP",
     [](Wave& w, const Op& o) {
       pkrun(w, o, 3, true,
             [&](u32 x, u32 y, u32 z) { return clh(o, d2h(fma_odd(h2f(x), h2f(y), h2f(z)))); });
     }},
    {"v_pk_fmac_f16", "P", "PP",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       u32 r[kLanes];
       const u32* D = w.v[o.d[0].index];
       L64 {
         u32 q = 0;
         for (int h = 0; h < 2; h++)
           q |= d2h((double)h2f(A[l] >> (16 * h) & 0xffff) * h2f(B[l] >> (16 * h) & 0xffff) +
                    (double)h2f(D[l] >> (16 * h) & 0xffff))
                << (16 * h);
         r[l] = q;
       }
       wr(w, o.d[0], r);
     }},
    {"v_pk_maximum3_f16", "P", "PPP",
     [](Wave& w, const Op& o) {
       pkrun(w, o, 3, true, [&](u32 x, u32 y, u32 z) {
         return f2h(maximum_of(maximum_of(h2f(x), h2f(y)), h2f(z)));
       });
     }},
    {"v_pk_minimum3_f16", "P", "PPP",
     [](Wave& w, const Op& o) {
       pkrun(w, o, 3, true, [&](u32 x, u32 y, u32 z) {
         return f2h(minimum_of(minimum_of(h2f(x), h2f(y)), h2f(z)));
       });
     }},
    PKI2("v_pk_add_u16", (o.clamp && a + b > 65535 ? 65535 : a + b)),
    PKI2("v_pk_add_i16", a + b),
    PKI2("v_pk_sub_u16", (o.clamp && a < b ? 0 : a - b)),
    PKI2("v_pk_sub_i16", a - b),
    PKI2("v_pk_mul_lo_u16", a* b),
    PKI3("v_pk_mad_u16", a* b + c),
    PKI3("v_pk_mad_i16", a* b + c),
    PKI2("v_pk_max_u16", max(a, b)),
    PKI2("v_pk_min_u16", min(a, b)),
    PKI2("v_pk_max_i16", (u32)(i32)max((i16)a, (i16)b)),
    PKI2("v_pk_min_i16", (u32)(i32)min((i16)a, (i16)b)),
    PKI2("v_pk_lshlrev_b16", b << (a & 15)),
    PKI2("v_pk_lshrrev_b16", b >> (a & 15)),
    PKI2("v_pk_ashrrev_i16", (u32)((i32)(i16)b >> (a & 15))),
    {"v_pk_add_f32", "F", "FF", [](Wave& w, const Op& o) { pkf32(w, o, 2, 0); }},
    {"v_pk_mul_f32", "F", "FF", [](Wave& w, const Op& o) { pkf32(w, o, 2, 1); }},
    {"v_pk_fma_f32", "F", "FFF", [](Wave& w, const Op& o) { pkf32(w, o, 3, 2); }},
    {"v_pk_mov_b32", "q", "FF",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       A64(B, 1);
       u64 r[64];
       L64
         r[l] = ((o.op_sel & 1) ? A[l] >> 32 : (u32)A[l]) |
                (u64)(u32)((o.op_sel & 2) ? B[l] >> 32 : B[l]) << 32;
       wr64(w, o.d[0], r);
     }},
    {"v_fma_mix_f32", "f", "xxx",
     [](Wave& w, const Op& o) {
       Src q0 = o.s[0], q1 = o.s[1], q2 = o.s[2];
       u32 t0[64], t1[64], t2[64];
       const u32 *A = src<0>(w, q0, t0), *B = src<0>(w, q1, t1), *C = src<0>(w, q2, t2);
       u32 r[kLanes];
       L64
         r[l] = asu(__builtin_fmaf(mixsrc(o, 0, A[l]), mixsrc(o, 1, B[l]), mixsrc(o, 2, C[l])));
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    ALIAS("v_mad_mix_f32", "v_fma_mix_f32"),
    {"v_fma_mixlo_f16", "s", "xxx",
     [](Wave& w, const Op& o) {
       u32 t0[64], t1[64], t2[64];
       const u32 *A = src<0>(w, o.s[0], t0), *B = src<0>(w, o.s[1], t1), *C = src<0>(w, o.s[2], t2);
       u32* D = w.v[o.d[0].index];
       u32 r[64];
       L64
         r[l] = (D[l] & 0xffff0000) |
                clh(o, d2h(fma_odd(mixsrc(o, 0, A[l]), mixsrc(o, 1, B[l]), mixsrc(o, 2, C[l]))));
       Dst d = o.d[0];
       d.part = 0;
       wr(w, d, r);
     }},
    {"v_fma_mixhi_f16", "s", "xxx",
     [](Wave& w, const Op& o) {
       u32 t0[64], t1[64], t2[64];
       const u32 *A = src<0>(w, o.s[0], t0), *B = src<0>(w, o.s[1], t1), *C = src<0>(w, o.s[2], t2);
       u32* D = w.v[o.d[0].index];
       u32 r[64];
       L64
         r[l] = (D[l] & 0xffff) |
                clh(o, d2h(fma_odd(mixsrc(o, 0, A[l]), mixsrc(o, 1, B[l]), mixsrc(o, 2, C[l]))))
                    << 16;
       Dst d = o.d[0];
       d.part = 0;
       wr(w, d, r);
     }},
    // compares
    COMPARE_FLOATS("f", 0),
    COMPARE_INTEGERS("f", 0),
    COMPARE_FLOATS("lt", 1),
    COMPARE_INTEGERS("lt", 1),
    COMPARE_FLOATS("eq", 2),
    COMPARE_INTEGERS("eq", 2),
    COMPARE_FLOATS("le", 3),
    COMPARE_INTEGERS("le", 3),
    COMPARE_FLOATS("gt", 4),
    COMPARE_INTEGERS("gt", 4),
    COMPARE_FLOATS("lg", 5),
    COMPARE_INTEGERS("ne", 5),
    COMPARE_FLOATS("ge", 6),
    COMPARE_INTEGERS("ge", 6),
    COMPARE_FLOATS("o", 7),
    COMPARE_INTEGERS("t", 7),
    COMPARE_FLOATS("u", 8),
    COMPARE_FLOATS("nge", 9),
    COMPARE_FLOATS("nlg", 10),
    COMPARE_FLOATS("ngt", 11),
    COMPARE_FLOATS("nle", 12),
    COMPARE_FLOATS("neq", 13),
    COMPARE_FLOATS("nlt", 14),
    COMPARE_FLOATS("tru", 15),
    COMPARE_FLOATS("t", 15),
    COMPARE("class", "f32", "fw",
            [](Wave& w, const Op& o) {
              A32(A, 0, 32);
              A32(B, 1, 0);
              u64 m = 0;
              L64
                m |= (u64)((cls32(A[l]) & B[l]) != 0) << l;
              cmpout(w, o, m);
            }),
    COMPARE("class", "f16", "hw",
            [](Wave& w, const Op& o) {
              A32(A, 0, 16);
              A32(B, 1, 0);
              u64 m = 0;
              L64
                m |= (u64)((cls16(A[l]) & B[l]) != 0) << l;
              cmpout(w, o, m);
            }),
    COMPARE("class", "f64", "dw",
            [](Wave& w, const Op& o) {
              A64(A, 0);
              A32(B, 1, 0);
              u64 m = 0;
              L64
                m |= (u64)((cls64(A[l]) & B[l]) != 0) << l;
              cmpout(w, o, m);
            }),
};
// clang-format on

}  // namespace

TABLE(kVectorFloatTable, kOperations);
