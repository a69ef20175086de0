// Reductions of floats and integers, also beyond the largest signed number; a mean of the last axis counted from behind.
func.func @reductions(%x: !migraphx.shaped<2x8x6xf32, 48x6x1>, %i: !migraphx.shaped<4x8xsi8, 8x1>, %u: !migraphx.shaped<4x8xui8, 8x1>) -> (!migraphx.shaped<2x1x6xf32, 6x6x1>, !migraphx.shaped<2x8x1xf32, 8x1x1>, !migraphx.shaped<1x8x6xf32, 48x6x1>, !migraphx.shaped<4x1xsi32, 1x1>, !migraphx.shaped<1x8xui8, 8x1>) {
  %0 = migraphx.reduce_sum %x {axes = [1]} : <2x8x6xf32, 48x6x1> -> <2x1x6xf32, 6x6x1>
  %1 = migraphx.reduce_mean %x {axes = [-1]} : <2x8x6xf32, 48x6x1> -> <2x8x1xf32, 8x1x1>
  %2 = migraphx.reduce_max %x {axes = [0]} : <2x8x6xf32, 48x6x1> -> <1x8x6xf32, 48x6x1>
  %3 = migraphx.convert %i : <4x8xsi8, 8x1> to <4x8xsi32, 8x1>
  %4 = migraphx.reduce_sum %3 {axes = [1]} : <4x8xsi32, 8x1> -> <4x1xsi32, 1x1>
  %high = migraphx.literal(dense<126> : tensor<1xui8>) : <1xui8, 0>
  %far = migraphx.multibroadcast %high {out_lens = [4, 8]} : <1xui8, 0> -> <4x8xui8, 0x0>
  %5 = migraphx.add %u, %far : <4x8xui8, 8x1>, <4x8xui8, 0x0> -> <4x8xui8, 8x1>
  %6 = migraphx.reduce_max %5 {axes = [0]} : <4x8xui8, 8x1> -> <1x8xui8, 8x1>
  return %0, %1, %2, %4, %6 : !migraphx.shaped<2x1x6xf32, 6x6x1>, !migraphx.shaped<2x8x1xf32, 8x1x1>, !migraphx.shaped<1x8x6xf32, 48x6x1>, !migraphx.shaped<4x1xsi32, 1x1>, !migraphx.shaped<1x8xui8, 8x1>
}
