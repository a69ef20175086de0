// RUN: hipgraft-opt %s --split-input-file --hipdnn-raise-dequantization | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-raise-dequantization --hipdnn-raise-dequantization | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-raise-dequantization --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --split-input-file --hipdnn-raise-dequantization --hipdnn-outline | FileCheck %s --check-prefix=GRAPH

// REMARK: the kernel can dequantize the right factor [passed=hipdnn-raise-dequantization:raised]
// CHECK-LABEL: func.func @transposed
// CHECK-SAME:    (%[[X:.*]]: tensor<16x16xf16>, %[[W:.*]]: tensor<6x16xi8>, %[[S:.*]]: tensor<6x1xf32>)
// CHECK:         %[[WT:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 16>} : (tensor<6x16xi8>) -> tensor<16x6xi8>
// CHECK:         %[[WIDE:.*]] = "hipdnn.pointwise"(%[[WT]]) {mode = "identity"} : (tensor<16x6xi8>) -> tensor<16x6xf32>
// CHECK:         %[[ST:.*]] = "hipdnn.view"(%[[S]]) {offset = 0 : i64, strides = array<i64: 0, 1>} : (tensor<6x1xf32>) -> tensor<1x6xf32>
// CHECK:         %[[SCALED:.*]] = "hipdnn.pointwise"(%[[WIDE]], %[[ST]]) {mode = "mul"}
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%[[SCALED]]) {mode = "identity"} : (tensor<16x6xf32>) -> tensor<16x6xf16>
// CHECK:         "hipdnn.matmul"(%[[X]], %[[F]])
// GRAPH-LABEL: func.func @transposed
// GRAPH:         "hipdnn.graph"
// GRAPH-NEXT:    ^bb0
// GRAPH-NEXT:      "hipdnn.pointwise"(%{{.*}}) {mode = "identity"}
// GRAPH-NEXT:      "hipdnn.pointwise"(%{{.*}}) {mode = "mul"}
// GRAPH-NEXT:      "hipdnn.pointwise"(%{{.*}}) {mode = "identity"}
// GRAPH-NEXT:      "hipdnn.matmul"
func.func @transposed(%x: tensor<16x16xf16>, %w: tensor<6x16xi8>, %s: tensor<6x1xf32>) -> tensor<16x6xf16> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x16xi8>) -> tensor<6x16xf32>
  %1 = "hipdnn.pointwise"(%0, %s) {mode = "mul"} : (tensor<6x16xf32>, tensor<6x1xf32>) -> tensor<6x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<6x16xf32>) -> tensor<6x16xf16>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 16>} : (tensor<6x16xf16>) -> tensor<16x6xf16>
  %4 = "hipdnn.matmul"(%x, %3) : (tensor<16x16xf16>, tensor<16x6xf16>) -> tensor<16x6xf16>
  return %4 : tensor<16x6xf16>
}

// -----

