// The parts of tables of vector operations.
//
// A macro per form: I, S, F, H, D are integers of 32 and 16 bits and floats of 32, 16 and 64 bits;
// the digit is the number of operands, which the expression calls a, b and c.
#pragma once

#include "floats.h"
#include "machine.h"

// The lanes of operand `i`, called `name`; WIDTH is that of its sign.
#define A32(name, i, width) \
  u32 t##name[kLanes];      \
  const u32* name = src<width>(w, o.s[i], t##name)
#define A64(name, i) \
  u64 name[kLanes];  \
  src64(w, o.s[i], name)

static inline float omod(float x, const Op& o) {
  if (o.output_modifier == 1)
    x *= 2;
  else if (o.output_modifier == 2)
    x *= 4;
  else if (o.output_modifier == 3)
    x *= .5f;
  if (o.clamp) {
    if (!(x > 0))
      x = 0;
    else if (x > 1)
      x = 1;
  }
  return x;
}
NOINLINE __attribute__((unused)) static void ftzv(Wave& w, const u32*& p, u32* t) {
  if (w.ftz()) {
    L64
      t[l] = ftzu(p[l]);
    p = t;
  }
}
NOINLINE __attribute__((unused)) static void postf(Wave& w, const Op& o, u32* r) {
  if (o.output_modifier && !w.ftz())
    return fail(w, "an output modifier while denormals are enabled, which the hardware ignores");
  if (w.ftz())
    L64
      r[l] = ftzu(r[l]);
  if (o.output_modifier | o.clamp)
    L64
      r[l] = asu(omod(asf(r[l]), o));
}
NOINLINE __attribute__((unused)) static void posth(Wave& w, const Op& o, u32* r) {
  if (o.output_modifier | o.clamp)
    L64
      r[l] = f2h(omod(h2f(r[l]), o));
}
NOINLINE __attribute__((unused)) static void postd(Wave& w, const Op& o, u64* r) {
  if (o.output_modifier | o.clamp)
    L64 {
      double x = asd(r[l]);
      if (o.output_modifier == 1)
        x *= 2;
      else if (o.output_modifier == 2)
        x *= 4;
      else if (o.output_modifier == 3)
        x *= .5;
      if (o.clamp) {
        if (!(x > 0))
          x = 0;
        else if (x > 1)
          x = 1;
      }
      r[l] = asq(x);
    }
}
// integer 32
#define I1(nm, ex)                          \
  {nm, "w", "w", [](Wave& w, const Op& o) { \
     A32(A, 0, 32);                         \
     u32 r[kLanes];                         \
     L64 {                                  \
       u32 a = A[l];                        \
       r[l] = (ex);                         \
     }                                      \
     wr(w, o.d[0], r);                      \
   }}
#define I2(nm, ex)                           \
  {nm, "w", "ww", [](Wave& w, const Op& o) { \
     A32(A, 0, 32);                          \
     A32(B, 1, 32);                          \
     u32 r[kLanes];                          \
     L64 {                                   \
       u32 a = A[l], b = B[l];               \
       r[l] = (ex);                          \
     }                                       \
     wr(w, o.d[0], r);                       \
   }}
#define I3(nm, ex)                            \
  {nm, "w", "www", [](Wave& w, const Op& o) { \
     A32(A, 0, 32);                           \
     A32(B, 1, 32);                           \
     A32(C, 2, 32);                           \
     u32 r[kLanes];                           \
     L64 {                                    \
       u32 a = A[l], b = B[l], c = C[l];      \
       r[l] = (ex);                           \
     }                                        \
     wr(w, o.d[0], r);                        \
   }}
// 16-bit ints: results zero-extended; operands masked
#define S1_(nm, ex)                         \
  {nm, "s", "s", [](Wave& w, const Op& o) { \
     A32(A, 0, 16);                         \
     u32 r[kLanes];                         \
     L64 {                                  \
       u32 a = (u16)A[l];                   \
       r[l] = (u16)(ex);                    \
     }                                      \
     wr(w, o.d[0], r);                      \
   }}
#define S2_(nm, ex)                          \
  {nm, "s", "ss", [](Wave& w, const Op& o) { \
     A32(A, 0, 16);                          \
     A32(B, 1, 16);                          \
     u32 r[kLanes];                          \
     L64 {                                   \
       u32 a = (u16)A[l], b = (u16)B[l];     \
       r[l] = (u16)(ex);                     \
     }                                       \
     wr(w, o.d[0], r);                       \
   }}
#define S3_(nm, ex)                                     \
  {nm, "s", "sss", [](Wave& w, const Op& o) {           \
     A32(A, 0, 16);                                     \
     A32(B, 1, 16);                                     \
     A32(C, 2, 16);                                     \
     u32 r[kLanes];                                     \
     L64 {                                              \
       u32 a = (u16)A[l], b = (u16)B[l], c = (u16)C[l]; \
       r[l] = (u16)(ex);                                \
     }                                                  \
     wr(w, o.d[0], r);                                  \
   }}
// f32
#define F1(nm, ex)                          \
  {nm, "f", "f", [](Wave& w, const Op& o) { \
     A32(A, 0, 32);                         \
     ftzv(w, A, tA);                        \
     u32 r[kLanes];                         \
     L64 {                                  \
       float a = asf(A[l]);                 \
       r[l] = asu((float)(ex));             \
     }                                      \
     postf(w, o, r);                        \
     wr(w, o.d[0], r);                      \
   }}
#define F2(nm, ex)                           \
  {nm, "f", "ff", [](Wave& w, const Op& o) { \
     A32(A, 0, 32);                          \
     A32(B, 1, 32);                          \
     ftzv(w, A, tA);                         \
     ftzv(w, B, tB);                         \
     u32 r[kLanes];                          \
     L64 {                                   \
       float a = asf(A[l]), b = asf(B[l]);   \
       r[l] = asu((float)(ex));              \
     }                                       \
     postf(w, o, r);                         \
     wr(w, o.d[0], r);                       \
   }}
#define F3(nm, ex)                                        \
  {nm, "f", "fff", [](Wave& w, const Op& o) {             \
     A32(A, 0, 32);                                       \
     A32(B, 1, 32);                                       \
     A32(C, 2, 32);                                       \
     ftzv(w, A, tA);                                      \
     ftzv(w, B, tB);                                      \
     ftzv(w, C, tC);                                      \
     u32 r[kLanes];                                       \
     L64 {                                                \
       float a = asf(A[l]), b = asf(B[l]), c = asf(C[l]); \
       r[l] = asu((float)(ex));                           \
     }                                                    \
     postf(w, o, r);                                      \
     wr(w, o.d[0], r);                                    \
   }}
#define H1(nm, ex)                          \
  {nm, "h", "h", [](Wave& w, const Op& o) { \
     A32(A, 0, 16);                         \
     u32 r[kLanes];                         \
     L64 {                                  \
       float a = h2f(A[l]);                 \
       r[l] = f2h((float)(ex));             \
     }                                      \
     posth(w, o, r);                        \
     wr(w, o.d[0], r);                      \
   }}
#define H2(nm, ex)                           \
  {nm, "h", "hh", [](Wave& w, const Op& o) { \
     A32(A, 0, 16);                          \
     A32(B, 1, 16);                          \
     u32 r[kLanes];                          \
     L64 {                                   \
       float a = h2f(A[l]), b = h2f(B[l]);   \
       r[l] = f2h((float)(ex));              \
     }                                       \
     posth(w, o, r);                         \
     wr(w, o.d[0], r);                       \
   }}
#define H3(nm, ex)                                         \
  {nm, "h", "hhh", [](Wave& w, const Op& o) {              \
     A32(A, 0, 16);                                        \
     A32(B, 1, 16);                                        \
     A32(C, 2, 16);                                        \
     u32 r[kLanes];                                        \
     L64 {                                                 \
       double a = h2f(A[l]), b = h2f(B[l]), c = h2f(C[l]); \
       r[l] = d2h((double)(ex));                           \
     }                                                     \
     posth(w, o, r);                                       \
     wr(w, o.d[0], r);                                     \
   }}
#define D1(nm, ex)                          \
  {nm, "d", "d", [](Wave& w, const Op& o) { \
     A64(A, 0);                             \
     u64 r[64];                             \
     L64 {                                  \
       double a = asd(A[l]);                \
       r[l] = asq(ex);                      \
     }                                      \
     postd(w, o, r);                        \
     wr64(w, o.d[0], r);                    \
   }}
#define D2(nm, ex)                           \
  {nm, "d", "dd", [](Wave& w, const Op& o) { \
     A64(A, 0);                              \
     A64(B, 1);                              \
     u64 r[64];                              \
     L64 {                                   \
       double a = asd(A[l]), b = asd(B[l]);  \
       r[l] = asq(ex);                       \
     }                                       \
     postd(w, o, r);                         \
     wr64(w, o.d[0], r);                     \
   }}
#define D3(nm, ex)                                         \
  {nm, "d", "ddd", [](Wave& w, const Op& o) {              \
     A64(A, 0);                                            \
     A64(B, 1);                                            \
     A64(C, 2);                                            \
     u64 r[64];                                            \
     L64 {                                                 \
       double a = asd(A[l]), b = asd(B[l]), c = asd(C[l]); \
       r[l] = asq(ex);                                     \
     }                                                     \
     postd(w, o, r);                                       \
     wr64(w, o.d[0], r);                                   \
   }}
static inline void cmpout(Wave& w, const Op& o, u64 m) {
  u64 ex = w.exec();
  u64 wm = w.wmask;
  m &= ex;
  (void)wm;
  if (o.immediate2) {
    setmask(w, o.d[0], m);
    w.exec() = m;
  } else
    setmask(w, o.d[0], m);
}
// packed helpers: half select with op_sel/op_sel_hi/neg_lo/neg_hi
static inline u32 pk(const Op& o, int i, u32 x, bool hi) {
  u32 h = ((hi ? o.op_sel_hi : o.op_sel) >> i & 1) ? x >> 16 : x & 0xffff;
  return h;
}
static inline u32 pkf(const Op& o, int i, u32 x, bool hi) {
  u32 h = pk(o, i, x, hi);
  if ((hi ? o.neg_hi : o.neg_lo) >> i & 1) h ^= 0x8000;
  return h;
}
template <class G>
static void pkrun(Wave& w, const Op& o, int n, bool fl, G g) {
  u32 t0[64], t1[64], t2[64];
  const u32 *A = src<0>(w, o.s[0], t0), *B = n > 1 ? src<0>(w, o.s[1], t1) : A,
            *C = n > 2 ? src<0>(w, o.s[2], t2) : A;
  u32 r[64];
  L64 {
    u32 q = 0;
    for (int h = 0; h < 2; h++) {
      u32 a = fl ? pkf(o, 0, A[l], h) : pk(o, 0, A[l], h),
          b = fl ? pkf(o, 1, B[l], h) : pk(o, 1, B[l], h),
          c = fl ? pkf(o, 2, C[l], h) : pk(o, 2, C[l], h);
      q |= (g(a, b, c) & 0xffff) << (h * 16);
    }
    r[l] = q;
  }
  wr(w, o.d[0], r);
}
static inline u32 clh(const Op& o, u32 h) { return o.clamp ? f2h(omod(h2f(h), o)) : h; }
#define PKH2(nm, ex)                               \
  {nm, "P", "PP", [](Wave& w, const Op& o) {       \
     pkrun(w, o, 2, true, [&](u32 x, u32 y, u32) { \
       float a = h2f(x), b = h2f(y);               \
       return clh(o, f2h(ex));                     \
     });                                           \
   }}
#define PKI2(nm, ex)                                                      \
  {nm, "p", "pp", [](Wave& w, const Op& o) {                              \
     pkrun(w, o, 2, false, [&](u32 a, u32 b, u32) { return (u32)(ex); }); \
   }}
#define PKI3(nm, ex)                                                        \
  {nm, "p", "ppp", [](Wave& w, const Op& o) {                               \
     pkrun(w, o, 3, false, [&](u32 a, u32 b, u32 c) { return (u32)(ex); }); \
   }}
NOINLINE __attribute__((unused)) static void pkf32(Wave& w, const Op& o, int n, int kind) {
  u64 s[3][64];
  for (int i = 0; i < n; i++) {
    Src q = o.s[i];
    q.negate = q.absolute = 0;
    src64(w, q, s[i]);
  }
  u64 r[64];
  for (int l = 0; l < 64; l++) {
    u64 q = 0;
    for (int h = 0; h < 2; h++) {
      float x[3];
      for (int i = 0; i < n; i++) {
        u32 b = ((h ? o.op_sel_hi : o.op_sel) >> i & 1) ? s[i][l] >> 32 : (u32)s[i][l];
        if ((h ? o.neg_hi : o.neg_lo) >> i & 1) b ^= 0x80000000;
        if (w.ftz()) b = ftzu(b);
        x[i] = asf(b);
      }
      float y = kind == 0   ? x[0] + x[1]
                : kind == 1 ? x[0] * x[1]
                            : __builtin_fmaf(x[0], x[1], x[2]);
      u32 b = asu(y);
      if (w.ftz()) b = ftzu(b);
      if (o.clamp) b = asu(omod(asf(b), o));
      q |= (u64)b << (32 * h);
    }
    r[l] = q;
  }
  wr64(w, o.d[0], r);
}
static inline float mixsrc(const Op& o, int i, u32 x) {
  float f;
  if (!(o.op_sel_hi >> i & 1))
    f = asf(x);
  else
    f = h2f((o.op_sel >> i & 1) ? x >> 16 : x & 0xffff);
  if (o.neg_hi >> i & 1) f = fabs(f);
  if (o.neg_lo >> i & 1) f = -f;
  return f;
}
