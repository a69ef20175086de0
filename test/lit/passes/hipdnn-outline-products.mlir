// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline --remarks -o %t 2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline=join-products=false --remarks -o - 2>&1 | FileCheck %s --check-prefix=APART
// Products of one left factor share a graph.

// q, k and v of attention, each with its bias.

// REMARK: remark: 3 products of one left factor share graph '{{.*}}' [passed=hipdnn-outline:joined]
// CHECK-LABEL: func.func @attention
// CHECK:         %[[R:.*]]:3 = "hipdnn.graph"(%arg0
// CHECK-COUNT-3: "hipdnn.matmul"(%[[A:[a-z0-9]*]],
// CHECK:         return %[[R]]#0, %[[R]]#1, %[[R]]#2
// APART-NOT:     passed=hipdnn-outline:joined
// APART-NOT:     products-apart
// APART-LABEL: func.func @attention
// APART-COUNT-3: "hipdnn.graph"
func.func @attention(%x: tensor<32x64xf16>, %wq: tensor<64x64xf16>, %wk: tensor<64x64xf16>, %wv: tensor<64x64xf16>, %b: tensor<1x64xf16>) -> (tensor<32x64xf16>, tensor<32x64xf16>, tensor<32x64xf16>) {
  %q = "hipdnn.matmul"(%x, %wq) : (tensor<32x64xf16>, tensor<64x64xf16>) -> tensor<32x64xf16>
  %qb = "hipdnn.pointwise"(%q, %b) {mode = "add"} : (tensor<32x64xf16>, tensor<1x64xf16>) -> tensor<32x64xf16>
  %k = "hipdnn.matmul"(%x, %wk) : (tensor<32x64xf16>, tensor<64x64xf16>) -> tensor<32x64xf16>
  %kb = "hipdnn.pointwise"(%k, %b) {mode = "add"} : (tensor<32x64xf16>, tensor<1x64xf16>) -> tensor<32x64xf16>
  %v = "hipdnn.matmul"(%x, %wv) : (tensor<32x64xf16>, tensor<64x64xf16>) -> tensor<32x64xf16>
  %vb = "hipdnn.pointwise"(%v, %b) {mode = "add"} : (tensor<32x64xf16>, tensor<1x64xf16>) -> tensor<32x64xf16>
  return %qb, %kb, %vb : tensor<32x64xf16>, tensor<32x64xf16>, tensor<32x64xf16>
}

// -----

// What reads both products is in the graph, too.

// CHECK-LABEL: func.func @gated
// CHECK-COUNT-1: "hipdnn.graph"
// CHECK-NOT:     "hipdnn.graph"
// CHECK:         name = "matmul_swish_fwd_matmul_mul_0"
func.func @gated(%x: tensor<16x64xf16>, %g: tensor<64x96xf16>, %u: tensor<64x96xf16>) -> tensor<16x96xf16> {
  %a = "hipdnn.matmul"(%x, %g) : (tensor<16x64xf16>, tensor<64x96xf16>) -> tensor<16x96xf16>
  %s = "hipdnn.pointwise"(%a) {mode = "swish_fwd"} : (tensor<16x96xf16>) -> tensor<16x96xf16>
  %b = "hipdnn.matmul"(%x, %u) : (tensor<16x64xf16>, tensor<64x96xf16>) -> tensor<16x96xf16>
  %m = "hipdnn.pointwise"(%s, %b) {mode = "mul"} : (tensor<16x96xf16>, tensor<16x96xf16>) -> tensor<16x96xf16>
  return %m : tensor<16x96xf16>
}

// -----

// A kernel joins up to four.

// CHECK-LABEL: func.func @five
// CHECK-COUNT-2: "hipdnn.graph"
// CHECK-NOT:     "hipdnn.graph"
func.func @five(%x: tensor<16x64xf16>, %a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: tensor<64x64xf16>, %d: tensor<64x64xf16>, %e: tensor<64x64xf16>) -> (tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>) {
  %0 = "hipdnn.matmul"(%x, %a) : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  %1 = "hipdnn.matmul"(%x, %b) : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  %2 = "hipdnn.matmul"(%x, %c) : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  %3 = "hipdnn.matmul"(%x, %d) : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  %4 = "hipdnn.matmul"(%x, %e) : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  return %0, %1, %2, %3, %4 : tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>, tensor<16x64xf16>
}

// -----

// Up to 8 rows read columns of their right factors, which are contiguous.

// CHECK-LABEL: func.func @few_rows
// CHECK-COUNT-1: "hipdnn.graph"
// CHECK-NOT:     "hipdnn.graph"
func.func @few_rows(%x: tensor<8x64xf16>, %a: tensor<32x64xf16>, %b: tensor<32x64xf16>) -> tensor<8x32xf16> {
  %t = "hipdnn.view"(%a) {offset = 0 : i64, strides = array<i64: 1, 64>} : (tensor<32x64xf16>) -> tensor<64x32xf16>
  %u = "hipdnn.view"(%b) {offset = 0 : i64, strides = array<i64: 1, 64>} : (tensor<32x64xf16>) -> tensor<64x32xf16>
  %0 = "hipdnn.matmul"(%x, %t) : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
  %1 = "hipdnn.matmul"(%x, %u) : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
  %2 = "hipdnn.pointwise"(%0, %1) {mode = "mul"} : (tensor<8x32xf16>, tensor<8x32xf16>) -> tensor<8x32xf16>
  return %2 : tensor<8x32xf16>
}

