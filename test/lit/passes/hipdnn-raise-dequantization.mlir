// RUN: hipgraft-opt %s --split-input-file --hipdnn-raise-dequantization | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-raise-dequantization --hipdnn-raise-dequantization | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-raise-dequantization --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --split-input-file --hipdnn-raise-dequantization --hipdnn-outline | FileCheck %s --check-prefix=GRAPH

// REMARK: the kernel can dequantize the right factor [passed=hipdnn-raise-dequantization:raised]
// CHECK-LABEL: func.func @transposed
// CHECK-SAME:    (%[[X:.*]]: tensor<16x256xf16>, %[[W:.*]]: tensor<16x256xi8>, %[[S:.*]]: tensor<16x1xf32>)
// CHECK:         %[[WT:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<16x256xi8>) -> tensor<256x16xi8>
// CHECK:         %[[WIDE:.*]] = "hipdnn.pointwise"(%[[WT]]) {mode = "identity"} : (tensor<256x16xi8>) -> tensor<256x16xf32>
// CHECK:         %[[ST:.*]] = "hipdnn.view"(%[[S]]) {offset = 0 : i64, strides = array<i64: 0, 1>} : (tensor<16x1xf32>) -> tensor<1x16xf32>
// CHECK:         %[[SCALED:.*]] = "hipdnn.pointwise"(%[[WIDE]], %[[ST]]) {mode = "mul"}
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%[[SCALED]]) {mode = "identity"} : (tensor<256x16xf32>) -> tensor<256x16xf16>
// CHECK:         "hipdnn.matmul"(%[[X]], %[[F]])
// GRAPH-LABEL: func.func @transposed
// GRAPH:         "hipdnn.graph"
// GRAPH-NEXT:    ^bb0
// GRAPH-NEXT:      "hipdnn.pointwise"(%{{.*}}) {mode = "identity"}
// GRAPH-NEXT:      "hipdnn.pointwise"(%{{.*}}) {mode = "mul"}
// GRAPH-NEXT:      "hipdnn.pointwise"(%{{.*}}) {mode = "identity"}
// GRAPH-NEXT:      "hipdnn.matmul"
func.func @transposed(%x: tensor<16x256xf16>, %w: tensor<16x256xi8>, %s: tensor<16x1xf32>) -> tensor<16x16xf16> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<16x256xi8>) -> tensor<16x256xf32>
  %1 = "hipdnn.pointwise"(%0, %s) {mode = "mul"} : (tensor<16x256xf32>, tensor<16x1xf32>) -> tensor<16x256xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<16x256xf32>) -> tensor<16x256xf16>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<16x256xf16>) -> tensor<256x16xf16>
  %4 = "hipdnn.matmul"(%x, %3) : (tensor<16x256xf16>, tensor<256x16xf16>) -> tensor<16x16xf16>
  return %4 : tensor<16x16xf16>
}

// -----

// Each block of 128 elements has a zero point and a scale.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME:    (%[[X:.*]]: tensor<2x256xf32>, %[[W:.*]]: tensor<5x2x128xi8>, %[[S:.*]]: tensor<5x2x1xf32>, %[[Z:.*]]: tensor<5x2x1xf32>)
// CHECK:         %[[WT:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<5x2x128xi8>) -> tensor<256x5xi8>
// CHECK:         %[[WIDE:.*]] = "hipdnn.pointwise"(%[[WT]]) {mode = "identity"} : (tensor<256x5xi8>) -> tensor<256x5xf32>
// CHECK:         %[[ZT:.*]] = "hipdnn.view"(%[[Z]]) {offset = 0 : i64, strides = array<i64: 1, 2>} : (tensor<5x2x1xf32>) -> tensor<2x5xf32>
// CHECK:         %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<256x5xf32>
// CHECK:         %[[ZS:.*]] = "hipdnn.block_scale_dequantize"(%[[ONE]], %[[ZT]]) {block_size = array<i64: 128, 1>}
// CHECK:         %[[C:.*]] = "hipdnn.pointwise"(%[[WIDE]], %[[ZS]]) {mode = "sub"}
// CHECK:         %[[ST:.*]] = "hipdnn.view"(%[[S]]) {offset = 0 : i64, strides = array<i64: 1, 2>} : (tensor<5x2x1xf32>) -> tensor<2x5xf32>
// CHECK:         %[[F:.*]] = "hipdnn.block_scale_dequantize"(%[[C]], %[[ST]]) {block_size = array<i64: 128, 1>}
// CHECK:         "hipdnn.matmul"(%[[X]], %[[F]])
func.func @blocks(%x: tensor<2x256xf32>, %w: tensor<5x2x128xi8>, %s: tensor<5x2x1xf32>, %z: tensor<5x2x1xf32>) -> tensor<2x5xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<5x2x128xi8>) -> tensor<5x2x128xf32>
  %1 = "hipdnn.pointwise"(%0, %z) {mode = "sub"} : (tensor<5x2x128xf32>, tensor<5x2x1xf32>) -> tensor<5x2x128xf32>
  %2 = "hipdnn.pointwise"(%1, %s) {mode = "mul"} : (tensor<5x2x128xf32>, tensor<5x2x1xf32>) -> tensor<5x2x128xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<5x2x128xf32>) -> tensor<256x5xf32>
  %4 = "hipdnn.matmul"(%x, %3) : (tensor<2x256xf32>, tensor<256x5xf32>) -> tensor<2x5xf32>
  return %4 : tensor<2x5xf32>
}

