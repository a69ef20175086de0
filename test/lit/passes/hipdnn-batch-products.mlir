// RUN: hipgraft-opt %s --split-input-file --hipdnn-batch-products | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-batch-products --hipdnn-batch-products | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-batch-products --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --split-input-file --hipdnn-batch-products=max-bytes=8 | FileCheck %s --check-prefix=SMALL
// Products of a matrix with constants, which views read, are one product with a batch of constants.

// REMARK: remark: 2 products of one matrix are one
// REMARK: remark: 2 products of one matrix are one
// REMARK-COUNT-5: remark: the constant is stored column by column
// REMARK-NOT: remark
// CHECK-LABEL: func.func @keys_and_values
// CHECK-SAME:    (%[[X:.*]]: tensor<5x4xf16>)
// CHECK:         %[[W:.*]] = arith.constant dense<{{\[\[\[}}1.0{{.*}}2.0{{.*}}> : tensor<2x4x4xf16>
// CHECK:         %[[T:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 16, 1, 4>}
// CHECK:         %[[B:.*]] = "hipdnn.view"(%[[X]]) {{.*}} -> tensor<1x5x4xf16>
// CHECK:         %[[P:.*]] = "hipdnn.matmul"(%[[B]], %[[T]])
// CHECK-SAME:      -> tensor<2x5x4xf16>
// CHECK:         "hipdnn.view"(%[[P]]) {offset = 0 : i64, strides = array<i64: 2, 4, 1>}
// CHECK:         "hipdnn.view"(%[[P]]) {offset = 20 : i64, strides = array<i64: 2, 4, 1>}
// SMALL-LABEL: func.func @keys_and_values
// SMALL-COUNT-2: hipdnn.matmul
func.func @keys_and_values(%x: tensor<5x4xf16>) -> (tensor<2x5x2xf16>, tensor<2x5x2xf16>) {
  %wk = arith.constant dense<1.0> : tensor<4x4xf16>
  %wv = arith.constant dense<2.0> : tensor<4x4xf16>
  %0 = "hipdnn.matmul"(%x, %wk) : (tensor<5x4xf16>, tensor<4x4xf16>) -> tensor<5x4xf16>
  %1 = "hipdnn.matmul"(%x, %wv) : (tensor<5x4xf16>, tensor<4x4xf16>) -> tensor<5x4xf16>
  %k = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 2, 4, 1>} : (tensor<5x4xf16>) -> tensor<2x5x2xf16>
  %v = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 2, 4, 1>} : (tensor<5x4xf16>) -> tensor<2x5x2xf16>
  return %k, %v : tensor<2x5x2xf16>, tensor<2x5x2xf16>
}

// -----

// The columns of one row are joined, of different numbers too, and stored column by column; a product
// without a bias gets zeros.

// CHECK-LABEL: func.func @one_row
// CHECK-SAME:    (%[[X:.*]]: tensor<1x2xf32>)
// CHECK:         %[[W:.*]] = arith.constant dense<{{\[\[}}1.{{.*}}, 1.{{.*}}], [1.{{.*}}, 1.{{.*}}], [2.0{{.*}}, 2.{{.*}}]]> : tensor<3x2xf32>
// CHECK:         %[[T:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 2>}
// CHECK:         %[[P:.*]] = "hipdnn.matmul"(%[[X]], %[[T]]) : {{.*}} -> tensor<1x3xf32>
// CHECK:         arith.constant dense<{{\[\[}}5.0{{.*}}, 5.0{{.*}}, 0.0{{.*}}]]> : tensor<1x3xf32>
// CHECK:         %[[S:.*]] = "hipdnn.pointwise"(%[[P]], %{{.*}}) {mode = "add"}
// CHECK:         "hipdnn.view"(%[[S]]) {offset = 2 : i64
func.func @one_row(%x: tensor<1x2xf32>) -> (tensor<2xf32>, tensor<1xf32>) {
  %w = arith.constant dense<1.0> : tensor<2x2xf32>
  %u = arith.constant dense<2.0> : tensor<2x1xf32>
  %bias = arith.constant dense<5.0> : tensor<1x2xf32>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = "hipdnn.pointwise"(%0, %bias) {mode = "add"} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %2 = "hipdnn.matmul"(%x, %u) : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32>
  %3 = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<1x2xf32>) -> tensor<2xf32>
  %4 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 0>} : (tensor<1x1xf32>) -> tensor<1xf32>
  return %3, %4 : tensor<2xf32>, tensor<1xf32>
}

// -----

// What multiplies up to four rows is stored column by column, too; five rows read it as it is.

// CHECK-LABEL: func.func @few_rows
// CHECK-SAME:    (%[[X:.*]]: tensor<16x2xf32>, %[[Y:.*]]: tensor<17x2xf32>)
// CHECK:         %[[W:.*]] = arith.constant dense<{{.*}}> : tensor<3x2xf32>
// CHECK:         %[[T:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 2>}
// CHECK:         "hipdnn.matmul"(%[[X]], %[[T]]) : {{.*}} -> tensor<16x3xf32>
// CHECK-NOT:     hipdnn.view
// CHECK:         "hipdnn.matmul"(%[[Y]], %{{.*}}) : {{.*}} -> tensor<17x3xf32>
func.func @few_rows(%x: tensor<16x2xf32>, %y: tensor<17x2xf32>) -> (tensor<16x3xf32>, tensor<17x3xf32>) {
  %w = arith.constant dense<1.0> : tensor<2x3xf32>
  %u = arith.constant dense<2.0> : tensor<2x3xf32>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<16x2xf32>, tensor<2x3xf32>) -> tensor<16x3xf32>
  %1 = "hipdnn.matmul"(%y, %u) : (tensor<17x2xf32>, tensor<2x3xf32>) -> tensor<17x3xf32>
  return %0, %1 : tensor<16x3xf32>, tensor<17x3xf32>
}

