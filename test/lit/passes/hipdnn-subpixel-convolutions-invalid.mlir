// RUN: hipgraft-opt %s --hipdnn-subpixel-convolutions --verify-diagnostics

// The filters that the pass would arrange have no data.

func.func @missing(%x: tensor<1x1x3xf32>) -> tensor<1x1x4xf32> {
  // expected-error @below {{'arith.constant' op refers to a resource that the module does not hold}}
  %w = arith.constant dense_resource<missing> : tensor<1x1x2xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 0>, pre_padding = array<i64: 0>, stride = array<i64: 1>} : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x4xf32>
  return %0 : tensor<1x1x4xf32>
}
