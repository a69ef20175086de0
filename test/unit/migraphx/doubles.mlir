// Doubles are compiled, on every target.
func.func @doubles(%x: !migraphx.shaped<4x8xf64, 8x1>, %y: !migraphx.shaped<4x8xf64, 1x4>) -> (!migraphx.shaped<4x8xf64, 8x1>, !migraphx.shaped<4x1xf64, 1x1>) {
  %0 = migraphx.sub %x, %y : <4x8xf64, 8x1>, <4x8xf64, 1x4> -> <4x8xf64, 8x1>
  %1 = migraphx.reduce_sum %0 {axes = [1 : i64]} : <4x8xf64, 8x1> -> <4x1xf64, 1x1>
  return %0, %1 : !migraphx.shaped<4x8xf64, 8x1>, !migraphx.shaped<4x1xf64, 1x1>
}
