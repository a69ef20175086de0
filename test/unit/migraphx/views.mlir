// Views of arguments and of computed values, also those that strides cannot say.
func.func @views(%x: !migraphx.shaped<2x6x4xf32, 24x4x1>, %v: !migraphx.shaped<6x4xf32, 4x1>) -> (!migraphx.shaped<4x2x3xf32, 6x3x1>, !migraphx.shaped<6x8xf32, 8x1>, !migraphx.shaped<2x6x4xf32, 24x4x1>, !migraphx.shaped<2x6x7xf32, 42x7x1>) {
  %0 = migraphx.slice %x {axes = [1], ends = [5], starts = [2]} : <2x6x4xf32, 24x4x1> -> <2x3x4xf32, 24x4x1>
  %1 = migraphx.transpose %0 {permutation = [2, 0, 1]} : <2x3x4xf32, 24x4x1> -> <4x2x3xf32, 1x24x4>
  %2 = migraphx.neg %1 : <4x2x3xf32, 1x24x4> -> <4x2x3xf32, 6x3x1>
  %3 = migraphx.transpose %x {permutation = [1, 2, 0]} : <2x6x4xf32, 24x4x1> -> <6x4x2xf32, 4x1x24>
  %4 = migraphx.reshape %3 {dims = [6, -1]} : <6x4x2xf32, 4x1x24> -> <6x8xf32, 8x1>
  %5 = migraphx.exp %4 : <6x8xf32, 8x1> -> <6x8xf32, 8x1>
  %6 = migraphx.broadcast %v {axis = 1 : i64, out_lens = [2, 6, 4]} : <6x4xf32, 4x1> -> <2x6x4xf32, 0x4x1>
  %7 = migraphx.add %6, %x : <2x6x4xf32, 0x4x1>, <2x6x4xf32, 24x4x1> -> <2x6x4xf32, 24x4x1>
  %8 = migraphx.pad %7 {mode = 0 : i32, pads = [0, 0, 1, 0, 0, 2], value = 0.5 : f32} : <2x6x4xf32, 24x4x1> -> <2x6x7xf32, 42x7x1>
  return %2, %5, %7, %8 : !migraphx.shaped<4x2x3xf32, 6x3x1>, !migraphx.shaped<6x8xf32, 8x1>, !migraphx.shaped<2x6x4xf32, 24x4x1>, !migraphx.shaped<2x6x7xf32, 42x7x1>
}
