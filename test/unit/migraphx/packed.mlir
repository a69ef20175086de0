// Elements of 4 bits in and out, two a byte: of both signs, floating, permuted, from wider numbers,
// and in the forms of older modules, whose attributes say what has no sign.
func.func @packed(%s: !migraphx.shaped<3x4x2xsi4, 8x1x4>, %u: !migraphx.shaped<4x4xui4, 4x1>, %i: !migraphx.shaped<4x2xi4, 2x1>, %b: !migraphx.shaped<4x2xi8, 2x1>, %f: !migraphx.shaped<8x2xf8E4M3FN, 2x1>, %x: !migraphx.shaped<4x4xf32, 4x1>) -> (!migraphx.shaped<3x4x2xsi4, 8x2x1>, !migraphx.shaped<4x4xf32, 4x1>, !migraphx.shaped<4x2xi8, 2x1>, !migraphx.shaped<4x4xi8, 4x1>, !migraphx.shaped<8x4xf4E2M1FN, 4x1>, !migraphx.shaped<8x4xf8E4M3FN, 4x1>, !migraphx.shaped<4x4xui4, 1x4>, !migraphx.shaped<4x4xf4E2M1FN, 4x1>) {
  %0 = migraphx.relu %s : <3x4x2xsi4, 8x1x4> -> <3x4x2xsi4, 8x2x1>
  %1 = migraphx.convert %u : <4x4xui4, 4x1> to <4x4xf32, 4x1>
  %2 = migraphx.convert zero_extend %i : <4x2xi4, 2x1> to <4x2xi8, 2x1>
  %3 = migraphx.unpack %b {axis = 1 : i64, isUnsigned = true} : <4x2xi8, 2x1> -> <4x4xi8, 4x1>
  %4 = migraphx.unpack %f {axis = 1 : i64} : <8x2xf8E4M3FN, 2x1> -> <8x4xf4E2M1FN, 4x1>
  %5 = migraphx.unpack %f {axis = 1 : i64} : <8x2xf8E4M3FN, 2x1> -> <8x4xf8E4M3FN, 4x1>
  %6 = migraphx.abs %x : <4x4xf32, 4x1> -> <4x4xf32, 4x1>
  %7 = migraphx.convert %6 : <4x4xf32, 4x1> to <4x4xui4, 1x4>
  %8 = migraphx.convert %x : <4x4xf32, 4x1> to <4x4xf4E2M1FN, 4x1>
  return %0, %1, %2, %3, %4, %5, %7, %8 : !migraphx.shaped<3x4x2xsi4, 8x2x1>, !migraphx.shaped<4x4xf32, 4x1>, !migraphx.shaped<4x2xi8, 2x1>, !migraphx.shaped<4x4xi8, 4x1>, !migraphx.shaped<8x4xf4E2M1FN, 4x1>, !migraphx.shaped<8x4xf8E4M3FN, 4x1>, !migraphx.shaped<4x4xui4, 1x4>, !migraphx.shaped<4x4xf4E2M1FN, 4x1>
}
