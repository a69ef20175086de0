// RUN: hipgraft-opt %s --hipdnn-recognize --verify-diagnostics

// Filters that the pass would scale have no data.

func.func @missing(%x: tensor<1x1x8x8xf32>) -> tensor<1x2x8x8xf32> {
  // expected-error @below {{'arith.constant' op refers to a resource that the module does not hold}}
  %w = arith.constant dense_resource<missing> : tensor<2x1x1x1xf32>
  %two = arith.constant dense<2.0> : tensor<1xf32>
  %0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32>
  %1 = "hipdnn.pointwise"(%0, %two) {mode = "mul"} : (tensor<1x2x8x8xf32>, tensor<1xf32>) -> tensor<1x2x8x8xf32>
  return %1 : tensor<1x2x8x8xf32>
}