// Each block of three elements has a zero point and a scale.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME:    (%[[X:.*]]: tensor<2x6xf32>, %[[W:.*]]: tensor<5x2x3xi8>, %[[S:.*]]: tensor<5x2x1xf32>, %[[Z:.*]]: tensor<5x2x1xf32>)
// CHECK:         %[[WT:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<5x2x3xi8>) -> tensor<6x5xi8>
// CHECK:         %[[WIDE:.*]] = "hipdnn.pointwise"(%[[WT]]) {mode = "identity"} : (tensor<6x5xi8>) -> tensor<6x5xf32>
// CHECK:         %[[ZT:.*]] = "hipdnn.view"(%[[Z]]) {offset = 0 : i64, strides = array<i64: 1, 2>} : (tensor<5x2x1xf32>) -> tensor<2x5xf32>
// CHECK:         %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<6x5xf32>
// CHECK:         %[[ZS:.*]] = "hipdnn.block_scale_dequantize"(%[[ONE]], %[[ZT]]) {block_size = array<i64: 3, 1>}
// CHECK:         %[[C:.*]] = "hipdnn.pointwise"(%[[WIDE]], %[[ZS]]) {mode = "sub"}
// CHECK:         %[[ST:.*]] = "hipdnn.view"(%[[S]]) {offset = 0 : i64, strides = array<i64: 1, 2>} : (tensor<5x2x1xf32>) -> tensor<2x5xf32>
// CHECK:         %[[F:.*]] = "hipdnn.block_scale_dequantize"(%[[C]], %[[ST]]) {block_size = array<i64: 3, 1>}
// CHECK:         "hipdnn.matmul"(%[[X]], %[[F]])
func.func @blocks(%x: tensor<2x6xf32>, %w: tensor<5x2x3xi8>, %s: tensor<5x2x1xf32>, %z: tensor<5x2x1xf32>) -> tensor<2x5xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<5x2x3xi8>) -> tensor<5x2x3xf32>
  %1 = "hipdnn.pointwise"(%0, %z) {mode = "sub"} : (tensor<5x2x3xf32>, tensor<5x2x1xf32>) -> tensor<5x2x3xf32>
  %2 = "hipdnn.pointwise"(%1, %s) {mode = "mul"} : (tensor<5x2x3xf32>, tensor<5x2x1xf32>) -> tensor<5x2x3xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<5x2x3xf32>) -> tensor<6x5xf32>
  %4 = "hipdnn.matmul"(%x, %3) : (tensor<2x6xf32>, tensor<6x5xf32>) -> tensor<2x5xf32>
  return %4 : tensor<2x5xf32>
}

// -----

// REMARK: the constant is stored column by column
// CHECK-LABEL: func.func @constant
// CHECK:         %[[W:.*]] = arith.constant dense<{{\[\[}}1, 4], [2, 5], [3, 6]]> : tensor<3x2xi8>
// CHECK:         %[[T:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 2>} : (tensor<3x2xi8>) -> tensor<2x3xi8>
// CHECK:         "hipdnn.pointwise"(%[[T]])
func.func @constant(%x: tensor<2x2xf32>) -> tensor<2x3xf32> {
  %w = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = "hipdnn.matmul"(%x, %0) : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

// With 17 rows, the factor would be computed more than once.
// CHECK-LABEL: func.func @many_rows
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<6x4xi8>) -> tensor<6x4xf32>
// CHECK:         "hipdnn.view"(%[[F]])
// GRAPH-LABEL: func.func @many_rows
// GRAPH:         "hipdnn.graph"
// GRAPH-NEXT:    ^bb0
// GRAPH-NEXT:      "hipdnn.pointwise"
// GRAPH-NEXT:      "hipdnn.yield"
func.func @many_rows(%x: tensor<17x4xf32>, %w: tensor<6x4xi8>) -> tensor<17x6xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x4xi8>) -> tensor<6x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %2 = "hipdnn.matmul"(%x, %1) : (tensor<17x4xf32>, tensor<4x6xf32>) -> tensor<17x6xf32>
  return %2 : tensor<17x6xf32>
}

// -----

// Another op reads the factor, which is stored anyway.
// CHECK-LABEL: func.func @shared
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<6x4xi8>) -> tensor<6x4xf32>
// CHECK:         "hipdnn.view"(%[[F]])
func.func @shared(%x: tensor<2x4xf32>, %w: tensor<6x4xi8>) -> (tensor<2x6xf32>, tensor<6x4xf32>) {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x4xi8>) -> tensor<6x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %2 = "hipdnn.matmul"(%x, %1) : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  return %2, %0 : tensor<2x6xf32>, tensor<6x4xf32>
}

// -----

