// Half precision accumulates in f32; one matrix serves the whole batch; a transposed operand.
func.func @half(%a: !migraphx.shaped<2x3x8x16xf16, 384x128x16x1>, %b: !migraphx.shaped<1x1x16x8xf16, 128x128x1x16>, %c: !migraphx.shaped<6x8x8xbf16, 64x8x1>) -> (!migraphx.shaped<2x3x8x8xf16, 192x64x8x1>, !migraphx.shaped<6x8x8xbf16, 64x8x1>) {
  %0 = migraphx.dot %a, %b : <2x3x8x16xf16, 384x128x16x1>, <1x1x16x8xf16, 128x128x1x16> -> <2x3x8x8xf16, 192x64x8x1>
  %1 = migraphx.transpose %c {permutation = [0, 2, 1]} : <6x8x8xbf16, 64x8x1> -> <6x8x8xbf16, 64x1x8>
  %2 = migraphx.dot %c, %1 : <6x8x8xbf16, 64x8x1>, <6x8x8xbf16, 64x1x8> -> <6x8x8xbf16, 64x8x1>
  %3 = migraphx.softmax %2 {axis = 1 : i64} : <6x8x8xbf16, 64x8x1> -> <6x8x8xbf16, 64x8x1>
  return %0, %3 : !migraphx.shaped<2x3x8x8xf16, 192x64x8x1>, !migraphx.shaped<6x8x8xbf16, 64x8x1>
}
