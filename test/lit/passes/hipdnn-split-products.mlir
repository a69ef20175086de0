// RUN: hipgraft-opt %s --split-input-file --hipdnn-split-products | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-split-products --hipdnn-split-products | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-split-products --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --split-input-file --hipdnn-split-products=max-bytes=8 | FileCheck %s --check-prefix=SMALL
// Products are split into the parts that elementwise ops read.

// REMARK: remark: the columns are 2 products, which one kernel combines
// REMARK: remark: the columns are 3 products, which one kernel combines
// REMARK: remark: the columns are 2 products, which one kernel combines
// REMARK-NOT: remark

// CHECK-LABEL: func.func @gated
// CHECK-SAME:    (%[[X:.*]]: tensor<16x8xf16>, %[[W:.*]]: tensor<8x8xf16>)
// CHECK:         %[[A:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 8, 1>} {{.*}} -> tensor<8x4xf16>
// CHECK:         %[[P:.*]] = "hipdnn.matmul"(%[[X]], %[[A]]) {{.*}} -> tensor<16x4xf16>
// CHECK:         %[[B:.*]] = "hipdnn.view"(%[[W]]) {offset = 4 : i64, strides = array<i64: 8, 1>} {{.*}} -> tensor<8x4xf16>
// CHECK:         %[[Q:.*]] = "hipdnn.matmul"(%[[X]], %[[B]]) {{.*}} -> tensor<16x4xf16>
// CHECK:         %[[U:.*]] = "hipdnn.view"(%[[P]]) {{.*}} -> tensor<1x16x4xf16>
// CHECK:         %[[V:.*]] = "hipdnn.view"(%[[Q]]) {{.*}} -> tensor<1x16x4xf16>
// CHECK:         "hipdnn.pointwise"(%[[U]], %[[V]]) {mode = "mul"}
func.func @gated(%x: tensor<16x8xf16>, %w: tensor<8x8xf16>) -> tensor<1x16x4xf16> {
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<16x8xf16>, tensor<8x8xf16>) -> tensor<16x8xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 0, 8, 1>} : (tensor<16x8xf16>) -> tensor<1x16x4xf16>
  %2 = "hipdnn.view"(%0) {offset = 4 : i64, strides = array<i64: 0, 8, 1>} : (tensor<16x8xf16>) -> tensor<1x16x4xf16>
  %y = "hipdnn.pointwise"(%1, %2) {mode = "mul"} : (tensor<1x16x4xf16>, tensor<1x16x4xf16>) -> tensor<1x16x4xf16>
  return %y : tensor<1x16x4xf16>
}

// -----

// Few rows read columns, so the constant is stored by columns, once for both steps. The sum with a
// bias of each column and a factor of each row is split, too; a view may show a few of the rows.

