// Attention with a bias in its region, shared heads, a causal mask and the logarithm of the sums.
func.func @attention(%q: !migraphx.shaped<2x4x8x8xf32, 256x64x8x1>, %k: !migraphx.shaped<2x2x8x8xf32, 128x64x8x1>, %v: !migraphx.shaped<2x2x8x8xf32, 128x64x8x1>, %b: !migraphx.shaped<2x4x8x8xf32, 256x64x8x1>) -> (!migraphx.shaped<2x4x8x8xf32, 256x64x8x1>, !migraphx.shaped<2x4x8xf32, 32x8x1>) {
  %0:2 = migraphx.attention %q, %k, %v pre_softmax_inputs(%b : !migraphx.shaped<2x4x8x8xf32, 256x64x8x1>) {
  ^bb0(%qk: !migraphx.shaped<2x4x8x8xf32, 256x64x8x1>, %bias: !migraphx.shaped<2x4x8x8xf32, 256x64x8x1>):
    %sum = migraphx.add %qk, %bias : <2x4x8x8xf32, 256x64x8x1>, <2x4x8x8xf32, 256x64x8x1> -> <2x4x8x8xf32, 256x64x8x1>
    migraphx.yield %sum : !migraphx.shaped<2x4x8x8xf32, 256x64x8x1>
  } features = causal : <2x4x8x8xf32, 256x64x8x1>, <2x2x8x8xf32, 128x64x8x1>, <2x2x8x8xf32, 128x64x8x1> -> <2x4x8x8xf32, 256x64x8x1>, !migraphx.shaped<2x4x8xf32, 32x8x1>
  return %0#0, %0#1 : !migraphx.shaped<2x4x8x8xf32, 256x64x8x1>, !migraphx.shaped<2x4x8xf32, 32x8x1>
}
