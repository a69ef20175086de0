// Queries that no key has weight for: a chunk after the cache's end, places before the first key,
// a window after the query, and a region that masks; the rest of each is unchanged.
func.func @attention_masked(%q: !migraphx.shaped<2x4x8xf32, 32x8x1>, %k: !migraphx.shaped<2x8x16xf32, 128x16x1>, %v: !migraphx.shaped<2x16x8xf32, 128x8x1>, %h: !migraphx.shaped<2x16x8xf16, 128x8x1>, %c: !migraphx.shaped<2x4x1xsi8, 4x1x1>) -> (!migraphx.shaped<2x2x4x8xf32, 64x32x8x1>, !migraphx.shaped<2x2x4xf32, 8x4x1>, !migraphx.shaped<2x4x8xf32, 32x8x1>, !migraphx.shaped<2x4x8xf32, 32x8x1>, !migraphx.shaped<2x4xf32, 4x1>, !migraphx.shaped<2x4x8xf16, 32x8x1>) {
  %length = migraphx.literal(dense<[3, 11]> : tensor<2xi32>) : <2xi32, 1>
  %offset = migraphx.literal(dense<[-2, 1]> : tensor<2xi32>) : <2xi32, 1>
  %0:2 = migraphx.attention %q, %k, %v current_seq_len(%length : !migraphx.shaped<2xi32, 1>) {
  } features = "kvcache|splitkv" splitKV = 2 : <2x4x8xf32, 32x8x1>, <2x8x16xf32, 128x16x1>, <2x16x8xf32, 128x8x1> -> <2x2x4x8xf32, 64x32x8x1>, !migraphx.shaped<2x2x4xf32, 8x4x1>
  %1 = migraphx.attention %q, %k, %v current_seq_len(%length : !migraphx.shaped<2xi32, 1>) prefix_offset(%offset : !migraphx.shaped<2xi32, 1>) {
  } features = "kvcache|causal|prefix_offset" : <2x4x8xf32, 32x8x1>, <2x8x16xf32, 128x16x1>, <2x16x8xf32, 128x8x1> -> <2x4x8xf32, 32x8x1>
  %2:2 = migraphx.attention %q, %k, %v current_seq_len(%length : !migraphx.shaped<2xi32, 1>) {
  } features = "kvcache|causal|sliding_window" slidingWindowSize = 1 : <2x4x8xf32, 32x8x1>, <2x8x16xf32, 128x16x1>, <2x16x8xf32, 128x8x1> -> <2x4x8xf32, 32x8x1>, !migraphx.shaped<2x4xf32, 4x1>
  %least = migraphx.literal(dense<0xFF800000> : tensor<2x4x16xf32>) : <2x4x16xf32, 64x16x1>
  %zero = migraphx.literal(dense<0> : tensor<2x4x1xsi8>) : <2x4x1xsi8, 4x1x1>
  %bit = migraphx.greater %c, %zero : <2x4x1xsi8, 4x1x1>, <2x4x1xsi8, 4x1x1> -> <2x4x1xsi8, 4x1x1>
  %keep = migraphx.multibroadcast %bit {out_lens = [2, 4, 16]} : <2x4x1xsi8, 4x1x1> -> <2x4x16xsi8, 4x1x0>
  %3 = migraphx.attention %q, %k, %h pre_softmax_inputs(%keep, %least : !migraphx.shaped<2x4x16xsi8, 4x1x0>, !migraphx.shaped<2x4x16xf32, 64x16x1>) {
  ^bb0(%qk: !migraphx.shaped<2x4x16xf32, 64x16x1>, %mask: !migraphx.shaped<2x4x16xsi8, 4x1x0>, %low: !migraphx.shaped<2x4x16xf32, 64x16x1>):
    %kept = migraphx.where %mask, %qk, %low : <2x4x16xsi8, 4x1x0>, <2x4x16xf32, 64x16x1>, <2x4x16xf32, 64x16x1> -> <2x4x16xf32, 64x16x1>
    migraphx.yield %kept : !migraphx.shaped<2x4x16xf32, 64x16x1>
  } softmax_type = f32 : <2x4x8xf32, 32x8x1>, <2x8x16xf32, 128x16x1>, <2x16x8xf16, 128x8x1> -> <2x4x8xf16, 32x8x1>
  return %0#0, %0#1, %1, %2#0, %2#1, %3 : !migraphx.shaped<2x2x4x8xf32, 64x32x8x1>, !migraphx.shaped<2x2x4xf32, 8x4x1>, !migraphx.shaped<2x4x8xf32, 32x8x1>, !migraphx.shaped<2x4x8xf32, 32x8x1>, !migraphx.shaped<2x4xf32, 4x1>, !migraphx.shaped<2x4x8xf16, 32x8x1>
}