// -----

// The scales are a part of a tensor.
// CHECK-LABEL: func.func @part
// CHECK:         "hipdnn.view"(%{{.*}}) {offset = 6 : i64, strides = array<i64: 0, 1>} : (tensor<2x6xf32>) -> tensor<1x6xf32>
func.func @part(%x: tensor<2x256xf32>, %w: tensor<6x256xi8>, %s: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x256xi8>) -> tensor<6x256xf32>
  %1 = "hipdnn.view"(%s) {offset = 6 : i64, strides = array<i64: 1, 1>} : (tensor<2x6xf32>) -> tensor<6x1xf32>
  %2 = "hipdnn.pointwise"(%0, %1) {mode = "mul"} : (tensor<6x256xf32>, tensor<6x1xf32>) -> tensor<6x256xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<6x256xf32>) -> tensor<256x6xf32>
  %4 = "hipdnn.matmul"(%x, %3) : (tensor<2x256xf32>, tensor<256x6xf32>) -> tensor<2x6xf32>
  return %4 : tensor<2x6xf32>
}

// -----

// With 17 rows, the factor would be computed more than once.
// CHECK-LABEL: func.func @many_rows
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<24x256xi8>) -> tensor<24x256xf32>
// CHECK:         "hipdnn.view"(%[[F]])
// GRAPH-LABEL: func.func @many_rows
// GRAPH:         "hipdnn.graph"
// GRAPH-NEXT:    ^bb0
// GRAPH-NEXT:      "hipdnn.pointwise"
// GRAPH-NEXT:      "hipdnn.yield"
func.func @many_rows(%x: tensor<17x256xf32>, %w: tensor<24x256xi8>) -> tensor<17x24xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<24x256xi8>) -> tensor<24x256xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<24x256xf32>) -> tensor<256x24xf32>
  %2 = "hipdnn.matmul"(%x, %1) : (tensor<17x256xf32>, tensor<256x24xf32>) -> tensor<17x24xf32>
  return %2 : tensor<17x24xf32>
}

// -----

// So it would with fewer columns than rows.
// CHECK-LABEL: func.func @few_columns
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<2x256xi8>) -> tensor<2x256xf32>
// CHECK:         "hipdnn.view"(%[[F]])
func.func @few_columns(%x: tensor<3x256xf32>, %w: tensor<2x256xi8>) -> tensor<3x2xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<2x256xi8>) -> tensor<2x256xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<2x256xf32>) -> tensor<256x2xf32>
  %2 = "hipdnn.matmul"(%x, %1) : (tensor<3x256xf32>, tensor<256x2xf32>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// Short sums leave lanes idle.
// CHECK-LABEL: func.func @short_sums
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<6x255xi8>) -> tensor<6x255xf32>
// CHECK:         "hipdnn.view"(%[[F]])
func.func @short_sums(%x: tensor<2x255xf32>, %w: tensor<6x255xi8>) -> tensor<2x6xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x255xi8>) -> tensor<6x255xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 255>} : (tensor<6x255xf32>) -> tensor<255x6xf32>
  %2 = "hipdnn.matmul"(%x, %1) : (tensor<2x255xf32>, tensor<255x6xf32>) -> tensor<2x6xf32>
  return %2 : tensor<2x6xf32>
}

// -----

