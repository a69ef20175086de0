// Norms of windows, their order and default, on padding and in ceil mode; means with the padding.
func.func @norms(%x: !migraphx.shaped<2x3x7x8xf32, 168x56x8x1>, %h: !migraphx.shaped<2x3x9xf16, 27x9x1>) -> (!migraphx.shaped<2x3x4x5xf32, 60x20x5x1>, !migraphx.shaped<2x3x4x5xf32, 60x20x5x1>, !migraphx.shaped<2x3x4x4xf32, 48x16x4x1>, !migraphx.shaped<2x3x4x4xf32, 48x16x4x1>, !migraphx.shaped<2x3x4x4xf32, 48x16x4x1>, !migraphx.shaped<2x3x4xf16, 12x4x1>) {
  %0 = migraphx.pooling %x {mode = "lpnorm", padding = [1, 1, 1, 1], stride = [2, 2], length = [3, 3], ceil_mode = 1 : i64} : <2x3x7x8xf32, 168x56x8x1> -> <2x3x4x5xf32, 60x20x5x1>
  %1 = migraphx.pooling %x {mode = "lpnorm", lp_order = 1 : i64, padding = [1, 1, 1, 1], stride = [2, 2], length = [3, 3], ceil_mode = true} : <2x3x7x8xf32, 168x56x8x1> -> <2x3x4x5xf32, 60x20x5x1>
  %2 = migraphx.pooling %x {mode = "lpnorm", lp_order = 3 : i64, padding = [1, 1], stride = [2, 2], length = [3, 3], ceil_mode = 0 : i64} : <2x3x7x8xf32, 168x56x8x1> -> <2x3x4x4xf32, 48x16x4x1>
  %3 = migraphx.pooling %x {mode = "lpnorm", lp_order = 0 : i64, padding = [1, 1], stride = [2, 2], length = [3, 3]} : <2x3x7x8xf32, 168x56x8x1> -> <2x3x4x4xf32, 48x16x4x1>
  %4 = migraphx.pooling %x {mode = "average", count_include_pad = true, dilations = [1, 1], padding = [1, 1], stride = [2, 2], length = [3, 3]} : <2x3x7x8xf32, 168x56x8x1> -> <2x3x4x4xf32, 48x16x4x1>
  %5 = migraphx.pooling %h {mode = "lpnorm", padding = [0], stride = [2], lengths = [3]} : <2x3x9xf16, 27x9x1> -> <2x3x4xf16, 12x4x1>
  return %0, %1, %2, %3, %4, %5 : !migraphx.shaped<2x3x4x5xf32, 60x20x5x1>, !migraphx.shaped<2x3x4x5xf32, 60x20x5x1>, !migraphx.shaped<2x3x4x4xf32, 48x16x4x1>, !migraphx.shaped<2x3x4x4xf32, 48x16x4x1>, !migraphx.shaped<2x3x4x4xf32, 48x16x4x1>, !migraphx.shaped<2x3x4xf16, 12x4x1>
}
