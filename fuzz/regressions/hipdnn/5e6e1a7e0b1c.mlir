// RUN: --pass-pipeline='builtin.module(hipdnn-outline)'
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "hipdnn.pointwise"(%x) {mode = "relu_fwd", operandSegmentSizes = loc("x":1:2)} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
