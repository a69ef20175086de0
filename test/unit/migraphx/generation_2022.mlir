// Builtin tensors and operands in brackets, as modules of 2022 have them.
func.func @old(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x3x3xf32>, %s: tensor<6xf32>) -> tensor<1x6x3x3xf32> attributes {kernel, arch = "amdgcn-amd-amdhsa:gfx906"} {
  %0 = migraphx.convolution(%x, %w) {padding = [0 : i64, 0 : i64, 0 : i64, 0 : i64], stride = [1 : i64, 1 : i64], dilation = [1 : i64, 1 : i64], group = 1 : i64, xdlopsV2 = true} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x3x3xf32>
  %1 = "migraphx.broadcast"(%s) {axis = 1 : i64, out_lens = [1, 6, 3, 3]} : (tensor<6xf32>) -> tensor<1x6x3x3xf32>
  %2 = migraphx.add(%0, %1) {} : (tensor<1x6x3x3xf32>, tensor<1x6x3x3xf32>) -> tensor<1x6x3x3xf32>
  return %2 : tensor<1x6x3x3xf32>
}
