// RUN: hipgraft-opt %s --hipdnn-batch-products --verify-diagnostics

// A constant that the pass would store column by column has no data.

func.func @missing(%x: tensor<1x4xf16>) -> tensor<1x4xf16> {
  // expected-error @below {{'arith.constant' op refers to a resource that the module does not hold}}
  %w = arith.constant dense_resource<missing> : tensor<4x4xf16>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<1x4xf16>, tensor<4x4xf16>) -> tensor<1x4xf16>
  return %0 : tensor<1x4xf16>
}