// CHECK-LABEL: func.func @steps
// CHECK-SAME:    (%[[H:.*]]: tensor<2x2xf32>, %[[B:.*]]: tensor<1x6xf32>, %[[F:.*]]: tensor<2x1xf32>)
// CHECK:         %[[W:.*]] = arith.constant dense<{{\[\[}}0.{{.*}}, 6.{{.*}}], [1.{{.*}}, 7.{{.*}}]{{.*}}> : tensor<6x2xf32>
// CHECK-NOT:     arith.constant
// CHECK:         %[[W0:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 2>} {{.*}} -> tensor<2x2xf32>
// CHECK:         %[[P0:.*]] = "hipdnn.matmul"(%[[H]], %[[W0]])
// CHECK:         %[[B0:.*]] = "hipdnn.view"(%[[B]]) {offset = 0 : i64, strides = array<i64: 6, 1>} {{.*}} -> tensor<1x2xf32>
// CHECK:         %[[S0:.*]] = "hipdnn.pointwise"(%[[P0]], %[[B0]]) {mode = "add"}
// CHECK:         %[[M0:.*]] = "hipdnn.pointwise"(%[[F]], %[[S0]]) {mode = "mul"}
// CHECK:         %[[W1:.*]] = "hipdnn.view"(%[[W]]) {offset = 4 : i64
// CHECK:         %[[W2:.*]] = "hipdnn.view"(%[[W]]) {offset = 8 : i64
// CHECK:         %[[P2:.*]] = "hipdnn.matmul"(%[[H]], %[[W2]])
// CHECK:         %[[B2:.*]] = "hipdnn.view"(%[[B]]) {offset = 4 : i64
// CHECK:         %[[S2:.*]] = "hipdnn.pointwise"(%[[P2]], %[[B2]]) {mode = "add"}
// CHECK:         %[[M2:.*]] = "hipdnn.pointwise"(%[[F]], %[[S2]]) {mode = "mul"}
// CHECK:         "hipdnn.view"(%[[M2]]) {offset = 2 : i64, {{.*}} -> tensor<1x2xf32>
// CHECK-COUNT-2: hipdnn.matmul
// CHECK-NOT:     hipdnn.matmul
// SMALL-LABEL: func.func @steps
// SMALL-COUNT-2: hipdnn.matmul
// SMALL-NOT:     hipdnn.matmul
// SMALL:       return
func.func @steps(%h: tensor<2x2xf32>, %b: tensor<1x6xf32>, %f: tensor<2x1xf32>) -> (tensor<1x2xf32>, tensor<2x3xf32>) {
  %w = arith.constant dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]]> : tensor<2x6xf32>
  %0 = "hipdnn.matmul"(%h, %w) : (tensor<2x2xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  %1 = "hipdnn.pointwise"(%0, %b) {mode = "add"} : (tensor<2x6xf32>, tensor<1x6xf32>) -> tensor<2x6xf32>
  %2 = "hipdnn.pointwise"(%f, %1) {mode = "mul"} : (tensor<2x1xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  %3 = "hipdnn.view"(%2) {offset = 6 : i64, strides = array<i64: 6, 1>} : (tensor<2x6xf32>) -> tensor<1x2xf32>
  %4 = "hipdnn.view"(%2) {offset = 8 : i64, strides = array<i64: 6, 1>} : (tensor<2x6xf32>) -> tensor<1x2xf32>
  %5 = "hipdnn.view"(%2) {offset = 10 : i64, strides = array<i64: 6, 1>} : (tensor<2x6xf32>) -> tensor<1x2xf32>
  %6 = "hipdnn.pointwise"(%3, %4) {mode = "mul"} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %7 = "hipdnn.pointwise"(%6, %5) {mode = "mul"} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %8 = "hipdnn.matmul"(%h, %w) : (tensor<2x2xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  %9 = "hipdnn.view"(%8) {offset = 0 : i64, strides = array<i64: 6, 1>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %10 = "hipdnn.view"(%8) {offset = 3 : i64, strides = array<i64: 6, 1>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %11 = "hipdnn.pointwise"(%9, %10) {mode = "mul"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %7, %11 : tensor<1x2xf32>, tensor<2x3xf32>
}

// -----

// Others stay: of f32 with 32 rows, of 5 rows by rows, of a constant that is read as it is, of parts
// that are not equal or not read by elementwise ops alone, and what is read whole.

// CHECK-LABEL: func.func @stays
// CHECK-COUNT-6: hipdnn.matmul
// CHECK-NOT:     hipdnn.matmul
func.func @stays(%x: tensor<32x4xf32>, %y: tensor<5x4xf32>, %u: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> (tensor<32x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<4x4xf32>, tensor<5x1xf32>, tensor<5x3xf32>, tensor<2x2xf32>, tensor<5x2xf32>, tensor<5x4xf32>) {
  %w = arith.constant dense<1.0> : tensor<4x4xf32>
  %t = "hipdnn.view"(%u) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = "hipdnn.matmul"(%x, %t) : (tensor<32x4xf32>, tensor<4x4xf32>) -> tensor<32x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 1>} : (tensor<32x4xf32>) -> tensor<32x2xf32>
  %2 = "hipdnn.view"(%0) {offset = 2 : i64, strides = array<i64: 4, 1>} : (tensor<32x4xf32>) -> tensor<32x2xf32>
  %3 = "hipdnn.pointwise"(%1, %2) {mode = "mul"} : (tensor<32x2xf32>, tensor<32x2xf32>) -> tensor<32x2xf32>
  %4 = "hipdnn.matmul"(%y, %u) : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %5 = "hipdnn.view"(%4) {offset = 0 : i64, strides = array<i64: 4, 1>} : (tensor<5x4xf32>) -> tensor<5x2xf32>
  %6 = "hipdnn.view"(%4) {offset = 2 : i64, strides = array<i64: 4, 1>} : (tensor<5x4xf32>) -> tensor<5x2xf32>
  %7 = "hipdnn.pointwise"(%5, %6) {mode = "mul"} : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  %8 = "hipdnn.matmul"(%y, %w) : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %9 = "hipdnn.view"(%8) {offset = 0 : i64, strides = array<i64: 4, 1>} : (tensor<5x4xf32>) -> tensor<5x2xf32>
  %10 = "hipdnn.view"(%8) {offset = 2 : i64, strides = array<i64: 4, 1>} : (tensor<5x4xf32>) -> tensor<5x2xf32>
  %11 = "hipdnn.pointwise"(%9, %10) {mode = "mul"} : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  %12 = "hipdnn.pointwise"(%w, %v) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %13 = "hipdnn.matmul"(%y, %t) : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %14 = "hipdnn.view"(%13) {offset = 0 : i64, strides = array<i64: 4, 1>} : (tensor<5x4xf32>) -> tensor<5x1xf32>
  %15 = "hipdnn.view"(%13) {offset = 1 : i64, strides = array<i64: 4, 1>} : (tensor<5x4xf32>) -> tensor<5x3xf32>
  %16 = "hipdnn.pointwise"(%14) {mode = "neg"} : (tensor<5x1xf32>) -> tensor<5x1xf32>
  %17 = "hipdnn.pointwise"(%15) {mode = "neg"} : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %18 = "hipdnn.matmul"(%y, %t) : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %19 = "hipdnn.view"(%18) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<5x4xf32>) -> tensor<2x2xf32>
  %20 = "hipdnn.view"(%18) {offset = 2 : i64, strides = array<i64: 4, 1>} : (tensor<5x4xf32>) -> tensor<5x2xf32>
  %21 = "hipdnn.pointwise"(%20) {mode = "neg"} : (tensor<5x2xf32>) -> tensor<5x2xf32>
  %22 = "hipdnn.matmul"(%y, %t) : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  return %3, %7, %11, %12, %16, %17, %19, %21, %22 : tensor<32x2xf32>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<4x4xf32>, tensor<5x1xf32>, tensor<5x3xf32>, tensor<2x2xf32>, tensor<5x2xf32>, tensor<5x4xf32>
}

// -----

// So do products of which columns are read that are no part, rows of another step, five parts, parts
// that are repeated, and columns that are counted.

// CHECK-LABEL: func.func @other_views
// CHECK-COUNT-5: hipdnn.matmul
// CHECK-NOT:     hipdnn.matmul
func.func @other_views(%y: tensor<5x4xf32>, %w: tensor<20x4xf32>, %big: tensor<5x5x10xf32>) -> (tensor<5x10xf32>, tensor<5x10xf32>, tensor<5x4xf32>, tensor<5x5x10xf32>, tensor<5x5x10xf32>, tensor<5x10xf32>) {
  %t = "hipdnn.view"(%w) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<20x4xf32>) -> tensor<4x20xf32>
  %p0 = "hipdnn.matmul"(%y, %t) : (tensor<5x4xf32>, tensor<4x20xf32>) -> tensor<5x20xf32>
  %a0 = "hipdnn.view"(%p0) {offset = 5 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x10xf32>
  %b0 = "hipdnn.view"(%p0) {offset = 10 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x10xf32>
  %y0 = "hipdnn.pointwise"(%a0, %b0) {mode = "mul"} : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
  %p1 = "hipdnn.matmul"(%y, %t) : (tensor<5x4xf32>, tensor<4x20xf32>) -> tensor<5x20xf32>
  %a1 = "hipdnn.view"(%p1) {offset = 0 : i64, strides = array<i64: 10, 1>} : (tensor<5x20xf32>) -> tensor<5x10xf32>
  %b1 = "hipdnn.view"(%p1) {offset = 10 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x10xf32>
  %y1 = "hipdnn.pointwise"(%a1, %b1) {mode = "mul"} : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
  %p2 = "hipdnn.matmul"(%y, %t) : (tensor<5x4xf32>, tensor<4x20xf32>) -> tensor<5x20xf32>
  %v0 = "hipdnn.view"(%p2) {offset = 0 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x4xf32>
  %v1 = "hipdnn.view"(%p2) {offset = 4 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x4xf32>
  %v2 = "hipdnn.view"(%p2) {offset = 8 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x4xf32>
  %v3 = "hipdnn.view"(%p2) {offset = 12 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x4xf32>
  %v4 = "hipdnn.view"(%p2) {offset = 16 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x4xf32>
  %m0 = "hipdnn.pointwise"(%v0, %v1) {mode = "mul"} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %m1 = "hipdnn.pointwise"(%m0, %v2) {mode = "mul"} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %m2 = "hipdnn.pointwise"(%m1, %v3) {mode = "mul"} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %m3 = "hipdnn.pointwise"(%m2, %v4) {mode = "mul"} : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %p3 = "hipdnn.matmul"(%y, %t) : (tensor<5x4xf32>, tensor<4x20xf32>) -> tensor<5x20xf32>
  %a3 = "hipdnn.view"(%p3) {offset = 0 : i64, strides = array<i64: 20, 0, 1>} : (tensor<5x20xf32>) -> tensor<5x1x10xf32>
  %b3 = "hipdnn.view"(%p3) {offset = 10 : i64, strides = array<i64: 20, 0, 1>} : (tensor<5x20xf32>) -> tensor<5x1x10xf32>
  %ra = "hipdnn.pointwise"(%a3, %big) {mode = "mul"} : (tensor<5x1x10xf32>, tensor<5x5x10xf32>) -> tensor<5x5x10xf32>
  %rb = "hipdnn.pointwise"(%b3, %big) {mode = "mul"} : (tensor<5x1x10xf32>, tensor<5x5x10xf32>) -> tensor<5x5x10xf32>
  %p4 = "hipdnn.matmul"(%y, %t) : (tensor<5x4xf32>, tensor<4x20xf32>) -> tensor<5x20xf32>
  %g = "hipdnn.pointwise"(%p4) {mode = "gen_index", axis = 1 : i64} : (tensor<5x20xf32>) -> tensor<5x20xf32>
  %a4 = "hipdnn.view"(%g) {offset = 0 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x10xf32>
  %b4 = "hipdnn.view"(%g) {offset = 10 : i64, strides = array<i64: 20, 1>} : (tensor<5x20xf32>) -> tensor<5x10xf32>
  %y4 = "hipdnn.pointwise"(%a4, %b4) {mode = "mul"} : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xf32>
  return %y0, %y1, %m3, %ra, %rb, %y4 : tensor<5x10xf32>, tensor<5x10xf32>, tensor<5x4xf32>, tensor<5x5x10xf32>, tensor<5x5x10xf32>, tensor<5x10xf32>
}

// -----

// A right factor that is computed stays whole, because its parts would not share a graph.

// CHECK-LABEL: func.func @computed
// CHECK-COUNT-1: hipdnn.matmul
// CHECK-NOT:     hipdnn.matmul
func.func @computed(%x: tensor<32x8xf16>, %v: tensor<8x8xf16>) -> tensor<32x4xf16> {
  %w = "hipdnn.pointwise"(%v) {mode = "neg"} : (tensor<8x8xf16>) -> tensor<8x8xf16>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<32x8xf16>, tensor<8x8xf16>) -> tensor<32x8xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 8, 1>} : (tensor<32x8xf16>) -> tensor<32x4xf16>
  %2 = "hipdnn.view"(%0) {offset = 4 : i64, strides = array<i64: 8, 1>} : (tensor<32x8xf16>) -> tensor<32x4xf16>
  %y = "hipdnn.pointwise"(%1, %2) {mode = "mul"} : (tensor<32x4xf16>, tensor<32x4xf16>) -> tensor<32x4xf16>
  return %y : tensor<32x4xf16>
}

// -----

// The parts have unequal widths.

// CHECK-LABEL: func.func @unequal
// CHECK:         "hipdnn.matmul"({{.*}}) : (tensor<32x8xf16>, tensor<8x8xf16>) -> tensor<32x8xf16>
// CHECK-NOT:     hipdnn.matmul
func.func @unequal(%x: tensor<32x8xf16>, %w: tensor<8x8xf16>) -> (tensor<32x4xf16>, tensor<32x2xf16>, tensor<32x2xf16>, tensor<32x2xf16>) {
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<32x8xf16>, tensor<8x8xf16>) -> tensor<32x8xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 8, 1>} : (tensor<32x8xf16>) -> tensor<32x4xf16>
  %2 = "hipdnn.view"(%0) {offset = 2 : i64, strides = array<i64: 8, 1>} : (tensor<32x8xf16>) -> tensor<32x2xf16>
  %3 = "hipdnn.view"(%0) {offset = 4 : i64, strides = array<i64: 8, 1>} : (tensor<32x8xf16>) -> tensor<32x2xf16>
  %4 = "hipdnn.view"(%0) {offset = 6 : i64, strides = array<i64: 8, 1>} : (tensor<32x8xf16>) -> tensor<32x2xf16>
  %5 = "hipdnn.pointwise"(%1) {mode = "neg"} : (tensor<32x4xf16>) -> tensor<32x4xf16>
  %6 = "hipdnn.pointwise"(%2) {mode = "abs"} : (tensor<32x2xf16>) -> tensor<32x2xf16>
  %7 = "hipdnn.pointwise"(%3) {mode = "abs"} : (tensor<32x2xf16>) -> tensor<32x2xf16>
  %8 = "hipdnn.pointwise"(%4) {mode = "abs"} : (tensor<32x2xf16>) -> tensor<32x2xf16>
  return %5, %6, %7, %8 : tensor<32x4xf16>, tensor<32x2xf16>, tensor<32x2xf16>, tensor<32x2xf16>
}
