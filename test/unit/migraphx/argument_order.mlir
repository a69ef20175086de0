// The kernel reads its operands in another order than the function has them; one is read twice
// and one not at all.
func.func @order(%c: !migraphx.shaped<4x8xf32, 8x1>, %unused: !migraphx.shaped<5xf32, 1>, %b: !migraphx.shaped<16x8xf32, 8x1>, %a: !migraphx.shaped<4x16xf32, 16x1>) -> !migraphx.shaped<4x8xf32, 8x1> {
  %0 = migraphx.dot %a, %b : <4x16xf32, 16x1>, <16x8xf32, 8x1> -> <4x8xf32, 8x1>
  %1 = migraphx.sub %0, %c : <4x8xf32, 8x1>, <4x8xf32, 8x1> -> <4x8xf32, 8x1>
  %2 = migraphx.mul %1, %c : <4x8xf32, 8x1>, <4x8xf32, 8x1> -> <4x8xf32, 8x1>
  return %2 : !migraphx.shaped<4x8xf32, 8x1>
}