// -----

// Products that share kernels otherwise stay: of 16 rows, of weights that are inputs, with activations.

// CHECK-LABEL: func.func @stays
// CHECK-COUNT-6: hipdnn.matmul
func.func @stays(%x: tensor<16x4xf16>, %y: tensor<5x4xf16>, %u: tensor<4x4xf16>) -> (tensor<64xf16>, tensor<64xf16>, tensor<20xf16>, tensor<20xf16>, tensor<5x4xf16>, tensor<5x4xf16>) {
  %w = arith.constant dense<1.0> : tensor<4x4xf16>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<16x4xf16>, tensor<4x4xf16>) -> tensor<16x4xf16>
  %1 = "hipdnn.matmul"(%x, %w) : (tensor<16x4xf16>, tensor<4x4xf16>) -> tensor<16x4xf16>
  %2 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<16x4xf16>) -> tensor<64xf16>
  %3 = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<16x4xf16>) -> tensor<64xf16>
  %4 = "hipdnn.matmul"(%y, %u) : (tensor<5x4xf16>, tensor<4x4xf16>) -> tensor<5x4xf16>
  %5 = "hipdnn.matmul"(%y, %w) : (tensor<5x4xf16>, tensor<4x4xf16>) -> tensor<5x4xf16>
  %6 = "hipdnn.view"(%4) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<5x4xf16>) -> tensor<20xf16>
  %7 = "hipdnn.view"(%5) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<5x4xf16>) -> tensor<20xf16>
  %8 = "hipdnn.matmul"(%y, %w) : (tensor<5x4xf16>, tensor<4x4xf16>) -> tensor<5x4xf16>
  %9 = "hipdnn.pointwise"(%8) {mode = "relu_fwd"} : (tensor<5x4xf16>) -> tensor<5x4xf16>
  %10 = "hipdnn.matmul"(%y, %w) : (tensor<5x4xf16>, tensor<4x4xf16>) -> tensor<5x4xf16>
  %11 = "hipdnn.pointwise"(%10) {mode = "relu_fwd"} : (tensor<5x4xf16>) -> tensor<5x4xf16>
  return %2, %3, %6, %7, %9, %11 : tensor<64xf16>, tensor<64xf16>, tensor<20xf16>, tensor<20xf16>, tensor<5x4xf16>, tensor<5x4xf16>
}

// -----

// Elementwise ops combine what views show of these, so that all share one graph instead.

// CHECK-LABEL: func.func @gated
// CHECK-COUNT-2: hipdnn.matmul
// CHECK-NOT:     hipdnn.matmul
func.func @gated(%x: tensor<1x4xf16>) -> tensor<1x1x2xf16> {
  %wg = arith.constant dense<1.0> : tensor<4x2xf16>
  %wu = arith.constant dense<2.0> : tensor<4x2xf16>
  %0 = "hipdnn.matmul"(%x, %wg) : (tensor<1x4xf16>, tensor<4x2xf16>) -> tensor<1x2xf16>
  %1 = "hipdnn.matmul"(%x, %wu) : (tensor<1x4xf16>, tensor<4x2xf16>) -> tensor<1x2xf16>
  %g = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 0, 2, 1>} : (tensor<1x2xf16>) -> tensor<1x1x2xf16>
  %u = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 0, 2, 1>} : (tensor<1x2xf16>) -> tensor<1x1x2xf16>
  %s = "hipdnn.pointwise"(%g) {mode = "swish_fwd"} : (tensor<1x1x2xf16>) -> tensor<1x1x2xf16>
  %y = "hipdnn.pointwise"(%s, %u) {mode = "mul"} : (tensor<1x1x2xf16>, tensor<1x1x2xf16>) -> tensor<1x1x2xf16>
  return %y : tensor<1x1x2xf16>
}

// -----

// Matrix instructions multiply more than eight rows of 16 bits.
// CHECK-LABEL: func.func @nine_rows
// CHECK-NOT:     hipdnn.view
// CHECK:         return
func.func @nine_rows(%x: tensor<9x2xf16>) -> tensor<9x3xf16> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf16>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<9x2xf16>, tensor<2x3xf16>) -> tensor<9x3xf16>
  return %0 : tensor<9x3xf16>
}

// -----

// Floats of eight bits are stored column by column for any number of rows.

// CHECK-LABEL: func.func @bytes
// CHECK:         %[[W:.*]] = arith.constant {{.*}} : tensor<3x2xf8E4M3FN>
// CHECK:         %[[T:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 2>}
// CHECK:         "hipdnn.matmul"(%{{.*}}, %[[T]])
func.func @bytes(%x: tensor<32x2xf8E4M3FN>) -> tensor<32x3xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 4.0], [3.0, 5.0, 6.0]]> : tensor<2x3xf8E4M3FN>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<32x2xf8E4M3FN>, tensor<2x3xf8E4M3FN>) -> tensor<32x3xf32>
  return %0 : tensor<32x3xf32>
}
