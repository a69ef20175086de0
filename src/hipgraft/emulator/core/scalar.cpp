// Scalar operations, branches and waits.
#include "vector.h"

namespace {

#define SOP2W(nm, ...)                                    \
  {nm, "w", "ww", [](Wave& w, const Op& o) {              \
     u32 a = scal32(w, o.s[0]), b = scal32(w, o.s[1]), r; \
     __VA_ARGS__;                                         \
     sw32(w, o.d[0], r);                                  \
   }}
#define SOP2Q(nm, ...)                                    \
  {nm, "q", "qq", [](Wave& w, const Op& o) {              \
     u64 a = scal64(w, o.s[0]), b = scal64(w, o.s[1]), r; \
     __VA_ARGS__;                                         \
     sw64(w, o.d[0], r);                                  \
   }}
#define SOP1W(nm, ...)                      \
  {nm, "w", "w", [](Wave& w, const Op& o) { \
     u32 a = scal32(w, o.s[0]), r;          \
     __VA_ARGS__;                           \
     sw32(w, o.d[0], r);                    \
   }}
#define SOP1Q(nm, ...)                      \
  {nm, "q", "q", [](Wave& w, const Op& o) { \
     u64 a = scal64(w, o.s[0]), r;          \
     __VA_ARGS__;                           \
     sw64(w, o.d[0], r);                    \
   }}
#define SCMP(nm, ty, ex)                                      \
  {"s_cmp_" nm, "", "ww", [](Wave& w, const Op& o) {          \
     ty a = (ty)scal32(w, o.s[0]), b = (ty)scal32(w, o.s[1]); \
     w.scc = (ex);                                            \
   }}
#define SCMPK(nm, ty, ex)                              \
  {"s_cmpk_" nm, "", "wi", [](Wave& w, const Op& o) {  \
     ty a = (ty)scal32(w, o.s[0]), b = (ty)o.s[1].low; \
     w.scc = (ex);                                     \
   }}
static void setmode(Wave& w, u32 hw, u32 val) {
  u32 id = hw & 63, off = hw >> 6 & 31, sz = (hw >> 11 & 31) + 1;
  if (id != 1) return fail(w, "s_setreg on a register other than MODE");
  u32 m = (sz == 32 ? ~0u : ((1u << sz) - 1)) << off;
  w.mode = (w.mode & ~m) | ((val << off) & m);
  if (w.mode & 0xf) return fail(w, "rounding mode other than nearest-even");
  if (((w.mode >> 6) & 3) != 3) return fail(w, "f16/f64 denormal flush mode not supported");
}
template <int SH>
static void saveexec(Wave& w, const Op& o, u64 a, bool q) {
  u64 e = w.exec(), n = 0;
  switch (SH) {
    case 0:
      n = a & e;
      break;
    case 1:
      n = a | e;
      break;
    case 2:
      n = a ^ e;
      break;
    case 3:
      n = a & ~e;
      break;
    case 4:
      n = a | ~e;
      break;
    case 5:
      n = ~(a & e);
      break;
    case 6:
      n = ~(a | e);
      break;
    case 7:
      n = ~(a ^ e);
      break;
    case 8:
      n = ~a & e;
      break;
    case 9:
      n = ~a | e;
      break;
  }
  n = em(w, n);
  if (q)
    sw64(w, o.d[0], e);
  else
    sw32(w, o.d[0], (u32)e);
  w.exec() = n;
  w.scc = n != 0;
}
#define SAVEEXEC(nm, k)                                                           \
  {"s_" nm "_saveexec_b64", "q", "q",                                             \
   [](Wave& w, const Op& o) { saveexec<k>(w, o, scal64(w, o.s[0]), true); }},     \
  {                                                                               \
    "s_" nm "_saveexec_b32", "w", "w",                                            \
        [](Wave& w, const Op& o) { saveexec<k>(w, o, scal32(w, o.s[0]), false); } \
  }
static inline void br(Wave& w, const Op& o) {
  if (o.target < 0) return fail(w, "branch outside kernel");
  w.pc = o.target;
}

#define LOG(nm, ex) \
  SOP2W("s_" nm "_b32", r = (ex); w.scc = r != 0), SOP2Q("s_" nm "_b64", r = (ex); w.scc = r != 0)
#define SH64(nm, ex)                         \
  {nm, "q", "qw", [](Wave& w, const Op& o) { \
     u64 a = scal64(w, o.s[0]);              \
     u32 b = scal32(w, o.s[1]) & 63;         \
     u64 r = (ex);                           \
     w.scc = r != 0;                         \
     sw64(w, o.d[0], r);                     \
   }}
#define SC(nm, ty, ex) SCMP(nm, ty, ex), SCMPK(nm, ty, ex)
#define SF2(nm, ex)                                                \
  {nm, "w", "ff", [](Wave& w, const Op& o) {                       \
     float a = asf(scal32(w, o.s[0])), b = asf(scal32(w, o.s[1])); \
     sw32(w, o.d[0], asu(ex));                                     \
   }}
#define SFC(nm, k)                                                           \
  {"s_cmp_" nm "_f32", "", "ff", [](Wave& w, const Op& o) {                  \
     w.scc = fcmp<float>(k, asf(scal32(w, o.s[0])), asf(scal32(w, o.s[1]))); \
   }}

#define VS(nm, ex)                                         \
  {"v_s_" nm "_f32", "w", "f",                             \
   [](Wave& w, const Op& o) {                              \
     u32 x = scal32(w, o.s[0]);                            \
     if (o.s[0].absolute) x &= 0x7fffffff;                 \
     if (o.s[0].negate) x ^= 0x80000000;                   \
     float a = asf(x);                                     \
     sw32(w, o.d[0], asu(omod((float)(ex), o)));           \
   }},                                                     \
  {                                                        \
    "v_s_" nm "_f16", "w", "h", [](Wave& w, const Op& o) { \
      u32 x = scal32(w, o.s[0]);                           \
      if (o.s[0].absolute) x &= 0x7fff;                    \
      if (o.s[0].negate) x ^= 0x8000;                      \
      float a = h2f(x);                                    \
      sw32(w, o.d[0], f2h(omod((float)(ex), o)));          \
    }                                                      \
  }
#define SH2(nm, ex)                                                \
  {"s_" nm "_f16", "w", "hh", [](Wave& w, const Op& o) {           \
     float a = h2f(scal32(w, o.s[0])), b = h2f(scal32(w, o.s[1])); \
     sw32(w, o.d[0], f2h(ex));                                     \
   }}
#define SHC(nm, k)                                                           \
  {"s_cmp_" nm "_f16", "", "hh", [](Wave& w, const Op& o) {                  \
     w.scc = fcmp<float>(k, h2f(scal32(w, o.s[0])), h2f(scal32(w, o.s[1]))); \
   }}

#define NOTHING(name)                             \
  {                                               \
    name, "@", "NOP", [](Wave& w, const Op& o) {} \
  }

// A scalar register and the next `count - 1`, indexed by M0.
static int indexed(Wave& w, int first, int count) {
  int i = first + (int)w.s[kM0];
  if (i >= 0 && i + count <= 106) return i;
  fail(w, "index of a scalar register");
  return first;
}

// clang-format off
const Operation kOperations[] = {
    // SALU
    SOP1W("s_mov_b32", r = a),
    SOP1Q("s_mov_b64", r = a),
    {"s_movk_i32", "w", "i", [](Wave& w, const Op& o) { sw32(w, o.d[0], o.s[0].low); }},
    {"s_cmovk_i32", "w", "i",
     [](Wave& w, const Op& o) {
       if (w.scc) sw32(w, o.d[0], o.s[0].low);
     }},
    {"s_cmov_b32", "w", "w",
     [](Wave& w, const Op& o) {
       if (w.scc) sw32(w, o.d[0], scal32(w, o.s[0]));
     }},
    {"s_cmov_b64", "q", "q",
     [](Wave& w, const Op& o) {
       if (w.scc) sw64(w, o.d[0], scal64(w, o.s[0]));
     }},
    SOP2W("s_add_u32", u64 t = (u64)a + b; r = t; w.scc = t >> 32),
    SOP2W("s_sub_u32", r = a - b; w.scc = a < b),
    SOP2W("s_add_i32", i64 t = (i64)(i32)a + (i32)b; r = (u32)t; w.scc = t != (i32)t),
    SOP2W("s_sub_i32", i64 t = (i64)(i32)a - (i32)b; r = (u32)t; w.scc = t != (i32)t),
    SOP2W("s_addc_u32", u64 t = (u64)a + b + w.scc; r = t; w.scc = t >> 32),
    SOP2W("s_subb_u32", u64 bb = (u64)b + w.scc; r = a - (u32)bb; w.scc = a < bb),
    ALIAS("s_add_co_u32", "s_add_u32"),
    ALIAS("s_sub_co_u32", "s_sub_u32"),
    ALIAS("s_add_co_i32", "s_add_i32"),
    ALIAS("s_sub_co_i32", "s_sub_i32"),
    ALIAS("s_add_co_ci_u32", "s_addc_u32"),
    ALIAS("s_sub_co_ci_u32", "s_subb_u32"),
    SOP2Q("s_add_nc_u64", r = a + b),
    SOP2Q("s_sub_nc_u64", r = a - b),
    SOP2Q("s_mul_u64", r = a * b),
    ALIAS("s_add_u64", "s_add_nc_u64"),
    ALIAS("s_sub_u64", "s_sub_nc_u64"),
    SOP2W("s_min_i32", w.scc = (i32)a < (i32)b; r = w.scc ? a : b),
    SOP2W("s_min_u32", w.scc = a < b; r = w.scc ? a : b),
    SOP2W("s_max_i32", w.scc = (i32)a > (i32)b; r = w.scc ? a : b),
    SOP2W("s_max_u32", w.scc = a > b; r = w.scc ? a : b),
    SOP2W("s_cselect_b32", r = w.scc ? a : b),
    SOP2Q("s_cselect_b64", r = w.scc ? a : b),
    LOG("and", a& b),
    LOG("or", a | b),
    LOG("xor", a ^ b),
    LOG("andn2", a & ~b),
    LOG("orn2", a | ~b),
    LOG("nand", ~(a& b)),
    LOG("nor", ~(a | b)),
    LOG("xnor", ~(a ^ b)),
    LOG("and_not1", a & ~b),
    LOG("or_not1", a | ~b),
    SOP2W("s_lshl_b32", r = a << (b & 31); w.scc = r != 0),
    SOP2W("s_lshr_b32", r = a >> (b & 31); w.scc = r != 0),
    SOP2W("s_ashr_i32", r = (u32)((i32)a >> (b & 31)); w.scc = r != 0),
    SH64("s_lshl_b64", a << b),
    SH64("s_lshr_b64", a >> b),
    SH64("s_ashr_i64", (u64)((i64)a >> b)),
    SOP2W("s_bfm_b32", r = ((1u << (a & 31)) - 1) << (b & 31)),
    {"s_bfm_b64", "q", "ww",
     [](Wave& w, const Op& o) {
       u32 a = scal32(w, o.s[0]), b = scal32(w, o.s[1]);
       sw64(w, o.d[0], ((1ull << (a & 63)) - 1) << (b & 63));
     }},
    SOP2W("s_mul_i32", r = a * b),
    SOP2W("s_mul_hi_u32", r = (u64)a * b >> 32),
    SOP2W("s_mul_hi_i32", r = (i64)(i32)a * (i32)b >> 32),
    SOP2W("s_bfe_u32", u32 of = b & 31, wd = b >> 16 & 127;
          r = wd == 0    ? 0
              : wd >= 32 ? a >> of
                         : (a >> of) & ((1u << wd) - 1);
          w.scc = r != 0),
    SOP2W("s_bfe_i32", u32 of = b & 31, wd = b >> 16 & 127; if (wd > 32 - of) wd = 32 - of;
          r = wd == 0 ? 0 : (u32)((i32)(a << (32 - of - wd)) >> (32 - wd)); w.scc = r != 0),
    {"s_bfe_u64", "q", "qw",
     [](Wave& w, const Op& o) {
       u64 a = scal64(w, o.s[0]);
       u32 b = scal32(w, o.s[1]), of = b & 63, wd = b >> 16 & 127;
       u64 r = wd == 0 ? 0 : wd >= 64 ? a >> of : (a >> of) & ((1ull << wd) - 1);
       w.scc = r != 0;
       sw64(w, o.d[0], r);
     }},
    {"s_bfe_i64", "q", "qw",
     [](Wave& w, const Op& o) {
       u64 a = scal64(w, o.s[0]);
       u32 b = scal32(w, o.s[1]), of = b & 63, wd = b >> 16 & 127;
       if (wd > 64 - of) wd = 64 - of;
       u64 r = wd == 0 ? 0 : (u64)((i64)(a << (64 - of - wd)) >> (64 - wd));
       w.scc = r != 0;
       sw64(w, o.d[0], r);
     }},
    SOP2W("s_lshl1_add_u32", u64 t = ((u64)a << 1) + b; r = t; w.scc = t >> 32 != 0),
    SOP2W("s_lshl2_add_u32", u64 t = ((u64)a << 2) + b; r = t; w.scc = t >> 32 != 0),
    SOP2W("s_lshl3_add_u32", u64 t = ((u64)a << 3) + b; r = t; w.scc = t >> 32 != 0),
    SOP2W("s_lshl4_add_u32", u64 t = ((u64)a << 4) + b; r = t; w.scc = t >> 32 != 0),
    SOP2W("s_pack_ll_b32_b16", r = (a & 0xffff) | b << 16),
    SOP2W("s_pack_lh_b32_b16", r = (a & 0xffff) | (b & 0xffff0000)),
    SOP2W("s_pack_hh_b32_b16", r = (a >> 16) | (b & 0xffff0000)),
    SOP2W("s_pack_hl_b32_b16", r = (a >> 16) | b << 16),
    SOP2W("s_absdiff_i32", r = a - b; if ((i32)r < 0) r = 0u - r; w.scc = r != 0),
    SOP1W("s_not_b32", r = ~a; w.scc = r != 0),
    SOP1Q("s_not_b64", r = ~a; w.scc = r != 0),
    SOP1W("s_brev_b32", a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
          a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
          a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4; r = __builtin_bswap32(a)),
    {"s_brev_b64", "q", "q",
     [](Wave& w, const Op& o) {
       u64 a = scal64(w, o.s[0]), r = 0;
       for (int i = 0; i < 64; ++i) r = r << 1 | (a >> i & 1);
       sw64(w, o.d[0], r);
     }},
    SOP1W("s_abs_i32", r = (i32)a < 0 ? 0u - a : a; w.scc = r != 0),
    SOP1W("s_sext_i32_i8", r = (u32)(i32)(i8)a),
    SOP1W("s_sext_i32_i16", r = (u32)(i32)(i16)a),
    SOP1W("s_bcnt1_i32_b32", r = __builtin_popcount(a); w.scc = r != 0),
    {"s_bcnt1_i32_b64", "w", "q",
     [](Wave& w, const Op& o) {
       u32 r = __builtin_popcountll(scal64(w, o.s[0]));
       w.scc = r != 0;
       sw32(w, o.d[0], r);
     }},
    SOP1W("s_bcnt0_i32_b32", r = 32 - __builtin_popcount(a); w.scc = r != 0),
    {"s_bcnt0_i32_b64", "w", "q",
     [](Wave& w, const Op& o) {
       u32 r = 64 - __builtin_popcountll(scal64(w, o.s[0]));
       w.scc = r != 0;
       sw32(w, o.d[0], r);
     }},
    SOP1W("s_ff0_i32_b32", r = ~a ? __builtin_ctz(~a) : ~0u),
    {"s_ff0_i32_b64", "w", "q",
     [](Wave& w, const Op& o) {
       u64 a = ~scal64(w, o.s[0]);
       sw32(w, o.d[0], a ? __builtin_ctzll(a) : ~0u);
     }},
    SOP1W("s_ff1_i32_b32", r = a ? __builtin_ctz(a) : ~0u),
    ALIAS("s_ctz_i32_b32", "s_ff1_i32_b32"),
    {"s_ff1_i32_b64", "w", "q",
     [](Wave& w, const Op& o) {
       u64 a = scal64(w, o.s[0]);
       sw32(w, o.d[0], a ? __builtin_ctzll(a) : ~0u);
     }},
    ALIAS("s_ctz_i32_b64", "s_ff1_i32_b64"),
    SOP1W("s_flbit_i32_b32", r = ffbh(a)),
    ALIAS("s_clz_i32_u32", "s_flbit_i32_b32"),
    SOP1W("s_flbit_i32", r = cls_(a)),
    ALIAS("s_cls_i32", "s_flbit_i32"),
    {"s_flbit_i32_b64", "w", "q",
     [](Wave& w, const Op& o) {
       u64 a = scal64(w, o.s[0]);
       sw32(w, o.d[0], a ? __builtin_clzll(a) : ~0u);
     }},
    ALIAS("s_clz_i32_u64", "s_flbit_i32_b64"),
    {"s_flbit_i32_i64", "w", "q",
     [](Wave& w, const Op& o) {
       i64 a = (i64)scal64(w, o.s[0]);
       u64 other = a < 0 ? ~a : a;  // a one for each bit that differs from the sign
       sw32(w, o.d[0], other ? __builtin_clzll(other) : ~0u);
     }},
    ALIAS("s_cls_i32_i64", "s_flbit_i32_i64"),
    {"s_bitset0_b64", "q", "w",
     [](Wave& w, const Op& o) {
       w.s[o.d[0].index + (scal32(w, o.s[0]) >> 5 & 1)] &= ~(1u << (scal32(w, o.s[0]) & 31));
     }},
    {"s_bitset1_b64", "q", "w",
     [](Wave& w, const Op& o) {
       w.s[o.d[0].index + (scal32(w, o.s[0]) >> 5 & 1)] |= 1u << (scal32(w, o.s[0]) & 31);
     }},
    {"s_bitset0_b32", "w", "w",
     [](Wave& w, const Op& o) { w.s[o.d[0].index] &= ~(1u << (scal32(w, o.s[0]) & 31)); }},
    {"s_bitset1_b32", "w", "w",
     [](Wave& w, const Op& o) { w.s[o.d[0].index] |= (1u << (scal32(w, o.s[0]) & 31)); }},
    {"s_bitcmp0_b32", "", "ww",
     [](Wave& w, const Op& o) { w.scc = !(scal32(w, o.s[0]) >> (scal32(w, o.s[1]) & 31) & 1); }},
    {"s_bitcmp1_b32", "", "ww",
     [](Wave& w, const Op& o) { w.scc = scal32(w, o.s[0]) >> (scal32(w, o.s[1]) & 31) & 1; }},
    {"s_bitcmp0_b64", "", "qw",
     [](Wave& w, const Op& o) { w.scc = !(scal64(w, o.s[0]) >> (scal32(w, o.s[1]) & 63) & 1); }},
    {"s_bitcmp1_b64", "", "qw",
     [](Wave& w, const Op& o) { w.scc = scal64(w, o.s[0]) >> (scal32(w, o.s[1]) & 63) & 1; }},
    SAVEEXEC("and", 0),
    SAVEEXEC("or", 1),
    SAVEEXEC("xor", 2),
    SAVEEXEC("andn2", 3),
    SAVEEXEC("orn2", 4),
    SAVEEXEC("nand", 5),
    SAVEEXEC("nor", 6),
    SAVEEXEC("xnor", 7),
    SAVEEXEC("andn1", 8),
    SAVEEXEC("orn1", 9),
    SAVEEXEC("and_not1", 3),
    SAVEEXEC("or_not1", 4),
    SAVEEXEC("and_not0", 8),
    SAVEEXEC("or_not0", 9),
    SC("eq_i32", i32, a == b),
    SC("lg_i32", i32, a != b),
    SC("gt_i32", i32, a > b),
    SC("ge_i32", i32, a >= b),
    SC("lt_i32", i32, a < b),
    SC("le_i32", i32, a <= b),
    SC("eq_u32", u32, a == b),
    SC("lg_u32", u32, a != b),
    SC("gt_u32", u32, a > b),
    SC("ge_u32", u32, a >= b),
    SC("lt_u32", u32, a < b),
    SC("le_u32", u32, a <= b),
    {"s_cmp_eq_u64", "", "qq",
     [](Wave& w, const Op& o) { w.scc = scal64(w, o.s[0]) == scal64(w, o.s[1]); }},
    {"s_cmp_lg_u64", "", "qq",
     [](Wave& w, const Op& o) { w.scc = scal64(w, o.s[0]) != scal64(w, o.s[1]); }},
    {"s_addk_i32", "w", "i",
     [](Wave& w, const Op& o) {
       i64 t = (i64)(i32)w.s[o.d[0].index] + (i32)o.s[0].low;
       w.scc = t != (i32)t;
       sw32(w, o.d[0], (u32)t);
     }},
    ALIAS("s_addk_co_i32", "s_addk_i32"),
    {"s_mulk_i32", "w", "i",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], w.s[o.d[0].index] * o.s[0].low); }},
    SF2("s_add_f32", a + b),
    SF2("s_sub_f32", a - b),
    SF2("s_mul_f32", a* b),
    SF2("s_max_f32", fmaxq(a, b)),
    SF2("s_min_f32", fminq(a, b)),
    SF2("s_max_num_f32", fmaxq(a, b)),
    SF2("s_min_num_f32", fminq(a, b)),
    {"s_fmac_f32", "w", "ff",
     [](Wave& w, const Op& o) {
       sw32(w, o.d[0],
            asu(__builtin_fmaf(asf(scal32(w, o.s[0])), asf(scal32(w, o.s[1])),
                               asf(w.s[o.d[0].index]))));
     }},
    {"s_fmaak_f32", "w", "fff",
     [](Wave& w, const Op& o) {
       sw32(w, o.d[0],
            asu(__builtin_fmaf(asf(scal32(w, o.s[0])), asf(scal32(w, o.s[1])),
                               asf(scal32(w, o.s[2])))));
     }},
    ALIAS("s_fmamk_f32", "s_fmaak_f32"),
    {"s_cvt_f32_i32", "w", "w",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], asu((float)(i32)scal32(w, o.s[0]))); }},
    {"s_cvt_f32_u32", "w", "w",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], asu((float)scal32(w, o.s[0]))); }},
    {"s_cvt_i32_f32", "w", "f",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], cvti32(asf(scal32(w, o.s[0])))); }},
    {"s_cvt_u32_f32", "w", "f",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], cvtu32(asf(scal32(w, o.s[0])))); }},
    {"s_cvt_f32_f16", "w", "h",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], asu(h2f(scal32(w, o.s[0])))); }},
    {"s_cvt_hi_f32_f16", "w", "w",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], asu(h2f(scal32(w, o.s[0]) >> 16))); }},
    {"s_cvt_f16_f32", "w", "f",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], f2h(asf(scal32(w, o.s[0])))); }},
    {"s_trunc_f32", "w", "f",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], asu(trunc(asf(scal32(w, o.s[0]))))); }},
    {"s_floor_f32", "w", "f",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], asu(floor(asf(scal32(w, o.s[0]))))); }},
    {"s_ceil_f32", "w", "f",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], asu(ceil(asf(scal32(w, o.s[0]))))); }},
    {"s_rndne_f32", "w", "f",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], asu(rndne(asf(scal32(w, o.s[0]))))); }},
    SFC("lt", 1),
    SFC("eq", 2),
    SFC("le", 3),
    SFC("gt", 4),
    SFC("lg", 5),
    SFC("ge", 6),
    SFC("o", 7),
    SFC("u", 8),
    SFC("nge", 9),
    SFC("nlg", 10),
    SFC("ngt", 11),
    SFC("nle", 12),
    SFC("neq", 13),
    SFC("nlt", 14),
    {"s_getpc_b64", "q", "",
     [](Wave& w, const Op& o) { sw64(w, o.d[0], w.E->image + o.address + 4); }},
    {"s_setreg_imm32_b32", "@", "SETREG",
     [](Wave& w, const Op& o) { setmode(w, o.immediate, o.immediate2); }},
    {"s_setreg_b32", "@", "SETREGR",
     [](Wave& w, const Op& o) { setmode(w, o.immediate, scal32(w, o.s[0])); }},
    {"s_denorm_mode", "@", "IMM",
     [](Wave& w, const Op& o) { setmode(w, 1 | 4 << 6 | 3 << 11, o.immediate); }},
    {"s_round_mode", "@", "IMM",
     [](Wave& w, const Op& o) { setmode(w, 1 | 0 << 6 | 3 << 11, o.immediate); }},
    // The emulator executes in order and has no caches, so these do nothing.
    NOTHING("s_nop"),
    NOTHING("s_waitcnt"),
    NOTHING("s_clause"),
    NOTHING("s_delay_alu"),
    NOTHING("s_sleep"),
    NOTHING("s_setprio"),
    NOTHING("s_inst_prefetch"),
    NOTHING("s_set_inst_prefetch_distance"),
    NOTHING("s_waitcnt_depctr"),
    NOTHING("s_waitcnt_vscnt"),
    NOTHING("s_waitcnt_vmcnt"),
    NOTHING("s_waitcnt_lgkmcnt"),
    NOTHING("s_waitcnt_expcnt"),
    NOTHING("s_sendmsg"),
    NOTHING("s_icache_inv"),
    NOTHING("s_dcache_wb"),
    NOTHING("s_dcache_inv"),
    NOTHING("buffer_wbl2"),
    NOTHING("buffer_inv"),
    NOTHING("buffer_gl0_inv"),
    NOTHING("buffer_gl1_inv"),
    NOTHING("buffer_wbinvl1"),
    NOTHING("buffer_wbinvl1_vol"),
    NOTHING("s_ttracedata"),
    NOTHING("s_code_end"),
    NOTHING("s_wait_idle"),
    NOTHING("s_wait_loadcnt"),
    NOTHING("s_wait_storecnt"),
    NOTHING("s_wait_dscnt"),
    NOTHING("s_wait_kmcnt"),
    NOTHING("s_wait_samplecnt"),
    NOTHING("s_wait_bvhcnt"),
    NOTHING("s_wait_expcnt"),
    NOTHING("s_wait_loadcnt_dscnt"),
    NOTHING("s_wait_storecnt_dscnt"),
    NOTHING("s_wait_alu"),
    NOTHING("s_wait_event"),
    NOTHING("s_barrier_signal"),
    NOTHING("global_inv"),
    NOTHING("global_wb"),
    NOTHING("global_wbinv"),
    NOTHING("s_prefetch_inst"),
    NOTHING("s_prefetch_inst_pc_rel"),
    NOTHING("s_prefetch_data"),
    NOTHING("s_singleuse_vdst"),
    NOTHING("v_nop"),
    NOTHING("s_incperflevel"),
    NOTHING("s_decperflevel"),
    NOTHING("s_wakeup"),
    {"s_barrier", "@", "NOP", [](Wave& w, const Op& o) { w.state = 1; }},
    {"s_barrier_wait", "@", "NOP", [](Wave& w, const Op& o) { w.state = 1; }},
    {"s_endpgm", "@", "NOP", [](Wave& w, const Op& o) { w.state = 2; }},
    {"s_endpgm_saved", "@", "NOP", [](Wave& w, const Op& o) { w.state = 2; }},
    {"s_trap", "@", "NOP", [](Wave& w, const Op& o) { return fail(w, "s_trap"); }},
    {"s_branch", "@", "BR", [](Wave& w, const Op& o) { br(w, o); }},
    {"s_cbranch_scc0", "@", "BR",
     [](Wave& w, const Op& o) {
       if (!w.scc) br(w, o);
     }},
    {"s_cbranch_scc1", "@", "BR",
     [](Wave& w, const Op& o) {
       if (w.scc) br(w, o);
     }},
    {"s_cbranch_vccz", "@", "BR",
     [](Wave& w, const Op& o) {
       if (!em(w, w.vcc())) br(w, o);
     }},
    {"s_cbranch_vccnz", "@", "BR",
     [](Wave& w, const Op& o) {
       if (em(w, w.vcc())) br(w, o);
     }},
    {"s_cbranch_execz", "@", "BR",
     [](Wave& w, const Op& o) {
       if (!w.exec()) br(w, o);
     }},
    {"s_cbranch_execnz", "@", "BR",
     [](Wave& w, const Op& o) {
       if (w.exec()) br(w, o);
     }},
    // register-indexed moves, scalar transcendental (gfx12)
    {"s_movrels_b32", "w", "w",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], w.s[indexed(w, o.s[0].index, 1)]); }},
    {"s_movrels_b64", "q", "q",
     [](Wave& w, const Op& o) {
       int i = indexed(w, o.s[0].index, 2);
       sw64(w, o.d[0], w.s[i] | (u64)w.s[i + 1] << 32);
     }},
    {"s_movreld_b32", "w", "w",
     [](Wave& w, const Op& o) { w.s[indexed(w, o.d[0].index, 1)] = scal32(w, o.s[0]); }},
    {"s_movreld_b64", "q", "q",
     [](Wave& w, const Op& o) {
       u64 a = scal64(w, o.s[0]);
       int i = indexed(w, o.d[0].index, 2);
       w.s[i] = (u32)a;
       w.s[i + 1] = (u32)(a >> 32);
     }},
    {"v_movrels_b32", "w", "w",
     [](Wave& w, const Op& o) {
       int i = o.s[0].index + (int)w.s[kM0];
       if (o.s[0].kind != OPERAND_VECTOR || i < 0 || i >= 256) return fail(w, "movrels index");
       u32 r[64];
       memcpy(r, w.v[i], 256);
       wr(w, o.d[0], r);
     }},
    {"v_movreld_b32", "w", "w",
     [](Wave& w, const Op& o) {
       Dst d = o.d[0];
       d.index += (int)w.s[kM0];
       if (d.index < 0 || d.index >= 256) return fail(w, "movreld index");
       A32(A, 0, 32);
       u32 r[64];
       memcpy(r, A, 256);
       wr(w, d, r);
     }},
    {"v_movrelsd_b32", "w", "w",
     [](Wave& w, const Op& o) {
       int i = o.s[0].index + (int)w.s[kM0];
       Dst d = o.d[0];
       d.index += (int)w.s[kM0];
       if (i >= 256 || d.index >= 256) return fail(w, "movrelsd index");
       u32 r[64];
       memcpy(r, w.v[i], 256);
       wr(w, d, r);
     }},
    VS("rcp", 1.0f / a),
    VS("rsq", 1.0 / sqrt((double)a)),
    VS("sqrt", sqrt(a)),
    VS("exp", exp2((double)a)),
    VS("log", log2((double)a)),
    {"s_set_gpr_idx_on", "@", "GPRIDX",
     [](Wave& w, const Op& o) {
       w.s[kM0] =
           (w.s[kM0] & ~0xf0ffu) | (scal32(w, o.s[0]) & 0xff) | (u32)(o.immediate & 15) << 12;
       w.indexed = 1;
     }},
    {"s_set_gpr_idx_off", "@", "NOP", [](Wave& w, const Op& o) { w.indexed = 0; }},
    {"s_set_gpr_idx_mode", "@", "IMM",
     [](Wave& w, const Op& o) {
       w.s[kM0] = (w.s[kM0] & ~0xf000u) | (u32)(o.immediate & 15) << 12;
     }},
    {"s_set_gpr_idx_idx", "", "w",
     [](Wave& w, const Op& o) { w.s[kM0] = (w.s[kM0] & ~0xffu) | (scal32(w, o.s[0]) & 0xff); }},
    SH2("add", a + b),
    SH2("sub", a - b),
    SH2("mul", a* b),
    SH2("max_num", fmaxq(a, b)),
    SH2("min_num", fminq(a, b)),
    ALIAS("s_max_f16", "s_max_num_f16"),
    ALIAS("s_min_f16", "s_min_num_f16"),
    SH2("maximum", maximum_of(a, b)),
    SH2("minimum", minimum_of(a, b)),
    SF2("s_maximum_f32", maximum_of(a, b)),
    SF2("s_minimum_f32", minimum_of(a, b)),
    {"s_fmac_f16", "w", "hh",
     [](Wave& w, const Op& o) {
       sw32(w, o.d[0],
            d2h((double)h2f(scal32(w, o.s[0])) * h2f(scal32(w, o.s[1])) +
                (double)h2f(w.s[o.d[0].index])));
     }},
    {"s_cvt_pk_rtz_f16_f32", "w", "ff",
     [](Wave& w, const Op& o) {
       sw32(w, o.d[0],
            (u32)float_to_half_rtz(asf(scal32(w, o.s[0]))) |
                (u32)float_to_half_rtz(asf(scal32(w, o.s[1]))) << 16);
     }},
    {"s_trunc_f16", "w", "h",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], f2h(trunc(h2f(scal32(w, o.s[0]))))); }},
    {"s_floor_f16", "w", "h",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], f2h(floor(h2f(scal32(w, o.s[0]))))); }},
    {"s_ceil_f16", "w", "h",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], f2h(ceil(h2f(scal32(w, o.s[0]))))); }},
    {"s_rndne_f16", "w", "h",
     [](Wave& w, const Op& o) { sw32(w, o.d[0], f2h(rndne(h2f(scal32(w, o.s[0]))))); }},
    SHC("lt", 1),
    SHC("eq", 2),
    SHC("le", 3),
    SHC("gt", 4),
    SHC("lg", 5),
    SHC("ge", 6),
    SHC("o", 7),
    SHC("u", 8),
    SHC("nge", 9),
    SHC("nlg", 10),
    SHC("ngt", 11),
    SHC("nle", 12),
    SHC("neq", 13),
    SHC("nlt", 14),
};
// clang-format on

}  // namespace

TABLE(kScalarTable, kOperations);
