// Chunks of the keys with a softmax each, of int8 scores that the region scales; the cache ends in
// the second chunk.
func.func @attention_split(%q: !migraphx.shaped<2x4x8xi8, 32x8x1>, %k: !migraphx.shaped<2x8x16xi8, 128x16x1>, %v: !migraphx.shaped<2x16x8xf16, 128x8x1>, %s: !migraphx.shaped<2x2x4x8xf32, 64x32x8x1>, %lengths: !migraphx.shaped<2xi32, 1>) -> (!migraphx.shaped<2x2x4x8xf16, 64x32x8x1>, !migraphx.shaped<2x2x4xf32, 8x4x1>) {
  %low = migraphx.literal(dense<9> : tensor<2xi32>) : <2xi32, 1>
  %high = migraphx.literal(dense<13> : tensor<2xi32>) : <2xi32, 1>
  %length = migraphx.clip %lengths, %low, %high : <2xi32, 1>, <2xi32, 1>, <2xi32, 1> -> <2xi32, 1>
  %0:2 = migraphx.attention %q, %k, %v pre_softmax_inputs(%s : !migraphx.shaped<2x2x4x8xf32, 64x32x8x1>) current_seq_len(%length : !migraphx.shaped<2xi32, 1>) {
  ^bb0(%qk: !migraphx.shaped<2x2x4x8xi32, 64x32x8x1>, %scale: !migraphx.shaped<2x2x4x8xf32, 64x32x8x1>):
    %scaled = migraphx.dequantizelinear %qk, %scale : <2x2x4x8xi32, 64x32x8x1>, <2x2x4x8xf32, 64x32x8x1> -> <2x2x4x8xf32, 64x32x8x1>
    %small = migraphx.tanh %scaled : <2x2x4x8xf32, 64x32x8x1> -> <2x2x4x8xf32, 64x32x8x1>
    migraphx.yield %small : !migraphx.shaped<2x2x4x8xf32, 64x32x8x1>
  } softmax_type = f32 features = "kvcache|splitkv" splitKV = 2 : <2x4x8xi8, 32x8x1>, <2x8x16xi8, 128x16x1>, <2x16x8xf16, 128x8x1> -> <2x2x4x8xf16, 64x32x8x1>, !migraphx.shaped<2x2x4xf32, 8x4x1>
  return %0#0, %0#1 : !migraphx.shaped<2x2x4x8xf16, 64x32x8x1>, !migraphx.shaped<2x2x4xf32, 8x4x1>
}
