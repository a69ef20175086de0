// Operations that move data between lanes, or index registers.
#include "vector.h"

namespace {

static u32 swz(u32 l, u32 off) {
  if (off & 0x8000) return (l & ~3u) | (off >> ((l & 3) * 2) & 3);
  u32 a = off & 31, b = off >> 5 & 31, c = off >> 10 & 31;
  return (l & 32) | ((((l & 31) & a) | b) ^ c);
}
template <int W16>
static void permlane(Wave& w, const Op& o, bool x) {
  u32 t[64];
  const u32* A = src<32>(w, o.s[0], t);
  u32 lo = scal32(w, o.s[1]), hi = scal32(w, o.s[2]);
  u64 sel = lo | (u64)hi << 32;
  u64 ex = w.exec();
  u32 r[64];
  u64 m = w.wmask;
  u32 in[64];
  memcpy(in, A, 256);
  L64 {
    int row = l & ~15;
    if (x) row ^= 16;
    int sl = row | (int)(sel >> ((l & 15) * 4) & 15);
    if (sl < w.nl && ((ex >> sl & 1) || (o.op_sel & 1)))
      r[l] = in[sl];
    else {
      r[l] = (o.op_sel & 2) ? 0 : w.v[o.d[0].index][l];
    }
  }
  (void)m;
  wr(w, o.d[0], r);
}

// clang-format off
const Operation kOperations[] = {
    // cross lane
    {"v_readfirstlane_b32", "w", "w",
     [](Wave& w, const Op& o) {
       u64 e = w.exec();
       int l = e ? __builtin_ctzll(e) : 0;
       if (o.s[0].kind != OPERAND_VECTOR) {
         sw32(w, o.d[0], scal32(w, o.s[0]));
         return;
       }
       sw32(w, o.d[0], w.v[o.s[0].index][l]);
     }},
    {"v_readlane_b32", "w", "ww",
     [](Wave& w, const Op& o) {
       int l = scal32(w, o.s[1]) & (w.nl - 1);
       sw32(w, o.d[0], w.v[o.s[0].index][l]);
     }},
    {"v_writelane_b32", "w", "ww",
     [](Wave& w, const Op& o) {
       int l = scal32(w, o.s[1]) & (w.nl - 1);
       w.v[o.d[0].index][l] = scal32(w, o.s[0]);
     }},
    {"v_permlane16_b32", "w", "www", [](Wave& w, const Op& o) { permlane<1>(w, o, false); }},
    {"v_permlanex16_b32", "w", "www", [](Wave& w, const Op& o) { permlane<1>(w, o, true); }},
    {"v_permlane64_b32", "w", "w",
     [](Wave& w, const Op& o) {
       if (w.nl == 32) return;
       A32(A, 0, 0);
       u32 r[kLanes];
       u32 in[64];
       memcpy(in, A, 256);
       L64
         r[l] = in[l ^ 32];
       wr(w, o.d[0], r);
     }},
    {"v_permlane32_swap_b32", "w", "w",
     [](Wave& w, const Op& o) {
       u32 *d = w.v[o.d[0].index], *s = w.v[o.s[0].index];
       if (w.exec() != ~0ull) return fail(w, "permlane32_swap with partial exec");
       for (int l = 0; l < 32; l++) swap(s[l], d[l + 32]);
     }},
    {"v_permlane16_swap_b32", "w", "w",
     [](Wave& w, const Op& o) {
       u32 *d = w.v[o.d[0].index], *s = w.v[o.s[0].index];
       if (w.exec() != ~0ull) return fail(w, "permlane16_swap with partial exec");
       for (int p = 0; p < 2; p++)
         for (int l = 0; l < 16; l++) swap(s[p * 32 + l], d[p * 32 + l + 16]);
     }},
    {"ds_bpermute_b32", "@", "DP",
     [](Wave& w, const Op& o) {
       u32 r[64];
       u64 e = w.exec();
       int dr = o.s[1].index;
       ACTIVE {
         int sl = ((w.v[o.s[0].index][l] + o.offset0) >> 2) & (w.nl - 1);
         r[l] = (e >> sl & 1) ? w.v[dr][sl] : 0;
       }
       ACTIVE
         w.v[o.d[0].index][l] = r[l];
     }},
    {"ds_permute_b32", "@", "DP",
     [](Wave& w, const Op& o) {
       u32 r[64] = {0};
       int dr = o.s[1].index;
       ACTIVE {
         int sl = ((w.v[o.s[0].index][l] + o.offset0) >> 2) & (w.nl - 1);
         r[sl] = w.v[dr][l];
       }
       ACTIVE
         w.v[o.d[0].index][l] = r[l];
     }},
    {"ds_swizzle_b32", "@", "DW",
     [](Wave& w, const Op& o) {
       u32 in[64];
       memcpy(in, w.v[o.s[0].index], 256);
       u64 e = w.exec();
       if (o.immediate >= 0xc000) return fail(w, "ds_swizzle rotate/fft mode");
       ACTIVE {
         u32 s = swz(l, o.immediate);
         w.v[o.d[0].index][l] = (e >> s & 1) ? in[s] : 0;
       }
     }},
};
// clang-format on

}  // namespace

TABLE(kCrossLaneTable, kOperations);
