// Strides of the signature: channels last, rows longer than needed, broadcasts, a result in
// another order and one with room in its rows. One argument is not read, one is read twice.
func.func @strides(%unused: !migraphx.shaped<7xf32, 1>, %nhwc: !migraphx.shaped<1x3x4x4xf32, 48x1x12x3>, %rows: !migraphx.shaped<1x3x4x4xf32, 96x24x6x1>, %bias: !migraphx.shaped<1x3x4x4xf32, 0x1x0x0>) -> (!migraphx.shaped<1x3x4x4xf32, 48x1x3x12>, !migraphx.shaped<3x4x4xf32, 32x8x1>) {
  %0 = migraphx.mul %nhwc, %rows : <1x3x4x4xf32, 48x1x12x3>, <1x3x4x4xf32, 96x24x6x1> -> <1x3x4x4xf32, 48x16x4x1>
  %1 = migraphx.add %0, %bias : <1x3x4x4xf32, 48x16x4x1>, <1x3x4x4xf32, 0x1x0x0> -> <1x3x4x4xf32, 48x16x4x1>
  %2 = migraphx.sub %1, %nhwc : <1x3x4x4xf32, 48x16x4x1>, <1x3x4x4xf32, 48x1x12x3> -> <1x3x4x4xf32, 48x1x3x12>
  %3 = migraphx.relu %1 : <1x3x4x4xf32, 48x16x4x1> -> <1x3x4x4xf32, 48x16x4x1>
  %4 = migraphx.reshape %3 {dims = [3, 4, 4]} : <1x3x4x4xf32, 48x16x4x1> -> <3x4x4xf32, 32x8x1>
  return %2, %4 : !migraphx.shaped<1x3x4x4xf32, 48x1x3x12>, !migraphx.shaped<3x4x4xf32, 32x8x1>
}
