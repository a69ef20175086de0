// Operations that rocMLIR has dropped: windows cut at the ends, also in ceil mode; statistics of a
// channel and of each place.
func.func @pooling(%x: !migraphx.shaped<2x3x7x8xf32, 168x56x8x1>, %c: !migraphx.shaped<3xf32, 1>, %p: !migraphx.shaped<3x7x8xf32, 56x8x1>) -> (!migraphx.shaped<2x3x4x5xf32, 60x20x5x1>, !migraphx.shaped<2x3x4x4xf32, 48x16x4x1>, !migraphx.shaped<2x3x7x8xf32, 168x56x8x1>) {
  %0 = migraphx.pooling %x {mode = "max", padding = [1, 1, 1, 1], stride = [2, 2], length = [3, 3], ceil_mode = 1 : i64} : <2x3x7x8xf32, 168x56x8x1> -> <2x3x4x5xf32, 60x20x5x1>
  %1 = migraphx.pooling %x {mode = "average", padding = [1, 1], stride = [2, 2], length = [3, 3], ceil_mode = 0 : i64} : <2x3x7x8xf32, 168x56x8x1> -> <2x3x4x4xf32, 48x16x4x1>
  %v = migraphx.abs %c : <3xf32, 1> -> <3xf32, 1>
  %2 = migraphx.batch_norm_inference %x, %c, %c, %c, %v {epsilon = 1.0e-05 : f32, momentum = 0.9 : f32, bn_mode = 1 : i64} : <2x3x7x8xf32, 168x56x8x1>, <3xf32, 1>, <3xf32, 1>, <3xf32, 1>, <3xf32, 1> -> <2x3x7x8xf32, 168x56x8x1>
  %w = migraphx.abs %p : <3x7x8xf32, 56x8x1> -> <3x7x8xf32, 56x8x1>
  %3 = migraphx.batch_norm_inference %2, %p, %p, %p, %w {epsilon = 1.0e-05 : f32, momentum = 0.9 : f32, bn_mode = 0 : i64} : <2x3x7x8xf32, 168x56x8x1>, <3x7x8xf32, 56x8x1>, <3x7x8xf32, 56x8x1>, <3x7x8xf32, 56x8x1>, <3x7x8xf32, 56x8x1> -> <2x3x7x8xf32, 168x56x8x1>
  return %0, %1, %3 : !migraphx.shaped<2x3x4x5xf32, 60x20x5x1>, !migraphx.shaped<2x3x4x4xf32, 48x16x4x1>, !migraphx.shaped<2x3x7x8xf32, 168x56x8x1>
}
