// RUN: hipgraft-opt %s --hipdnn-narrow-contractions --verify-diagnostics

// A constant whose numbers the pass would check has no data.

func.func @missing() -> tensor<4x4xf32> {
  // expected-error @below {{'arith.constant' op refers to a resource that the module does not hold}}
  %w = arith.constant dense_resource<missing> : tensor<4x4xf32>
  %0 = "hipdnn.matmul"(%w, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