// The blocks' integers have no op that repeats them.
// REMARK: the right factor is dequantized by a kernel of its own: an operand has an integer for each block
// CHECK-LABEL: func.func @integers
// CHECK:         "hipdnn.view"(%{{.*}}) {{.*}} (tensor<5x2x3xf32>) -> tensor<6x5xf32>
func.func @integers(%x: tensor<2x6xf32>, %w: tensor<5x2x3xi8>, %z: tensor<5x2x1xi32>) -> tensor<2x5xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<5x2x3xi8>) -> tensor<5x2x3xi32>
  %1 = "hipdnn.pointwise"(%0, %z) {mode = "sub"} : (tensor<5x2x3xi32>, tensor<5x2x1xi32>) -> tensor<5x2x3xi32>
  %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<5x2x3xi32>) -> tensor<5x2x3xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<5x2x3xf32>) -> tensor<6x5xf32>
  %4 = "hipdnn.matmul"(%x, %3) : (tensor<2x6xf32>, tensor<6x5xf32>) -> tensor<2x5xf32>
  return %4 : tensor<2x5xf32>
}

// -----

// Two products read the factor.
// CHECK-LABEL: func.func @two_products
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<6x4xi8>) -> tensor<6x4xf32>
// CHECK:         "hipdnn.view"(%[[F]])
func.func @two_products(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %w: tensor<6x4xi8>) -> (tensor<2x6xf32>, tensor<2x6xf32>) {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x4xi8>) -> tensor<6x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %2 = "hipdnn.matmul"(%x, %1) : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  %3 = "hipdnn.matmul"(%y, %1) : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  return %2, %3 : tensor<2x6xf32>, tensor<2x6xf32>
}

// -----

// The scales are a part of a tensor.
// CHECK-LABEL: func.func @part
// CHECK:         "hipdnn.view"(%{{.*}}) {offset = 6 : i64, strides = array<i64: 0, 1>} : (tensor<2x6xf32>) -> tensor<1x6xf32>
func.func @part(%x: tensor<2x4xf32>, %w: tensor<6x4xi8>, %s: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x4xi8>) -> tensor<6x4xf32>
  %1 = "hipdnn.view"(%s) {offset = 6 : i64, strides = array<i64: 1, 1>} : (tensor<2x6xf32>) -> tensor<6x1xf32>
  %2 = "hipdnn.pointwise"(%0, %1) {mode = "mul"} : (tensor<6x4xf32>, tensor<6x1xf32>) -> tensor<6x4xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %4 = "hipdnn.matmul"(%x, %3) : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  return %4 : tensor<2x6xf32>
}

// -----

// A constant that another op reads is stored once.
// CHECK-LABEL: func.func @constant_of_two
// CHECK:         %[[W:.*]] = arith.constant dense<{{\[\[}}1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%[[W]]) {mode = "identity"} : (tensor<2x3xi8>) -> tensor<2x3xf32>
// CHECK:         "hipdnn.matmul"(%{{.*}}, %[[F]])
func.func @constant_of_two(%x: tensor<2x2xf32>) -> (tensor<2x3xf32>, tensor<2x3xi8>) {
  %w = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %1 = "hipdnn.matmul"(%x, %0) : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = "hipdnn.pointwise"(%w) {mode = "neg"} : (tensor<2x3xi8>) -> tensor<2x3xi8>
  return %1, %2 : tensor<2x3xf32>, tensor<2x3xi8>
}

// -----

// What is computed by position stays, and so does what is reduced.
// CHECK-LABEL: func.func @positions
// CHECK:         %[[I:.*]] = "hipdnn.pointwise"(%{{.*}}) {axis = 0 : i64, mode = "gen_index"} : (tensor<6x4xf32>) -> tensor<6x4xi32>
// CHECK:         "hipdnn.view"(%[[I]]) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<6x4xi32>) -> tensor<4x6xi32>
func.func @positions(%x: tensor<2x4xf64>, %w: tensor<6x4xf32>) -> tensor<2x6xf64> {
  %0 = "hipdnn.pointwise"(%w) {mode = "gen_index", axis = 0 : i64} : (tensor<6x4xf32>) -> tensor<6x4xi32>
  %1 = "hipdnn.pointwise"(%0) {mode = "identity"} : (tensor<6x4xi32>) -> tensor<6x4xf64>
  %2 = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<6x4xf64>) -> tensor<4x6xf64>
  %3 = "hipdnn.matmul"(%x, %2) : (tensor<2x4xf64>, tensor<4x6xf64>) -> tensor<2x6xf64>
  return %3 : tensor<2x6xf64>
}
