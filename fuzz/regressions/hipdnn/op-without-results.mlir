// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(hipdnn-outline)'
func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  "hipdnn.pointwise"(%a) {mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>, resultSegmentSizes = array<i32: 0>} : (tensor<2xf32>) -> ()
  return %a : tensor<2xf32>
}
