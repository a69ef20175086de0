// RUN: hipgraft-opt %s --hipdnn-raise-dequantization --verify-diagnostics

// A constant that the pass would store column by column has no data.

func.func @missing(%x: tensor<2x256xf32>) -> tensor<2x6xf32> {
  // expected-error @below {{'arith.constant' op refers to a resource that the module does not hold}}
  %w = arith.constant dense_resource<missing> : tensor<256x6xi8>
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<256x6xi8>) -> tensor<256x6xf32>
  %1 = "hipdnn.matmul"(%x, %0) : (tensor<2x256xf32>, tensor<256x6xf32>) -> tensor<2x6xf32>
  return %1 : tensor<2x6xf32>
}
