// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(cse)'
func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "hipdnn.pointwise"(%a) {mode = loc("x":1:2), operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
