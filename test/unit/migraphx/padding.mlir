// Elements mirrored at the ends, repeated from the edge, and constant.
func.func @padding(%x: !migraphx.shaped<2x4x5xf16, 20x5x1>) -> (!migraphx.shaped<2x7x9xf16, 63x9x1>, !migraphx.shaped<3x7x9xf16, 63x9x1>, !migraphx.shaped<2x7x5xf16, 35x5x1>) {
  %0 = migraphx.pad %x {mode = 1 : i32, pads = [0, 2, 3, 0, 1, 1], value = 0.0 : f32} : <2x4x5xf16, 20x5x1> -> <2x7x9xf16, 63x9x1>
  %1 = migraphx.pad %x {mode = 2 : i32, pads = [1, 2, 3, 0, 1, 1], value = 0.0 : f32} : <2x4x5xf16, 20x5x1> -> <3x7x9xf16, 63x9x1>
  %2 = migraphx.pad %x {mode = 0 : i32, pads = [0, 2, 0, 0, 1, 0], value = 1.5 : f32} : <2x4x5xf16, 20x5x1> -> <2x7x5xf16, 35x5x1>
  return %0, %1, %2 : !migraphx.shaped<2x7x9xf16, 63x9x1>, !migraphx.shaped<3x7x9xf16, 63x9x1>, !migraphx.shaped<2x7x5xf16, 35x5x1>
}
