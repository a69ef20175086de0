// One to three dimensions, uneven padding (all low ends, then all high ends), strides that leave
// a rest, dilation, groups, and the transposed convolution.
func.func @convolutions(%w1: !migraphx.shaped<4x3x3xf16, 9x3x1>, %x1: !migraphx.shaped<2x3x9xf16, 27x9x1>, %w2: !migraphx.shaped<4x2x3x3xf32, 18x9x3x1>, %x2: !migraphx.shaped<1x4x8x7xf32, 224x56x7x1>, %w3: !migraphx.shaped<2x2x2x2x2xf32, 16x8x4x2x1>, %x3: !migraphx.shaped<1x2x4x4x4xf32, 128x64x16x4x1>, %wt: !migraphx.shaped<4x1x3x3xf32, 9x9x3x1>, %xt: !migraphx.shaped<1x4x3x3xf32, 36x9x3x1>) -> (!migraphx.shaped<2x4x5xf16, 20x5x1>, !migraphx.shaped<1x4x4x3xf32, 48x12x3x1>, !migraphx.shaped<1x2x3x3x3xf32, 54x27x9x3x1>, !migraphx.shaped<1x2x6x6xf32, 72x36x6x1>) {
  %0 = migraphx.convolution %x1, %w1 {dilation = [1], group = 1 : i64, padding = [0, 2], stride = [2]} : <2x3x9xf16, 27x9x1>, <4x3x3xf16, 9x3x1> -> <2x4x5xf16, 20x5x1>
  %1 = migraphx.convolution %x2, %w2 {dilation = [2, 1], group = 2 : i64, padding = [2, 0, 1, 1], padding_mode = 0 : i64, perf_config = "v3:16,32,4", stride = [2, 2]} : <1x4x8x7xf32, 224x56x7x1>, <4x2x3x3xf32, 18x9x3x1> -> <1x4x4x3xf32, 48x12x3x1>
  %2 = migraphx.convolution %x3, %w3 {dilation = [1, 1, 1], group = 1 : i64, padding = [0, 0, 0, 0, 0, 0], stride = [1, 1, 1]} : <1x2x4x4x4xf32, 128x64x16x4x1>, <2x2x2x2x2xf32, 16x8x4x2x1> -> <1x2x3x3x3xf32, 54x27x9x3x1>
  %3 = migraphx.backwards_data_convolution %xt, %wt {dilation = [1, 1], group = 2 : i64, padding = [1, 1, 0, 0], padding_mode = 0 : i64, stride = [2, 2]} : <1x4x3x3xf32, 36x9x3x1>, <4x1x3x3xf32, 9x9x3x1> -> <1x2x6x6xf32, 72x36x6x1>
  return %0, %1, %2, %3 : !migraphx.shaped<2x4x5xf16, 20x5x1>, !migraphx.shaped<1x4x4x3xf32, 48x12x3x1>, !migraphx.shaped<1x2x3x3x3xf32, 54x27x9x3x1>, !migraphx.shaped<1x2x6x6xf32, 72x36x6x1>
}
