// Signed and unsigned integers differ in division, order and conversion.
func.func @integers(%a: !migraphx.shaped<4x8xui8, 8x1>, %b: !migraphx.shaped<4x8xsi8, 8x1>, %c: !migraphx.shaped<4x8xsi32, 8x1>) -> (!migraphx.shaped<4x8xui8, 8x1>, !migraphx.shaped<4x8xf32, 8x1>, !migraphx.shaped<4x8xsi32, 8x1>) {
  %high = migraphx.literal(dense<250> : tensor<1xui8>) : <1xui8, 0>
  %two = migraphx.literal(dense<3> : tensor<1xui8>) : <1xui8, 0>
  %0 = migraphx.sub %high, %a : <1xui8, 0>, <4x8xui8, 8x1> -> <4x8xui8, 8x1>
  %1 = migraphx.div %0, %two : <4x8xui8, 8x1>, <1xui8, 0> -> <4x8xui8, 8x1>
  %2 = migraphx.greater %0, %1 : <4x8xui8, 8x1>, <4x8xui8, 8x1> -> <4x8xui8, 8x1>
  %3 = migraphx.max %1, %a : <4x8xui8, 8x1>, <4x8xui8, 8x1> -> <4x8xui8, 8x1>
  %4 = migraphx.add %3, %2 : <4x8xui8, 8x1>, <4x8xui8, 8x1> -> <4x8xui8, 8x1>
  %5 = migraphx.convert %0 : <4x8xui8, 8x1> to <4x8xf32, 8x1>
  %6 = migraphx.convert %b : <4x8xsi8, 8x1> to <4x8xf32, 8x1>
  %7 = migraphx.mul %5, %6 : <4x8xf32, 8x1>, <4x8xf32, 8x1> -> <4x8xf32, 8x1>
  %8 = migraphx.convert %b : <4x8xsi8, 8x1> to <4x8xsi32, 8x1>
  %9 = migraphx.equal %8, %c : <4x8xsi32, 8x1>, <4x8xsi32, 8x1> -> <4x8xsi32, 8x1>
  %10 = migraphx.greater_or_equal %8, %c : <4x8xsi32, 8x1>, <4x8xsi32, 8x1> -> <4x8xsi32, 8x1>
  %11 = migraphx.add %9, %10 : <4x8xsi32, 8x1>, <4x8xsi32, 8x1> -> <4x8xsi32, 8x1>
  %12 = migraphx.mul %11, %c : <4x8xsi32, 8x1>, <4x8xsi32, 8x1> -> <4x8xsi32, 8x1>
  return %4, %7, %12 : !migraphx.shaped<4x8xui8, 8x1>, !migraphx.shaped<4x8xf32, 8x1>, !migraphx.shaped<4x8xsi32, 8x1>
}
