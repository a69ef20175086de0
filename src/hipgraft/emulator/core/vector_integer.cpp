// Vector operations on integers.
#include "vector.h"

namespace {

static inline u32 addus(u32 a, u32 b, int c) {
  u64 s = (u64)a + b;
  return c && s > MASK32 ? ~0u : (u32)s;
}
static inline u32 subus(u32 a, u32 b, int c) { return c && a < b ? 0 : a - b; }
static inline u32 sati32(i64 s, int c) {
  if (c) {
    if (s > 2147483647ll) s = 2147483647ll;
    if (s < -2147483648ll) s = -2147483648ll;
  }
  return (u32)s;
}
static inline i32 s24(u32 x) { return (i32)(x << 8) >> 8; }
template <int OPK>
static void addco(Wave& w, const Op& o) {  // 0 add 1 sub 2 subrev ; carry-in if s[2] present
  A32(A, 0, 32);
  A32(B, 1, 32);
  u64 ci = o.s[2].kind != OPERAND_NONE ? smask(w, o.s[2]) : 0;
  u32 r[kLanes];
  u64 co = 0;
  u64 m = w.wmask;
  L64 {
    u64 c = ci >> l & 1, a = A[l], b = B[l];
    u64 t;
    bool k;
    if (OPK == 0) {
      t = a + b + c;
      k = t >> 32;
    } else if (OPK == 1) {
      t = a - b - c;
      k = a < b + c;
    } else {
      t = b - a - c;
      k = b < a + c;
    }
    if (o.clamp) {
      if (OPK == 0 && k) t = MASK32;
      if (OPK && k) t = 0;
    }
    r[l] = (u32)t;
    if (m >> l & 1) co |= (u64)k << l;
  }
  wr(w, o.d[0], r);
  setmask(w, o.d[1], co);
}

#define D4(a, b, TA, TB)                                                     \
  ((i32)(TA)(a) * (i32)(TB)(b) + (i32)(TA)((a) >> 8) * (i32)(TB)((b) >> 8) + \
   (i32)(TA)((a) >> 16) * (i32)(TB)((b) >> 16) + (i32)(TA)((a) >> 24) * (i32)(TB)((b) >> 24))

static u32 clamped(i32 x, i32 low, i32 high) { return min(max(x, low), high) & 255; }

#define ASHR_PK(type, low, high)                                    \
  {"v_ashr_pk_" type "_i32", "s", "www", [](Wave& w, const Op& o) { \
     A32(A, 0, 0);                                                  \
     A32(B, 1, 0);                                                  \
     A32(C, 2, 0);                                                  \
     u32 r[kLanes];                                                 \
     L64                                                            \
       r[l] = clamped((i32)A[l] >> (C[l] & 31), low, high) |        \
              clamped((i32)B[l] >> (C[l] & 31), low, high) << 8;    \
     wr(w, o.d[0], r);                                              \
   }}

static i32 dot8(u32 a, u32 b, bool a_is_signed, bool b_is_signed) {
  i32 sum = 0;
  for (int shift = 0; shift < 32; shift += 4) {
    i32 x = a >> shift & 15, y = b >> shift & 15;
    if (a_is_signed && x > 7) x -= 16;
    if (b_is_signed && y > 7) y -= 16;
    sum += x * y;
  }
  return sum;
}

// clang-format off
const Operation kOperations[] = {
    // VALU moves / bitwise / shifts
    I1("v_mov_b32", a),
    ALIAS("v_accvgpr_read_b32", "v_mov_b32"),
    ALIAS("v_accvgpr_write_b32", "v_mov_b32"),
    ALIAS("v_accvgpr_mov_b32", "v_mov_b32"),
    {"v_mov_b64", "q", "q",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       wr64(w, o.d[0], A);
     }},
    S1_("v_mov_b16", a),
    S1_("v_not_b16", ~a),
    I1("v_not_b32", ~a),
    I1("v_bfrev_b32", (a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1,
                       a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2,
                       a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4, __builtin_bswap32(a))),
    I2("v_and_b32", a& b),
    I2("v_or_b32", a | b),
    I2("v_xor_b32", a ^ b),
    I2("v_xnor_b32", ~(a ^ b)),
    S2_("v_and_b16", a& b),
    S2_("v_or_b16", a | b),
    S2_("v_xor_b16", a ^ b),
    I2("v_lshlrev_b32", b << (a & 31)),
    I2("v_lshrrev_b32", b >> (a & 31)),
    I2("v_ashrrev_i32", (u32)((i32)b >> (a & 31))),
    I2("v_lshl_b32", a << (b & 31)),
    S2_("v_lshlrev_b16", b << (a & 15)),
    S2_("v_lshrrev_b16", b >> (a & 15)),
    S2_("v_ashrrev_i16", (i32)(i16)b >> (a & 15)),
    {"v_lshlrev_b64", "q", "wq",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A64(B, 1);
       u64 r[64];
       L64
         r[l] = B[l] << (A[l] & 63);
       wr64(w, o.d[0], r);
     }},
    {"v_lshrrev_b64", "q", "wq",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A64(B, 1);
       u64 r[64];
       L64
         r[l] = B[l] >> (A[l] & 63);
       wr64(w, o.d[0], r);
     }},
    {"v_ashrrev_i64", "q", "wq",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A64(B, 1);
       u64 r[64];
       L64
         r[l] = (i64)B[l] >> (A[l] & 63);
       wr64(w, o.d[0], r);
     }},
    {"v_lshl_add_u64", "q", "qwq",
     [](Wave& w, const Op& o) {
       A64(A, 0);
       A32(B, 1, 32);
       A64(C, 2);
       u64 r[64];
       L64
         r[l] = (A[l] << (B[l] & 7)) + C[l];
       wr64(w, o.d[0], r);
     }},
    I3("v_lshl_or_b32", (a << (b & 31)) | c),
    I3("v_and_or_b32", (a & b) | c),
    I3("v_or3_b32", a | b | c),
    I3("v_xor3_b32", a ^ b ^ c),
    I3("v_add3_u32", a + b + c),
    I3("v_lshl_add_u32", (a << (b & 31)) + c),
    I3("v_add_lshl_u32", (a + b) << (c & 31)),
    I3("v_xad_u32", (a ^ b) + c),
    I3("v_bfe_u32", ((c & 31) ? (a >> (b & 31)) & ((1u << (c & 31)) - 1) : 0)),
    I3("v_bfe_i32", ((c & 31) ? (u32)(((i32)((((u32)((i32)a >> (b & 31))) & ((1u << (c & 31)) - 1))
                                             << (32 - (c & 31)))) >>
                                      (32 - (c & 31)))
                              : 0u)),
    I3("v_bfi_b32", (a & b) | (~a & c)),
    I2("v_bfm_b32", ((1u << (a & 31)) - 1) << (b & 31)),
    I3("v_alignbit_b32", (u32)((((u64)a << 32 | b)) >> (c & 31))),
    I3("v_alignbyte_b32", (u32)((((u64)a << 32 | b)) >> ((c & 3) * 8))),
    I3("v_perm_b32", permb((u64)a << 32 | b, c & 255) | permb((u64)a << 32 | b, c >> 8 & 255) << 8 |
                         permb((u64)a << 32 | b, c >> 16 & 255) << 16 |
                         permb((u64)a << 32 | b, c >> 24) << 24),
    {"v_bitop3_b32", "w", "www",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       A32(C, 2, 32);
       u32 r[kLanes];
       L64
         r[l] = bitop3(A[l], B[l], C[l], o.immediate);
       wr(w, o.d[0], r);
     }},
    {"v_bitop3_b16", "s", "sss",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       A32(C, 2, 16);
       u32 r[kLanes];
       L64
         r[l] = bitop3(A[l], B[l], C[l], o.immediate) & 0xffff;
       wr(w, o.d[0], r);
     }},
    {"v_cndmask_b32", "w", "wwm",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u64 m = smask(w, o.s[2]);
       u32 r[kLanes];
       L64
         r[l] = (m >> l & 1) ? B[l] : A[l];
       wr(w, o.d[0], r);
     }},
    {"v_cndmask_b16", "s", "ssm",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       u64 m = smask(w, o.s[2]);
       u32 r[kLanes];
       L64
         r[l] = ((m >> l & 1) ? B[l] : A[l]) & 0xffff;
       wr(w, o.d[0], r);
     }},
    {"v_swap_b32", "w", "w",
     [](Wave& w, const Op& o) {
       int a = o.d[0].index, b = o.s[0].index;
       ACTIVE
         swap(w.v[a][l], w.v[b][l]);
     }},
    {"v_swap_b16", "s", "s",
     [](Wave& w, const Op& o) {
       int a = o.d[0].index, b = o.s[0].index, sa = o.d[0].part == PART_WORD1 ? 16 : 0,
           sb = o.s[0].part == PART_WORD1 ? 16 : 0;
       ACTIVE {
         u32 x = w.v[a][l] >> sa & 0xffff, y = w.v[b][l] >> sb & 0xffff;
         w.v[a][l] = (w.v[a][l] & ~(0xffffu << sa)) | y << sa;
         w.v[b][l] = (w.v[b][l] & ~(0xffffu << sb)) | x << sb;
       }
     }},
    // int arithmetic
    {"v_add_u32", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64
         r[l] = addus(A[l], B[l], o.clamp);
       wr(w, o.d[0], r);
     }},
    ALIAS("v_add_nc_u32", "v_add_u32"),
    {"v_sub_u32", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64
         r[l] = subus(A[l], B[l], o.clamp);
       wr(w, o.d[0], r);
     }},
    ALIAS("v_sub_nc_u32", "v_sub_u32"),
    {"v_subrev_u32", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64
         r[l] = subus(B[l], A[l], o.clamp);
       wr(w, o.d[0], r);
     }},
    ALIAS("v_subrev_nc_u32", "v_subrev_u32"),
    {"v_add_i32", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64
         r[l] = sati32((i64)(i32)A[l] + (i32)B[l], o.clamp);
       wr(w, o.d[0], r);
     }},
    ALIAS("v_add_nc_i32", "v_add_i32"),
    {"v_sub_i32", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64
         r[l] = sati32((i64)(i32)A[l] - (i32)B[l], o.clamp);
       wr(w, o.d[0], r);
     }},
    ALIAS("v_sub_nc_i32", "v_sub_i32"),
    {"v_add_u16", "s", "ss",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       u32 r[kLanes];
       L64 {
         u32 s = (u16)A[l] + (u16)B[l];
         if (o.clamp && s > 65535) s = 65535;
         r[l] = (u16)s;
       }
       wr(w, o.d[0], r);
     }},
    ALIAS("v_add_nc_u16", "v_add_u16"),
    {"v_sub_u16", "s", "ss",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       u32 r[kLanes];
       L64 {
         u32 a = (u16)A[l], b = (u16)B[l];
         r[l] = o.clamp && a < b ? 0 : (u16)(a - b);
       }
       wr(w, o.d[0], r);
     }},
    ALIAS("v_sub_nc_u16", "v_sub_u16"),
    {"v_subrev_u16", "s", "ss",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       u32 r[kLanes];
       L64 {
         u32 a = (u16)A[l], b = (u16)B[l];
         r[l] = o.clamp && b < a ? 0 : (u16)(b - a);
       }
       wr(w, o.d[0], r);
     }},
    S2_("v_add_i16", a + b),
    ALIAS("v_add_nc_i16", "v_add_i16"),
    S2_("v_sub_i16", a - b),
    ALIAS("v_sub_nc_i16", "v_sub_i16"),
    S2_("v_mul_lo_u16", a* b),
    S3_("v_mad_u16", a* b + c),
    S3_("v_mad_i16", a* b + c),
    // gfx9: the legacy forms clear the upper half
    {"v_mad_legacy_u16", "w", "sss",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       A32(C, 2, 16);
       u32 r[kLanes];
       L64
         r[l] = (u16)((u16)A[l] * (u16)B[l] + (u16)C[l]);
       wr(w, o.d[0], r);
     }},
    {"v_mad_legacy_i16", "w", "sss",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       A32(C, 2, 16);
       u32 r[kLanes];
       L64
         r[l] = (u16)((u16)A[l] * (u16)B[l] + (u16)C[l]);
       wr(w, o.d[0], r);
     }},
    S2_("v_max_u16", max(a, b)),
    S2_("v_min_u16", min(a, b)),
    S2_("v_max_i16", max((i16)a, (i16)b)),
    S2_("v_min_i16", min((i16)a, (i16)b)),
    S3_("v_max3_i16", max(max((i16)a, (i16)b), (i16)c)),
    S3_("v_min3_i16", min(min((i16)a, (i16)b), (i16)c)),
    S3_("v_max3_u16", max(max(a, b), c)),
    S3_("v_min3_u16", min(min(a, b), c)),
    S3_("v_med3_i16", med3((i16)a, (i16)b, (i16)c)),
    S3_("v_med3_u16", med3(a, b, c)),
    {"v_add_co_u32", "wm", "ww", addco<0>},
    {"v_sub_co_u32", "wm", "ww", addco<1>},
    {"v_subrev_co_u32", "wm", "ww", addco<2>},
    {"v_addc_co_u32", "wm", "wwm", addco<0>},
    {"v_subb_co_u32", "wm", "wwm", addco<1>},
    {"v_subbrev_co_u32", "wm", "wwm", addco<2>},
    {"v_add_co_ci_u32", "wm", "wwm", addco<0>},
    {"v_sub_co_ci_u32", "wm", "wwm", addco<1>},
    {"v_subrev_co_ci_u32", "wm", "wwm", addco<2>},
    I2("v_mul_lo_u32", a* b),
    ALIAS("v_mul_lo_i32", "v_mul_lo_u32"),
    I2("v_mul_hi_u32", (u32)((u64)a * b >> 32)),
    I2("v_mul_hi_i32", (u32)((i64)(i32)a * (i32)b >> 32)),
    I2("v_mul_u32_u24", (a & 0xffffff) * (b & 0xffffff)),
    I2("v_mul_hi_u32_u24", (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >> 32)),
    I2("v_mul_i32_i24", (u32)((i64)s24(a) * s24(b))),
    I2("v_mul_hi_i32_i24", (u32)((i64)s24(a) * s24(b) >> 32)),
    I3("v_mad_u32_u24", (a & 0xffffff) * (b & 0xffffff) + c),
    I3("v_mad_i32_i24", (u32)((i64)s24(a) * s24(b)) + c),
    {"v_mad_u32_u16", "w", "ssw",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       A32(C, 2, 32);
       u32 r[kLanes];
       L64
         r[l] = (u32)(u16)A[l] * (u16)B[l] + C[l];
       wr(w, o.d[0], r);
     }},
    {"v_mad_i32_i16", "w", "ssw",
     [](Wave& w, const Op& o) {
       A32(A, 0, 16);
       A32(B, 1, 16);
       A32(C, 2, 32);
       u32 r[kLanes];
       L64
         r[l] = (u32)((i32)(i16)A[l] * (i16)B[l]) + C[l];
       wr(w, o.d[0], r);
     }},
    {"v_mad_u64_u32", "qm", "wwq",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       A64(C, 2);
       u64 r[64];
       u64 m = 0;
       L64 {
         u128 t = (u128)((u64)A[l] * B[l]) + C[l];
         r[l] = (u64)t;
         m |= (u64)((t >> 64) != 0) << l;
       }
       u64 wm = w.wmask;
       wr64(w, o.d[0], r);
       setmask(w, o.d[1], m & wm);
     }},
    {"v_mad_i64_i32", "qm", "wwq",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       A64(C, 2);
       u64 r[64];
       u64 m = 0;
       L64 {
         i128 t = (i128)((i64)(i32)A[l] * (i32)B[l]) + (i64)C[l];
         r[l] = (u64)t;
         m |= (u64)(t < 0) << l;
       }
       u64 wm = w.wmask;
       wr64(w, o.d[0], r);
       setmask(w, o.d[1], m & wm);
     }},
    ALIAS("v_mad_co_u64_u32", "v_mad_u64_u32"),
    ALIAS("v_mad_co_i64_i32", "v_mad_i64_i32"),
    I2("v_max_u32", max(a, b)),
    I2("v_min_u32", min(a, b)),
    I2("v_max_i32", (u32)max((i32)a, (i32)b)),
    I2("v_min_i32", (u32)min((i32)a, (i32)b)),
    I3("v_max3_u32", max(max(a, b), c)),
    I3("v_min3_u32", min(min(a, b), c)),
    I3("v_med3_u32", med3(a, b, c)),
    I3("v_max3_i32", (u32)max(max((i32)a, (i32)b), (i32)c)),
    I3("v_min3_i32", (u32)min(min((i32)a, (i32)b), (i32)c)),
    I3("v_med3_i32", (u32)med3((i32)a, (i32)b, (i32)c)),
    I3("v_maxmin_u32", min(max(a, b), c)),
    I3("v_minmax_u32", max(min(a, b), c)),
    I3("v_maxmin_i32", (u32)min(max((i32)a, (i32)b), (i32)c)),
    I3("v_minmax_i32", (u32)max(min((i32)a, (i32)b), (i32)c)),
    I2("v_bcnt_u32_b32", (u32)__builtin_popcount(a) + b),
    I1("v_ffbh_u32", ffbh(a)),
    ALIAS("v_clz_i32_u32", "v_ffbh_u32"),
    I1("v_ffbh_i32", cls_(a)),
    ALIAS("v_cls_i32", "v_ffbh_i32"),
    I1("v_ffbl_b32", a ? (u32)__builtin_ctz(a) : ~0u),
    ALIAS("v_ctz_i32_b32", "v_ffbl_b32"),
    {"v_mbcnt_lo_u32_b32", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64 {
         u64 tm = l >= 32 ? MASK32 : ((1ull << l) - 1);
         r[l] = __builtin_popcountll(A[l] & tm & MASK32) + B[l];
       }
       wr(w, o.d[0], r);
     }},
    {"v_mbcnt_hi_u32_b32", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 32);
       A32(B, 1, 32);
       u32 r[kLanes];
       L64 {
         u64 tm = l > 32 ? ((1ull << (l - 32)) - 1) : 0;
         r[l] = __builtin_popcountll(A[l] & tm) + B[l];
       }
       wr(w, o.d[0], r);
     }},
    I3("v_sad_u32", (a > b ? a - b : b - a) + c),
    // dots
    {"v_dot4c_i32_i8", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       u32 r[kLanes];
       L64
         r[l] = w.v[o.d[0].index][l] + (u32)D4(A[l], B[l], i8, i8);
       wr(w, o.d[0], r);
     }},
    {"v_dot4_i32_i8", "w", "www",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       A32(C, 2, 0);
       u32 r[kLanes];
       L64
         r[l] = sati32((i64)(i32)C[l] + D4(A[l], B[l], i8, i8), o.clamp);
       wr(w, o.d[0], r);
     }},
    {"v_dot4_u32_u8", "w", "www",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       A32(C, 2, 0);
       u32 r[kLanes];
       L64
         r[l] = addus(C[l], (u32)D4(A[l], B[l], u8, u8), o.clamp);
       wr(w, o.d[0], r);
     }},
    {"v_dot4_i32_iu8", "w", "www",
     [](Wave& w, const Op& o) {
       Src s0 = o.s[0], s1 = o.s[1];
       s0.negate = s1.negate = 0;
       u32 tA[64], tB[64];
       const u32 *A = src<0>(w, s0, tA), *B = src<0>(w, s1, tB);
       A32(C, 2, 0);
       u32 r[kLanes];
       int n = o.neg_lo & 3;
       L64 {
         i32 s = n == 3   ? D4(A[l], B[l], i8, i8)
                 : n == 1 ? D4(A[l], B[l], i8, u8)
                 : n == 2 ? D4(A[l], B[l], u8, i8)
                          : D4(A[l], B[l], u8, u8);
         r[l] = sati32((i64)(i32)C[l] + s, o.clamp);
       }
       wr(w, o.d[0], r);
     }},
    {"v_dot2_f32_f16", "f", "PPf",
     [](Wave& w, const Op& o) {
       u32 tA[64], tB[64];
       const u32 *A = src<0>(w, o.s[0], tA), *B = src<0>(w, o.s[1], tB);
       A32(C, 2, 32);
       u32 r[kLanes];
       L64 {
         double s = asf(C[l]);
         for (int h = 0; h < 2; h++) s += (double)h2f(pkf(o, 0, A[l], h)) * h2f(pkf(o, 1, B[l], h));
         r[l] = asu((float)s);
       }
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_dot2_f32_bf16", "f", "PPf",
     [](Wave& w, const Op& o) {
       u32 tA[64], tB[64];
       const u32 *A = src<0>(w, o.s[0], tA), *B = src<0>(w, o.s[1], tB);
       A32(C, 2, 32);
       u32 r[kLanes];
       L64 {
         double s = asf(C[l]);
         for (int h = 0; h < 2; h++)
           s += (double)bf2f(pkf(o, 0, A[l], h)) * bf2f(pkf(o, 1, B[l], h));
         r[l] = asu((float)s);
       }
       postf(w, o, r);
       wr(w, o.d[0], r);
     }},
    {"v_dot2c_f32_f16", "f", "PP",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       u32 r[kLanes];
       L64 {
         double s = asf(w.v[o.d[0].index][l]);
         s += (double)h2f(A[l] & 0xffff) * h2f(B[l] & 0xffff) +
              (double)h2f(A[l] >> 16) * h2f(B[l] >> 16);
         r[l] = asu((float)s);
       }
       wr(w, o.d[0], r);
     }},
    ALIAS("v_dot2acc_f32_f16", "v_dot2c_f32_f16"),
    {"v_dot2c_f32_bf16", "f", "PP",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       u32 r[kLanes];
       L64 {
         double s = asf(w.v[o.d[0].index][l]);
         s += (double)bf2f(A[l] & 0xffff) * bf2f(B[l] & 0xffff) +
              (double)bf2f(A[l] >> 16) * bf2f(B[l] >> 16);
         r[l] = asu((float)s);
       }
       wr(w, o.d[0], r);
     }},
    ALIAS("v_dot2acc_f32_bf16", "v_dot2c_f32_bf16"),
    {"v_sat_pk_u8_i16", "s", "w",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       u32 r[kLanes];
       L64
         r[l] = clamped((i16)A[l], 0, 255) | clamped((i16)(A[l] >> 16), 0, 255) << 8;
       wr(w, o.d[0], r);
     }},
    ASHR_PK("u8", 0, 255),
    ASHR_PK("i8", -128, 127),
    {"v_dot2c_i32_i16", "w", "pp",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       u32 r[kLanes];
       L64
         r[l] = w.v[o.d[0].index][l] + (i16)A[l] * (i16)B[l] + (i16)(A[l] >> 16) * (i16)(B[l] >> 16);
       wr(w, o.d[0], r);
     }},
    {"v_dot2_u32_u16", "w", "ppw",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       A32(C, 2, 0);
       u32 r[kLanes];
       L64 {
         u64 s = C[l];
         for (int h = 0; h < 2; h++) s += (u64)(u16)pk(o, 0, A[l], h) * (u16)pk(o, 1, B[l], h);
         r[l] = o.clamp && s > MASK32 ? ~0u : (u32)s;
       }
       wr(w, o.d[0], r);
     }},
    {"v_dot8c_i32_i4", "w", "ww",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       u32 r[kLanes];
       L64
         r[l] = w.v[o.d[0].index][l] + (u32)dot8(A[l], B[l], true, true);
       wr(w, o.d[0], r);
     }},
    {"v_dot8_i32_i4", "w", "www",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       A32(C, 2, 0);
       u32 r[kLanes];
       L64
         r[l] = sati32((i64)(i32)C[l] + dot8(A[l], B[l], true, true), o.clamp);
       wr(w, o.d[0], r);
     }},
    {"v_dot8_u32_u4", "w", "www",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       A32(C, 2, 0);
       u32 r[kLanes];
       L64
         r[l] = addus(C[l], (u32)dot8(A[l], B[l], false, false), o.clamp);
       wr(w, o.d[0], r);
     }},
    {"v_dot8_i32_iu4", "w", "www",
     [](Wave& w, const Op& o) {
       Src s0 = o.s[0], s1 = o.s[1];
       s0.negate = s1.negate = 0;  // selects the signed operands
       u32 tA[64], tB[64];
       const u32 *A = src<0>(w, s0, tA), *B = src<0>(w, s1, tB);
       A32(C, 2, 0);
       u32 r[kLanes];
       L64
         r[l] = sati32((i64)(i32)C[l] + dot8(A[l], B[l], o.neg_lo & 1, o.neg_lo & 2), o.clamp);
       wr(w, o.d[0], r);
     }},
    {"v_dot2_i32_i16", "w", "ppw",
     [](Wave& w, const Op& o) {
       A32(A, 0, 0);
       A32(B, 1, 0);
       A32(C, 2, 0);
       u32 r[kLanes];
       L64 {
         i64 s = (i32)C[l];
         for (int h = 0; h < 2; h++) s += (i64)(i16)pk(o, 0, A[l], h) * (i16)pk(o, 1, B[l], h);
         r[l] = sati32(s, o.clamp);
       }
       wr(w, o.d[0], r);
     }},
};
// clang-format on

}  // namespace

TABLE(kVectorIntegerTable, kOperations);
