// Conversions and arithmetic of floats as the GPUs do them, on bits.
#pragma once

#include "machine.h"

static inline float asf(u32 x) {
  float f;
  memcpy(&f, &x, 4);
  return f;
}
static inline u32 asu(float f) {
  u32 x;
  memcpy(&x, &f, 4);
  return x;
}
static inline double asd(u64 x) {
  double f;
  memcpy(&f, &x, 8);
  return f;
}
static inline u64 asq(double f) {
  u64 x;
  memcpy(&x, &f, 8);
  return x;
}
// Half to float, exactly. NaNs become quiet.
static inline float h2f(u32 half) {
  u32 exponent = half >> 10 & 31, bits = (half & 0x7fff) << 13;
  // Adds 127 - 15 to the exponent, and twice that for infinities and NaNs.
  u32 shifted = bits + (exponent == 31 ? 224u << 23 : 112u << 23);
  if (exponent == 31 && (half & 0x3ff)) shifted |= 0x400000;
  float subnormal = (float)(i32)(half & 0x3ff) * 0x1p-24f;
  return asf((exponent ? shifted : asu(subnormal)) | (half & 0x8000) << 16);
}
// Float to half, rounded to nearest, ties to even.
static inline u32 f2h(float value) {
  u32 bits = asu(value), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return sign | 0x7e00 | (bits >> 13 & 0x3ff);
  if (bits >= 0x47800000) return sign | 0x7c00;
  // Adding 0.5 aligns the last place of a subnormal half with that of the float.
  if (bits < 0x38800000) return sign | (asu(asf(bits) + 0.5f) - 0x3f000000);
  bits -= 112u << 23;
  return sign | (bits + 0xfff + (bits >> 13 & 1)) >> 13;
}
// Float to half, rounded towards zero.
static inline u32 float_to_half_rtz(float value) {
  u32 bits = asu(value), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return sign | 0x7e00 | (bits >> 13 & 0x3ff);
  if (bits >= 0x47800000) return sign | (bits == 0x7f800000 ? 0x7c00 : 0x7bff);
  if (bits < 0x38800000) return sign | (u32)(asf(bits) * 0x1p24f);
  return sign | (bits - (112u << 23)) >> 13;
}
NOINLINE __attribute__((unused)) static u32 d2h(
    double d) {  // correct single rounding: round-to-odd into float then to half
  float f = (float)d;
  if ((double)f != d && isfinite(f)) {
    u32 b = asu(f);
    double fd = f;
    if (fabs(fd) > fabs(d)) b -= 1;
    b |= 1;
    f = asf(b);
  }
  return f2h(f);
}
static inline double fma_odd(double a, double b, double c) {
  double p = a * b, h = p + c;
  if (!isfinite(h)) return h;
  double bb = h - p, lo = (p - (h - bb)) + (c - bb);
  u64 x;
  memcpy(&x, &h, 8);
  if (lo != 0 && !(x & 1)) {
    x += ((lo > 0) == (h > 0)) ? 1 : -1;
    memcpy(&h, &x, 8);
  }
  return h;
}  // a*b exact in double
static inline float bf2f(u32 h) { return asf(h << 16); }
static inline u32 f2bf(float f) {
  u32 b = asu(f);
  if ((b & 0x7fffffff) > 0x7f800000) return (b >> 16) | 0x40;
  return (b + 0x7fff + ((b >> 16) & 1)) >> 16;
}
static inline u32 ftzu(u32 x) { return (x & 0x7f800000) ? x : (x & 0x80000000); }
// ---- fp8
NOINLINE __attribute__((unused)) static float fp8dec(u32 b, bool bf8, bool ocp) {
  u32 s = (b >> 7) & 1;
  int eb = bf8 ? 5 : 4, mb = 7 - eb;
  u32 e = (b >> mb) & ((1 << eb) - 1), m = b & ((1 << mb) - 1);
  int bias = (1 << (eb - 1)) - 1 + (ocp ? 0 : 1);
  if (!ocp) {
    if ((b & 0xff) == 0x80) return NAN;
  } else if (bf8) {
    if (e == 31) return m ? NAN : (s ? -INFINITY : INFINITY);
  } else if (e == 15 && m == 7)
    return NAN;
  float r =
      e ? ldexp(1.0f + m / (float)(1 << mb), (int)e - bias) : ldexp(m / (float)(1 << mb), 1 - bias);
  return s ? -r : r;
}
NOINLINE __attribute__((unused)) static u32 fp8enc(float f, bool bf8, bool ocp) {
  u32 s = asu(f) >> 31;
  int eb = bf8 ? 5 : 4, mb = 7 - eb;
  int bias = (1 << (eb - 1)) - 1 + (ocp ? 0 : 1);
  u32 nan = ocp ? (bf8 ? 0x7f : 0x7f) : 0x80;
  if (isnan(f)) return ocp ? (nan | (s << 7)) : nan;
  float a = fabs(f);
  if (isinf(a)) return ocp ? (bf8 ? (s << 7 | 0x7c) : (s << 7 | 0x7f)) : 0x80;
  if (a == 0) return ocp ? s << 7 : 0;
  int e;
  frexp(a, &e);
  e -= 1;
  if (e < 1 - bias) e = 1 - bias;
  double q = ldexp((double)a, mb - e);
  double r = nearbyint(q);
  if (r >= (2 << mb)) {
    r /= 2;
    e++;
  }
  u32 ex = (r >= (1 << mb)) ? e + bias : 0, m = (u32)r & ((1 << mb) - 1);
  u32 maxe = (1 << eb) - 1;
  bool ovf;
  if (ocp)
    ovf = bf8 ? ex >= maxe : (ex > maxe || (ex == maxe && m == 7));
  else
    ovf = ex > maxe;
  if (ovf) return ocp ? (bf8 ? (s << 7 | 0x7c) : (s << 7 | 0x7f)) : 0x80;
  u32 o = ex << mb | m;
  if (o == 0) return ocp ? s << 7 : 0;
  return s << 7 | o;
}
static inline float fmaxq(float a, float b) {
  if (isnan(a)) return isnan(b) ? NAN : b;
  if (isnan(b)) return a;
  if (a == 0 && b == 0) return signbit(a) ? b : a;
  return a > b ? a : b;
}
static inline float fminq(float a, float b) {
  if (isnan(a)) return isnan(b) ? NAN : b;
  if (isnan(b)) return a;
  if (a == 0 && b == 0) return signbit(a) ? a : b;
  return a < b ? a : b;
}
static inline double dmaxq(double a, double b) {
  if (isnan(a)) return b;
  if (isnan(b)) return a;
  if (a == 0 && b == 0) return signbit(a) ? b : a;
  return a > b ? a : b;
}
static inline double dminq(double a, double b) {
  if (isnan(a)) return b;
  if (isnan(b)) return a;
  if (a == 0 && b == 0) return signbit(a) ? a : b;
  return a < b ? a : b;
}
static inline float maximum_of(float a, float b) {
  if (isnan(a) || isnan(b)) return NAN;
  return fmaxq(a, b);
}
static inline float minimum_of(float a, float b) {
  if (isnan(a) || isnan(b)) return NAN;
  return fminq(a, b);
}
NOINLINE __attribute__((unused)) static float med3f(float a, float b, float c) {
  if (isnan(a) || isnan(b) || isnan(c)) return fminq(fminq(a, b), c);
  float m = fmaxq(fmaxq(a, b), c);
  if (m == a) return fmaxq(b, c);
  if (m == b) return fmaxq(a, c);
  return fmaxq(a, b);
}
template <class X>
static inline X med3(X a, X b, X c) {
  return max(min(a, b), min(max(a, b), c));
}
static inline float flushd(float x) { return fabs(x) < 1.17549435e-38f ? copysign(0.0f, x) : x; }
static inline float rcpf(float a) {
  a = flushd(a);
  return flushd(1.0f / a);
}
static inline float rsqf(float a) {
  a = flushd(a);
  return (float)(1.0 / sqrt((double)a));
}
NOINLINE __attribute__((unused)) static double sin2pi(double a) {
  double r = a - nearbyint(a);
  if (2 * r == nearbyint(2 * r)) return 0;
  return sin(r * 6.283185307179586);
}
NOINLINE __attribute__((unused)) static double cos2pi(double a) {
  double r = a - nearbyint(a);
  if (fabs(r) == 0.25) return 0;
  return cos(r * 6.283185307179586);
}
static inline float exp2h(float a) { return flushd(exp2((double)a)); }
static inline float log2h(float a) {
  a = flushd(a);
  return (float)log2((double)a);
}
static inline i32 cvti32(double a) {
  if (isnan(a)) return 0;
  a = trunc(a);
  if (a >= 2147483647.0) return 0x7fffffff;
  if (a <= -2147483648.0) return (i32)0x80000000;
  return (i32)a;
}
static inline u32 cvtu32(double a) {
  if (isnan(a)) return 0;
  a = trunc(a);
  if (a >= 4294967295.0) return 0xffffffff;
  if (a <= 0) return 0;
  return (u32)a;
}
static inline float rndne(float a) { return nearbyint(a); }
static inline int fexp(float x) { return (asu(x) >> 23) & 255; }
static inline bool fden(float x) {
  u32 b = asu(x);
  return !(b & 0x7f800000) && (b & 0x7fffff);
}
NOINLINE __attribute__((unused)) static u32 permb(u64 in, u32 sel) {
  if (sel >= 13) return 0xff;
  if (sel == 12) return 0;
  if (sel >= 8) {
    static const int bt[4] = {15, 31, 47, 63};
    return (in >> bt[sel - 8] & 1) ? 0xff : 0;
  }
  return (in >> (sel * 8)) & 0xff;
}
static inline u32 bitop3(u32 a, u32 b, u32 c, u32 t) {
  u32 r = 0;
  if (t & 1) r |= ~a & ~b & ~c;
  if (t & 2) r |= ~a & ~b & c;
  if (t & 4) r |= ~a & b & ~c;
  if (t & 8) r |= ~a & b & c;
  if (t & 16) r |= a & ~b & ~c;
  if (t & 32) r |= a & ~b & c;
  if (t & 64) r |= a & b & ~c;
  if (t & 128) r |= a & b & c;
  return r;
}
NOINLINE __attribute__((unused)) static u32 fclass(bool snan, bool qnan, bool s, bool inf, bool den,
                                                   bool zero) {
  if (snan) return 1;
  if (qnan) return 2;
  if (inf) return s ? 4 : 512;
  if (zero) return s ? 32 : 64;
  if (den) return s ? 16 : 128;
  return s ? 8 : 256;
}
static inline u32 cls32(u32 x) {
  u32 e = x >> 23 & 255, m = x & 0x7fffff;
  return fclass(e == 255 && m && !(m >> 22), e == 255 && (m >> 22), x >> 31, e == 255 && !m,
                e == 0 && m, e == 0 && !m);
}
static inline u32 cls16(u32 x) {
  u32 e = x >> 10 & 31, m = x & 0x3ff;
  return fclass(e == 31 && m && !(m >> 9), e == 31 && (m >> 9), x >> 15 & 1, e == 31 && !m,
                e == 0 && m, e == 0 && !m);
}
static inline u32 cls64(u64 x) {
  u64 e = x >> 52 & 2047, m = x & 0xfffffffffffffull;
  return fclass(e == 2047 && m && !(m >> 51), e == 2047 && (m >> 51), x >> 63, e == 2047 && !m,
                e == 0 && m, e == 0 && !m);
}
template <class TT>
static bool fcmp(int c, TT a, TT b) {
  bool u = a != a || b != b;
  switch (c) {
    case 0:
      return false;
    case 1:
      return a < b;
    case 2:
      return a == b;
    case 3:
      return a <= b;
    case 4:
      return a > b;
    case 5:
      return !u && a != b;
    case 6:
      return a >= b;
    case 7:
      return !u;
    case 8:
      return u;
    case 9:
      return !(a >= b);
    case 10:
      return !(!u && a != b);
    case 11:
      return !(a > b);
    case 12:
      return !(a <= b);
    case 13:
      return !(a == b);
    case 14:
      return !(a < b);
    default:
      return true;
  }
}
template <class TT>
static inline bool icmp(int c, TT a, TT b) {
  switch (c) {
    case 0:
      return false;
    case 1:
      return a < b;
    case 2:
      return a == b;
    case 3:
      return a <= b;
    case 4:
      return a > b;
    case 5:
      return a != b;
    case 6:
      return a >= b;
    default:
      return true;
  }
}
// Number of bits above the highest set bit; above the first bit that differs from the sign.
static inline u32 ffbh(u32 a) { return a ? __builtin_clz(a) : ~0u; }
static inline u32 cls_(u32 a) {
  u32 b = (i32)a < 0 ? ~a : a;
  return b ? __builtin_clz(b) : ~0u;
}
