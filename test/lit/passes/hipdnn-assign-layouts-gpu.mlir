// RUN: hipgraft-opt %s --hipdnn-assign-layouts=gpu=mi300x --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --hipdnn-assign-layouts=gpu=mi300x | FileCheck %s
// RUN: hipgraft-opt %s --hipdnn-assign-layouts=gpu=rx7900xtx | FileCheck %s --check-prefix=RDNA
// Convolutions of f32 gain on CDNA, where wavefronts share their sums.

// REMARK: result is stored channels last; its readers gain about
// RDNA-NOT:      result_strides
// CHECK-LABEL: func.func @single_precision
// CHECK:         }) {name = "a", result_strides = [array<i64: 200704, 1, 3584, 64>]}
// CHECK:         }) {arg_strides = [array<i64: 200704, 1, 3584, 64>, array<i64: 576, 1, 192, 64>], name = "b"}
func.func @single_precision(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = arith.constant dense<1.0> : tensor<64x64x3x3xf32>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x64x56x56xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf32>) -> ()
  }) {name = "a"} : (tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x64x56x56xf32>, %b: tensor<64x64x3x3xf32>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf32>) -> ()
  }) {name = "b"} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  return %1 : tensor<1x64x56x56xf32>
}