// -----

// REMARK: shares no graph with another product of its operand: its right factor is not stored by columns, as 2 rows need
// CHECK-LABEL: func.func @few_rows_by_rows
// CHECK-COUNT-2: "hipdnn.graph"
func.func @few_rows_by_rows(%x: tensor<2x64xf16>, %a: tensor<64x32xf16>, %b: tensor<64x32xf16>) -> tensor<2x32xf16> {
  %0 = "hipdnn.matmul"(%x, %a) : (tensor<2x64xf16>, tensor<64x32xf16>) -> tensor<2x32xf16>
  %1 = "hipdnn.matmul"(%x, %b) : (tensor<2x64xf16>, tensor<64x32xf16>) -> tensor<2x32xf16>
  %2 = "hipdnn.pointwise"(%0, %1) {mode = "mul"} : (tensor<2x32xf16>, tensor<2x32xf16>) -> tensor<2x32xf16>
  return %2 : tensor<2x32xf16>
}

// -----

// REMARK: 'hipdnn.matmul' shares no graph with another product of its operand: its 12 rows are no multiple of 16 [missed=hipdnn-outline:products-apart]
// CHECK-LABEL: func.func @odd_rows
// CHECK-COUNT-2: "hipdnn.graph"
func.func @odd_rows(%x: tensor<12x64xf16>, %a: tensor<64x64xf16>, %b: tensor<64x64xf16>) -> (tensor<12x64xf16>, tensor<12x64xf16>) {
  %0 = "hipdnn.matmul"(%x, %a) : (tensor<12x64xf16>, tensor<64x64xf16>) -> tensor<12x64xf16>
  %1 = "hipdnn.matmul"(%x, %b) : (tensor<12x64xf16>, tensor<64x64xf16>) -> tensor<12x64xf16>
  return %0, %1 : tensor<12x64xf16>, tensor<12x64xf16>
}

// -----

// REMARK: shares no graph with another product of its operand: their right factors have other types or layouts
// CHECK-LABEL: func.func @other_columns
// CHECK-COUNT-2: "hipdnn.graph"
func.func @other_columns(%x: tensor<16x64xf16>, %a: tensor<64x64xf16>, %b: tensor<64x32xf16>) -> (tensor<16x64xf16>, tensor<16x32xf16>) {
  %0 = "hipdnn.matmul"(%x, %a) : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  %1 = "hipdnn.matmul"(%x, %b) : (tensor<16x64xf16>, tensor<64x32xf16>) -> tensor<16x32xf16>
  return %0, %1 : tensor<16x64xf16>, tensor<16x32xf16>
}

// -----

// REMARK: shares no graph with another product of its operand: its right factor is computed
// CHECK-LABEL: func.func @chain
// CHECK-COUNT-2: "hipdnn.graph"
func.func @chain(%x: tensor<16x16xf16>, %a: tensor<16x16xf16>) -> tensor<16x16xf16> {
  %0 = "hipdnn.matmul"(%x, %a) : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %1 = "hipdnn.matmul"(%x, %0) : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  return %1 : tensor<16x16xf16>
}

// -----

// REMARK: shares no graph with another product of its operand: it multiplies several pairs of matrices
// CHECK-LABEL: func.func @batches
// CHECK-COUNT-2: "hipdnn.graph"
func.func @batches(%x: tensor<2x16x16xf16>, %a: tensor<2x16x16xf16>, %b: tensor<2x16x16xf16>) -> (tensor<2x16x16xf16>, tensor<2x16x16xf16>) {
  %0 = "hipdnn.matmul"(%x, %a) : (tensor<2x16x16xf16>, tensor<2x16x16xf16>) -> tensor<2x16x16xf16>
  %1 = "hipdnn.matmul"(%x, %b) : (tensor<2x16x16xf16>, tensor<2x16x16xf16>) -> tensor<2x16x16xf16>
  return %0, %1 : tensor<2x16x16xf16>, tensor<2x16x16xf16>
}

// -----

// The last layer needs its product of %x two contractions later, so it would occupy memory for long.

// REMARK: shares no graph with another product of its operand: other graphs take less time, or its result would wait for other contractions
// CHECK-LABEL: func.func @layers
// CHECK-COUNT-5: "hipdnn.graph"
func.func @layers(%x: tensor<16x16xf16>, %a: tensor<16x16xf16>, %b: tensor<16x16xf16>) -> tensor<16x16xf16> {
  %k0 = "hipdnn.matmul"(%x, %a) : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %0 = "hipdnn.matmul"(%b, %k0) : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %1 = "hipdnn.matmul"(%0, %a) : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %k1 = "hipdnn.matmul"(%x, %b) : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  %2 = "hipdnn.matmul"(%1, %k1) : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf16>
  return %2 : tensor<16x16xf16>
}
