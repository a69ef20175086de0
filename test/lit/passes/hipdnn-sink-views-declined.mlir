// RUN: hipgraft-opt %s --split-input-file --hipdnn-sink-views | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-sink-views --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// Ops that stay in their own shape, with the reason.

// REMARK: 'hipdnn.pointwise' op is not computed in its operand's shape: its result has wider elements than the tensor that is viewed
// CHECK-LABEL: func.func @wider
// CHECK:         "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<6x8xf16>) -> tensor<6x8xf32>
func.func @wider(%a: tensor<8x4xf16>, %b: tensor<4x6xf16>) -> tensor<6x1xf32> {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<8x6xf16>) -> tensor<6x8xf16>
  %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<6x8xf16>) -> tensor<6x8xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<6x8xf32>) -> tensor<6x1xf32>
  return %3 : tensor<6x1xf32>
}

// -----

// REMARK: 'hipdnn.pointwise' op is not computed in its operand's shape: a view of its result has no strides in the other shape
// CHECK-LABEL: func.func @flat
// CHECK:         "hipdnn.pointwise"(%{{.*}}) {mode = "relu_fwd"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
func.func @flat(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>, %c: tensor<48x2xf32>) -> tensor<1x2xf32> {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "relu_fwd"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 48, 1>} : (tensor<6x8xf32>) -> tensor<1x48xf32>
  %4 = "hipdnn.matmul"(%3, %c) : (tensor<1x48xf32>, tensor<48x2xf32>) -> tensor<1x2xf32>
  return %4 : tensor<1x2xf32>
}

// -----

// REMARK: 'hipdnn.pointwise' op is not computed in its operand's shape: an operand has no strides in the shape of the other one
// CHECK-LABEL: func.func @joined
// CHECK:         "hipdnn.pointwise"(%{{.*}}, %arg2) {mode = "add"} : (tensor<2x4x6xf32>, tensor<4x6xf32>) -> tensor<2x4x6xf32>
func.func @joined(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>, %c: tensor<4x6xf32>) -> tensor<2x4x6xf32> {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 24, 6, 1>} : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %2 = "hipdnn.pointwise"(%1, %c) {mode = "add"} : (tensor<2x4x6xf32>, tensor<4x6xf32>) -> tensor<2x4x6xf32>
  return %2 : tensor<2x4x6xf32>
}

// -----

// REMARK: 'hipdnn.pointwise' op is not computed in its operand's shape: its result is returned and read by other ops, too
// CHECK-LABEL: func.func @returned
// CHECK:         "hipdnn.pointwise"(%{{.*}}) {mode = "relu_fwd"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
func.func @returned(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>) -> (tensor<6x8xf32>, tensor<6x1xf32>) {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "relu_fwd"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<6x8xf32>) -> tensor<6x1xf32>
  return %2, %3 : tensor<6x8xf32>, tensor<6x1xf32>
}

