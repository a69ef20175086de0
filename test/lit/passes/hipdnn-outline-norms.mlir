// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline | FileCheck %s

// Norms over the same rows share a kernel, one after the other or side by side.

// CHECK-LABEL: func.func @sandwich
// CHECK:         "hipdnn.graph"
// CHECK:           "hipdnn.rmsnorm"
// CHECK:           "hipdnn.pointwise"
// CHECK:           "hipdnn.rmsnorm"
// CHECK:           "hipdnn.yield"
// CHECK-NOT:     "hipdnn.graph"
func.func @sandwich(%x: tensor<64x512xf32>, %r: tensor<64x512xf32>, %s: tensor<1x512xf32>) -> tensor<64x512xf32> {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  %0 = "hipdnn.rmsnorm"(%x, %s, %e) {forward_phase = "INFERENCE"} : (tensor<64x512xf32>, tensor<1x512xf32>, tensor<1xf32>) -> tensor<64x512xf32>
  %1 = "hipdnn.pointwise"(%0, %r) {mode = "add"} : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
  %2 = "hipdnn.rmsnorm"(%1, %s, %e) {forward_phase = "INFERENCE"} : (tensor<64x512xf32>, tensor<1x512xf32>, tensor<1xf32>) -> tensor<64x512xf32>
  return %2 : tensor<64x512xf32>
}

// -----

// CHECK-LABEL: func.func @side_by_side
// CHECK:         "hipdnn.graph"
// CHECK:           "hipdnn.rmsnorm"
// CHECK:           "hipdnn.rmsnorm"
// CHECK:           "hipdnn.yield"
// CHECK-NOT:     "hipdnn.graph"
func.func @side_by_side(%x: tensor<64x512xf32>, %s: tensor<1x512xf32>, %t: tensor<1x512xf32>) -> (tensor<64x512xf32>, tensor<64x512xf32>) {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  %0 = "hipdnn.rmsnorm"(%x, %s, %e) {forward_phase = "INFERENCE"} : (tensor<64x512xf32>, tensor<1x512xf32>, tensor<1xf32>) -> tensor<64x512xf32>
  %1 = "hipdnn.rmsnorm"(%x, %t, %e) {forward_phase = "INFERENCE"} : (tensor<64x512xf32>, tensor<1x512xf32>, tensor<1xf32>) -> tensor<64x512xf32>
  return %0, %1 : tensor<64x512xf32>, tensor<64x512xf32>
}

// -----

// What several norms read is stored, or each lane would keep its rows in its own memory.

// CHECK-LABEL: func.func @of_a_computed_tensor
// CHECK:         "hipdnn.graph"
// CHECK:           "hipdnn.yield"
// CHECK:         "hipdnn.graph"
// CHECK:           "hipdnn.rmsnorm"
// CHECK:           "hipdnn.yield"
// CHECK-NOT:     "hipdnn.graph"
func.func @of_a_computed_tensor(%x: tensor<64x512xf32>, %s: tensor<1x512xf32>, %t: tensor<1x512xf32>) -> (tensor<64x512xf32>, tensor<64x512xf32>) {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  %0 = "hipdnn.pointwise"(%x) {mode = "exp"} : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %1 = "hipdnn.rmsnorm"(%0, %s, %e) {forward_phase = "INFERENCE"} : (tensor<64x512xf32>, tensor<1x512xf32>, tensor<1xf32>) -> tensor<64x512xf32>
  %2 = "hipdnn.rmsnorm"(%0, %t, %e) {forward_phase = "INFERENCE"} : (tensor<64x512xf32>, tensor<1x512xf32>, tensor<1xf32>) -> tensor<64x512xf32>
  return %1, %2 : tensor<64x512xf32>, tensor<64x512xf32>
}

// -----

// One of rows of 512 elements, one of 64 x 512.

// CHECK-LABEL: func.func @other_rows
// CHECK-COUNT-2: "hipdnn.graph"
func.func @other_rows(%x: tensor<8x64x512xf32>, %s: tensor<1x1x512xf32>, %b: tensor<1x64x512xf32>) -> tensor<8x64x512xf32> {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  %0 = "hipdnn.layernorm"(%x, %s, %s, %e) {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64} : (tensor<8x64x512xf32>, tensor<1x1x512xf32>, tensor<1x1x512xf32>, tensor<1xf32>) -> tensor<8x64x512xf32>
  %1 = "hipdnn.layernorm"(%0, %b, %b, %e) {forward_phase = "INFERENCE", normalized_dim_count = 2 : i64} : (tensor<8x64x512xf32>, tensor<1x64x512xf32>, tensor<1x64x512xf32>, tensor<1xf32>) -> tensor<8x64x512xf32>
  return %1 : tensor<8x64x512xf32>
}