// Another op reads the factor, which is stored anyway.
// CHECK-LABEL: func.func @shared
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<6x256xi8>) -> tensor<6x256xf32>
// CHECK:         "hipdnn.view"(%[[F]])
func.func @shared(%x: tensor<2x256xf32>, %w: tensor<6x256xi8>) -> (tensor<2x6xf32>, tensor<6x256xf32>) {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x256xi8>) -> tensor<6x256xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<6x256xf32>) -> tensor<256x6xf32>
  %2 = "hipdnn.matmul"(%x, %1) : (tensor<2x256xf32>, tensor<256x6xf32>) -> tensor<2x6xf32>
  return %2, %0 : tensor<2x6xf32>, tensor<6x256xf32>
}

// -----

// Two products read the factor.
// CHECK-LABEL: func.func @two_products
// CHECK:         %[[F:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<6x256xi8>) -> tensor<6x256xf32>
// CHECK:         "hipdnn.view"(%[[F]])
func.func @two_products(%x: tensor<2x256xf32>, %y: tensor<2x256xf32>, %w: tensor<6x256xi8>) -> (tensor<2x6xf32>, tensor<2x6xf32>) {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<6x256xi8>) -> tensor<6x256xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<6x256xf32>) -> tensor<256x6xf32>
  %2 = "hipdnn.matmul"(%x, %1) : (tensor<2x256xf32>, tensor<256x6xf32>) -> tensor<2x6xf32>
  %3 = "hipdnn.matmul"(%y, %1) : (tensor<2x256xf32>, tensor<256x6xf32>) -> tensor<2x6xf32>
  return %2, %3 : tensor<2x6xf32>, tensor<2x6xf32>
}

// -----

// REMARK: the right factor is dequantized by a kernel of its own: an operand has an integer for each block
// CHECK-LABEL: func.func @integers
// CHECK:         "hipdnn.view"(%{{.*}}) {{.*}} (tensor<5x2x128xf32>) -> tensor<256x5xf32>
func.func @integers(%x: tensor<2x256xf32>, %w: tensor<5x2x128xi8>, %z: tensor<5x2x1xi32>) -> tensor<2x5xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<5x2x128xi8>) -> tensor<5x2x128xi32>
  %1 = "hipdnn.pointwise"(%0, %z) {mode = "sub"} : (tensor<5x2x128xi32>, tensor<5x2x1xi32>) -> tensor<5x2x128xi32>
  %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<5x2x128xi32>) -> tensor<5x2x128xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<5x2x128xf32>) -> tensor<256x5xf32>
  %4 = "hipdnn.matmul"(%x, %3) : (tensor<2x256xf32>, tensor<256x5xf32>) -> tensor<2x5xf32>
  return %4 : tensor<2x5xf32>
}

// -----

// What is computed by position stays.
// CHECK-LABEL: func.func @positions
// CHECK:         %[[I:.*]] = "hipdnn.pointwise"(%{{.*}}) {axis = 0 : i64, mode = "gen_index"} : (tensor<6x256xf32>) -> tensor<6x256xi32>
// CHECK:         "hipdnn.view"(%[[I]]) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<6x256xi32>) -> tensor<256x6xi32>
func.func @positions(%x: tensor<2x256xf64>, %w: tensor<6x256xf32>) -> tensor<2x6xf64> {
  %0 = "hipdnn.pointwise"(%w) {mode = "gen_index", axis = 0 : i64} : (tensor<6x256xf32>) -> tensor<6x256xi32>
  %1 = "hipdnn.pointwise"(%0) {mode = "identity"} : (tensor<6x256xi32>) -> tensor<6x256xf64>
  %2 = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 1, 256>} : (tensor<6x256xf64>) -> tensor<256x6xf64>
  %3 = "hipdnn.matmul"(%x, %2) : (tensor<2x256xf64>, tensor<256x6xf64>) -> tensor<2x6xf64>
  return %3 : tensor<2x6xf64>
}

// -----

// Kernels of few rows read columns.
// REMARK: the right factor is dequantized by a kernel of its own: its rows are contiguous, and it is not a constant of its own
// GRAPH-LABEL: func.func @by_rows
// GRAPH:         "hipdnn.graph"
// GRAPH-NEXT:    ^bb0
// GRAPH-NEXT:      "hipdnn.pointwise"
// GRAPH-NEXT:      "hipdnn.yield"
func.func @by_rows(%x: tensor<2x256xf32>, %w: tensor<256x6xi8>) -> tensor<2x6xf32> {
  %0 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<256x6xi8>) -> tensor<256x6xf32>
  %1 = "hipdnn.matmul"(%x, %0) : (tensor<2x256xf32>, tensor<256x6xf32>) -> tensor<2x6xf32>
  return %1 : tensor<2x6xf32>
}
