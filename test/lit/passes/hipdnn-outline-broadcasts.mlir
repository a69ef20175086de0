// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline | FileCheck %s

// A kernel with an anchor also computes what it broadcasts, for example the `1 + scale` of adaptive
// norms.

// CHECK-LABEL: func.func @modulated
// CHECK:         "hipdnn.graph"
// CHECK-DAG:       "hipdnn.layernorm"
// CHECK-DAG:       "hipdnn.pointwise"{{.*}} : (tensor<2x1x512xf32>, tensor<1x1x1xf32>)
// CHECK:           "hipdnn.yield"
// CHECK-NOT:     "hipdnn.graph"
func.func @modulated(%x: tensor<2x64x512xf32>, %scale: tensor<2x1x512xf32>, %shift: tensor<2x1x512xf32>, %s: tensor<1x1x512xf32>) -> tensor<2x64x512xf32> {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  %one = arith.constant dense<1.0> : tensor<1x1x1xf32>
  %0 = "hipdnn.pointwise"(%scale, %one) {mode = "add"} : (tensor<2x1x512xf32>, tensor<1x1x1xf32>) -> tensor<2x1x512xf32>
  %1 = "hipdnn.layernorm"(%x, %s, %s, %e) {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64} : (tensor<2x64x512xf32>, tensor<1x1x512xf32>, tensor<1x1x512xf32>, tensor<1xf32>) -> tensor<2x64x512xf32>
  %2 = "hipdnn.pointwise"(%1, %0) {mode = "mul"} : (tensor<2x64x512xf32>, tensor<2x1x512xf32>) -> tensor<2x64x512xf32>
  %3 = "hipdnn.pointwise"(%2, %shift) {mode = "add"} : (tensor<2x64x512xf32>, tensor<2x1x512xf32>) -> tensor<2x64x512xf32>
  return %3 : tensor<2x64x512xf32>
}

// -----

// The bias of a product, computed for each column.

// CHECK-LABEL: func.func @bias
// CHECK:         "hipdnn.graph"
// CHECK-DAG:       "hipdnn.matmul"
// CHECK-DAG:       "hipdnn.pointwise"{{.*}}mode = "exp"
// CHECK:           "hipdnn.yield"
// CHECK-NOT:     "hipdnn.graph"
func.func @bias(%a: tensor<64x128xf32>, %b: tensor<128x96xf32>, %c: tensor<1x96xf32>) -> tensor<64x96xf32> {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<64x128xf32>, tensor<128x96xf32>) -> tensor<64x96xf32>
  %1 = "hipdnn.pointwise"(%c) {mode = "exp"} : (tensor<1x96xf32>) -> tensor<1x96xf32>
  %2 = "hipdnn.pointwise"(%0, %1) {mode = "add"} : (tensor<64x96xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  return %2 : tensor<64x96xf32>
}

// -----

// What others read, too, is stored by a kernel that walks it.

// CHECK-LABEL: func.func @read_elsewhere
// CHECK:         "hipdnn.graph"
// CHECK:           "hipdnn.pointwise"{{.*}}mode = "exp"
// CHECK-NEXT:      "hipdnn.yield"
// CHECK:         "hipdnn.graph"
// CHECK:           "hipdnn.matmul"
// CHECK:           "hipdnn.yield"
func.func @read_elsewhere(%a: tensor<64x128xf32>, %b: tensor<128x96xf32>, %c: tensor<1x96xf32>) -> (tensor<64x96xf32>, tensor<1x96xf32>) {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<64x128xf32>, tensor<128x96xf32>) -> tensor<64x96xf32>
  %1 = "hipdnn.pointwise"(%c) {mode = "exp"} : (tensor<1x96xf32>) -> tensor<1x96xf32>
  %2 = "hipdnn.pointwise"(%0, %1) {mode = "add"} : (tensor<64x96xf32>, tensor<1x96xf32>) -> tensor<64x96xf32>
  return %2, %1 : tensor<64x96xf32>, tensor<1x96xf32>
}

// -----

// A norm's kernel, too.

// CHECK-LABEL: func.func @read_beside_a_norm
// CHECK:         "hipdnn.graph"
// CHECK:           "hipdnn.pointwise"{{.*}}mode = "exp"
// CHECK-NEXT:      "hipdnn.yield"
// CHECK:         "hipdnn.graph"
// CHECK:           "hipdnn.layernorm"
// CHECK:           "hipdnn.yield"
func.func @read_beside_a_norm(%x: tensor<2x64x512xf32>, %c: tensor<2x1x512xf32>, %s: tensor<1x1x512xf32>) -> (tensor<2x64x512xf32>, tensor<2x1x512xf32>) {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  %0 = "hipdnn.pointwise"(%c) {mode = "exp"} : (tensor<2x1x512xf32>) -> tensor<2x1x512xf32>
  %1 = "hipdnn.layernorm"(%x, %s, %s, %e) {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64} : (tensor<2x64x512xf32>, tensor<1x1x512xf32>, tensor<1x1x512xf32>, tensor<1xf32>) -> tensor<2x64x512xf32>
  %2 = "hipdnn.pointwise"(%1, %0) {mode = "mul"} : (tensor<2x64x512xf32>, tensor<2x1x512xf32>) -> tensor<2x64x512xf32>
  return %2, %0 : tensor<2x64x512xf32>, tensor<2x1x512xf32>
}
