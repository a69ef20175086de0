// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-torch | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-torch --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// What torch cannot say stays a hipDNN op, and a remark tells why.

// REMARK: 'hipdnn.conv_fprop' op stays: torch pads both sides alike
// CHECK-LABEL: func.func @uneven_padding
// CHECK:         "hipdnn.conv_fprop"
func.func @uneven_padding(%x: tensor<1x4x6x6xf32>, %w: tensor<4x4x2x2xf32>) -> tensor<1x4x6x6xf32> {
  %0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x6x6xf32>, tensor<4x4x2x2xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}

// -----

// REMARK: 'hipdnn.pointwise' op stays: torch has no op for mode 'gen_index'
// REMARK: 'hipdnn.rmsnorm' op stays: a scalar is known only at run time
// CHECK-LABEL: func.func @others
// CHECK:         mode = "gen_index"
// CHECK:         "hipdnn.rmsnorm"
func.func @others(%x: tensor<4x8xf32>, %s: tensor<1x8xf32>, %eps: tensor<1xf32>) -> tensor<4x8xf32> {
  %0 = "hipdnn.pointwise"(%x) {mode = "gen_index", axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "hipdnn.rmsnorm"(%0, %s, %eps) {forward_phase = "INFERENCE"} : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A graph with one that stays holds torch ops beside it.

// REMARK: 'hipdnn.pointwise' op stays: its operands are integers
// CHECK-LABEL: func.func @mixed
// CHECK:         "hipdnn.fallback"
// CHECK:           "hipdnn.pointwise"(%{{.*}}) {mode = "abs"}
// CHECK:           torch.aten.exp
func.func @mixed(%x: tensor<8xi32>) -> tensor<8xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<8xi32>):
    %1 = "hipdnn.pointwise"(%a) {mode = "abs"} : (tensor<8xi32>) -> tensor<8xf32>
    %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%2) : (tensor<8xf32>) -> ()
  }) {name = "g"} : (tensor<8xi32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
