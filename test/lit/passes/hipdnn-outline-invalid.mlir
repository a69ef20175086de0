// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline --verify-diagnostics
// The runner verifies what the pass is given.

func.func @bad_shape(%a: tensor<8x4xf32>, %b: tensor<5x6xf32>) -> tensor<8x6xf32> {
  // expected-error @below {{'hipdnn.matmul' op}}
  %c = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<5x6xf32>) -> tensor<8x6xf32>
  return %c : tensor<8x6xf32>
}
