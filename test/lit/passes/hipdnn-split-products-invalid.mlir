// RUN: hipgraft-opt %s --hipdnn-split-products --verify-diagnostics

// A constant that the pass would store column by column has no data.

func.func @missing(%x: tensor<1x4xf16>) -> tensor<1x2xf16> {
  // expected-error @below {{'arith.constant' op refers to a resource that the module does not hold}}
  %w = arith.constant dense_resource<missing> : tensor<4x4xf16>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<1x4xf16>, tensor<4x4xf16>) -> tensor<1x4xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 1>} : (tensor<1x4xf16>) -> tensor<1x2xf16>
  %2 = "hipdnn.view"(%0) {offset = 2 : i64, strides = array<i64: 4, 1>} : (tensor<1x4xf16>) -> tensor<1x2xf16>
  %y = "hipdnn.pointwise"(%1, %2) {mode = "mul"} : (tensor<1x2xf16>, tensor<1x2xf16>) -> tensor<1x2xf16>
  return %y : tensor<1x2xf16>
}
