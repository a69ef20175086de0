// RUN: hipgraft-opt %s --split-input-file --hipdnn-sink-views | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-sink-views --hipdnn-sink-views | FileCheck %s
// Elementwise ops are computed in the shape of what is made last, and views come after them.

// A residual sum after a transposed product: the other operand is read transposed, and a view of a view is none.

// CHECK-LABEL: func.func @residual
// CHECK:         %[[P:.*]] = "hipdnn.matmul"
// CHECK-NEXT:    %[[C:.*]] = "hipdnn.view"(%arg2) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
// CHECK-NEXT:    %[[S:.*]] = "hipdnn.pointwise"(%[[P]], %[[C]]) {mode = "add"}
// CHECK-NEXT:    %[[Q:.*]] = "hipdnn.matmul"(%[[S]], %arg3)
// CHECK-NEXT:    %[[T:.*]] = "hipdnn.pointwise"(%[[S]], %[[Q]]) {mode = "add"} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT:    %[[V:.*]] = "hipdnn.view"(%[[T]]) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
// CHECK-NEXT:    return %[[V]]
func.func @residual(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>, %c: tensor<6x8xf32>, %d: tensor<6x6xf32>) -> tensor<6x8xf32> {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %2 = "hipdnn.pointwise"(%1, %c) {mode = "add"} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %4 = "hipdnn.matmul"(%3, %d) : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
  %5 = "hipdnn.view"(%4) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %6 = "hipdnn.pointwise"(%2, %5) {mode = "add"} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %6 : tensor<6x8xf32>
}

// -----

// Heads of a product, with a bias of each head, a scalar, and a part of the result.

// CHECK-LABEL: func.func @heads
// CHECK:         %[[P:.*]] = "hipdnn.matmul"
// CHECK:         %[[B:.*]] = "hipdnn.view"(%arg2) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<1x2x1x3xf32>) -> tensor<6xf32>
// CHECK:         %[[S:.*]] = "hipdnn.pointwise"(%[[P]], %[[B]]) {mode = "add"} : (tensor<5x6xf32>, tensor<6xf32>) -> tensor<5x6xf32>
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<1xf32>
// CHECK-NEXT:    %[[M:.*]] = "hipdnn.pointwise"(%[[S]], %[[TWO]]) {mode = "mul"} : (tensor<5x6xf32>, tensor<1xf32>) -> tensor<5x6xf32>
// CHECK-NEXT:    %[[V:.*]] = "hipdnn.view"(%[[M]]) {offset = 0 : i64, strides = array<i64: {{[0-9]+}}, 3, 6, 1>} : (tensor<5x6xf32>) -> tensor<1x2x5x3xf32>
// CHECK-NEXT:    "hipdnn.view"(%[[M]]) {offset = 0 : i64, strides = array<i64: 3, 6, 1>} : (tensor<5x6xf32>) -> tensor<2x5x3xf32>
// CHECK:         "hipdnn.reduction"(%[[V]])
func.func @heads(%a: tensor<5x4xf32>, %b: tensor<4x6xf32>, %bias: tensor<1x2x1x3xf32>, %w: tensor<2x3x5xf32>) -> (tensor<1x2x5x1xf32>, tensor<2x5x5xf32>) {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 0, 3, 6, 1>} : (tensor<5x6xf32>) -> tensor<1x2x5x3xf32>
  %2 = "hipdnn.pointwise"(%1, %bias) {mode = "add"} : (tensor<1x2x5x3xf32>, tensor<1x2x1x3xf32>) -> tensor<1x2x5x3xf32>
  %two = arith.constant dense<2.0> : tensor<1xf32>
  %3 = "hipdnn.pointwise"(%2, %two) {mode = "mul"} : (tensor<1x2x5x3xf32>, tensor<1xf32>) -> tensor<1x2x5x3xf32>
  %4 = "hipdnn.view"(%3) {offset = 0 : i64, strides = array<i64: 15, 3, 1>} : (tensor<1x2x5x3xf32>) -> tensor<2x5x3xf32>
  %5 = "hipdnn.matmul"(%4, %w) : (tensor<2x5x3xf32>, tensor<2x3x5xf32>) -> tensor<2x5x5xf32>
  %6 = "hipdnn.reduction"(%3) {mode = "ADD"} : (tensor<1x2x5x3xf32>) -> tensor<1x2x5x1xf32>
  return %6, %5 : tensor<1x2x5x1xf32>, tensor<2x5x5xf32>
}

// -----

// What can join its producer without a view stays: both operands are made at the same time.

// CHECK-LABEL: func.func @direct
// CHECK:         "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:    "hipdnn.pointwise"
// CHECK-NEXT:    return
func.func @direct(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "hipdnn.matmul"(%b, %a) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = "hipdnn.pointwise"(%2, %1) {mode = "add"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// Halves of heads that are computed in f32, as rotary embeddings are: each is widened where it is read.

// CHECK-LABEL: func.func @halves
// CHECK:         %[[P:.*]] = "hipdnn.matmul"
// CHECK-NEXT:    %[[A:.*]] = "hipdnn.view"(%[[P]]) {offset = 0 : i64, strides = array<i64: 4, 16, 1>} : (tensor<8x16xf16>) -> tensor<4x8x2xf16>
// CHECK-NEXT:    %[[C:.*]] = "hipdnn.pointwise"(%[[A]]) {mode = "identity"} : (tensor<4x8x2xf16>) -> tensor<4x8x2xf32>
// CHECK-NEXT:    %[[B:.*]] = "hipdnn.view"(%[[P]]) {offset = 2 : i64, strides = array<i64: 4, 16, 1>} : (tensor<8x16xf16>) -> tensor<4x8x2xf16>
// CHECK-NEXT:    %[[D:.*]] = "hipdnn.pointwise"(%[[B]]) {mode = "identity"} : (tensor<4x8x2xf16>) -> tensor<4x8x2xf32>
// CHECK-NEXT:    return %[[C]], %[[D]]
func.func @halves(%a: tensor<8x4xf16>, %b: tensor<4x16xf16>) -> (tensor<4x8x2xf32>, tensor<4x8x2xf32>) {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x16xf16>) -> tensor<8x16xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 16, 1>} : (tensor<8x16xf16>) -> tensor<4x8x4xf16>
  %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<4x8x4xf16>) -> tensor<4x8x4xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 32, 4, 1>} : (tensor<4x8x4xf32>) -> tensor<4x8x2xf32>
  %4 = "hipdnn.view"(%2) {offset = 2 : i64, strides = array<i64: 32, 4, 1>} : (tensor<4x8x4xf32>) -> tensor<4x8x2xf32>
  return %3, %4 : tensor<4x8x2xf32>, tensor<4x8x2xf32>
}

// -----

// What a product reads after elementwise ops is widened in the kernel that makes it, as before.

// CHECK-LABEL: func.func @half_of_a_product
// CHECK:         %[[W:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<8x16xf16>) -> tensor<8x16xf32>
// CHECK-NEXT:    %[[V:.*]] = "hipdnn.view"(%[[W]])
// CHECK-NEXT:    %[[R:.*]] = "hipdnn.pointwise"(%[[V]]) {mode = "relu_fwd"}
// CHECK-NEXT:    "hipdnn.matmul"(%[[R]], %arg2)
func.func @half_of_a_product(%a: tensor<8x4xf16>, %b: tensor<4x16xf16>, %c: tensor<8x5xf32>) -> tensor<8x5xf32> {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x16xf16>) -> tensor<8x16xf16>
  %1 = "hipdnn.pointwise"(%0) {mode = "identity"} : (tensor<8x16xf16>) -> tensor<8x16xf32>
  %2 = "hipdnn.view"(%1) {offset = 8 : i64, strides = array<i64: 16, 1>} : (tensor<8x16xf32>) -> tensor<8x8xf32>
  %3 = "hipdnn.pointwise"(%2) {mode = "relu_fwd"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = "hipdnn.matmul"(%3, %c) : (tensor<8x8xf32>, tensor<8x5xf32>) -> tensor<8x5xf32>
  return %4 : tensor<8x5xf32>
}

// -----

// Bytes are widened before the view, because a product reads the result and cannot share the kernel.

// CHECK-LABEL: @bytes_of_a_product
// CHECK: %[[BYTES:.*]] = "hipdnn.pointwise"(%arg0) {mode = "identity"} : (tensor<4x6xf32>) -> tensor<4x6xi8>
// CHECK: %[[F32:.*]] = "hipdnn.pointwise"(%[[BYTES]]) {mode = "identity"} : (tensor<4x6xi8>) -> tensor<4x6xf32>
// CHECK: %[[F16:.*]] = "hipdnn.pointwise"(%[[F32]]) {mode = "identity"} : (tensor<4x6xf32>) -> tensor<4x6xf16>
// CHECK: %[[VIEW:.*]] = "hipdnn.view"(%[[F16]])
// CHECK: "hipdnn.matmul"(%[[VIEW]], %arg1)
func.func @bytes_of_a_product(%x: tensor<4x6xf32>, %w: tensor<2x3x5xf16>) -> tensor<2x4x5xf32> {
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<4x6xf32>) -> tensor<4x6xi8>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 3, 6, 1>} : (tensor<4x6xi8>) -> tensor<2x4x3xi8>
  %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<2x4x3xi8>) -> tensor<2x4x3xf32>
  %3 = "hipdnn.pointwise"(%2) {mode = "identity"} : (tensor<2x4x3xf32>) -> tensor<2x4x3xf16>
  %4 = "hipdnn.matmul"(%3, %w) : (tensor<2x4x3xf16>, tensor<2x3x5xf16>) -> tensor<2x4x5xf32>
  return %4 : tensor<2x4x5xf32>
}

// -----

// A reduction of the same dimensions is one in the shape of what an elementwise op makes, too. One of a
// dimension that the view joins stays, and so does one of what a contraction makes.

// CHECK-LABEL: func.func @reductions
// CHECK:         %[[N:.*]] = "hipdnn.pointwise"(%arg0) {mode = "neg"} : (tensor<2x3x1x4xf32>)
// CHECK-NEXT:    %[[R:.*]] = "hipdnn.reduction"(%[[N]]) {mode = "MAX"} : (tensor<2x3x1x4xf32>) -> tensor<2x1x1x4xf32>
// CHECK-NEXT:    %[[V:.*]] = "hipdnn.view"(%[[R]]) {offset = 0 : i64, strides = array<i64: 1, 4, 4>} : (tensor<2x1x1x4xf32>) -> tensor<4x1x2xf32>
// CHECK:         "hipdnn.reduction"(%{{.*}}) {mode = "MAX"} : (tensor<6x4xf32>) -> tensor<1x4xf32>
// CHECK:         "hipdnn.reduction"(%{{.*}}) {mode = "MAX"} : (tensor<6x8xf32>) -> tensor<6x1xf32>
// CHECK:         return %[[V]]
func.func @reductions(%x: tensor<2x3x1x4xf32>, %a: tensor<8x4xf32>, %b: tensor<4x6xf32>) -> (tensor<4x1x2xf32>, tensor<1x4xf32>, tensor<6x1xf32>) {
  %0 = "hipdnn.pointwise"(%x) {mode = "neg"} : (tensor<2x3x1x4xf32>) -> tensor<2x3x1x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 4, 12>} : (tensor<2x3x1x4xf32>) -> tensor<4x3x2xf32>
  %2 = "hipdnn.reduction"(%1) {mode = "MAX"} : (tensor<4x3x2xf32>) -> tensor<4x1x2xf32>
  %3 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 1>} : (tensor<2x3x1x4xf32>) -> tensor<6x4xf32>
  %4 = "hipdnn.reduction"(%3) {mode = "MAX"} : (tensor<6x4xf32>) -> tensor<1x4xf32>
  %5 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %6 = "hipdnn.view"(%5) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %7 = "hipdnn.reduction"(%6) {mode = "MAX"} : (tensor<6x8xf32>) -> tensor<6x1xf32>
  return %2, %4, %7 : tensor<4x1x2xf32>, tensor<1x4xf32>, tensor<6x1xf32>
}

// -----

// The kernel of the product runs before that of the last one, so nothing that reads both moves there.

// CHECK-LABEL: func.func @earlier
// CHECK:         "hipdnn.pointwise"(%{{.*}}, %{{.*}}) {mode = "mul"} : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
func.func @earlier(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>, %c: tensor<8x3xf32>, %d: tensor<3x1xf32>) -> tensor<6x8xf32> {
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %2 = "hipdnn.matmul"(%1, %c) : (tensor<6x8xf32>, tensor<8x3xf32>) -> tensor<6x3xf32>
  %3 = "hipdnn.matmul"(%2, %d) : (tensor<6x3xf32>, tensor<3x1xf32>) -> tensor<6x1xf32>
  %4 = "hipdnn.pointwise"(%1, %3) {mode = "mul"} : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  return %4 : tensor<6x8xf32>
}

// -----

// A number for each image is computed with the dimensions that images have.

// CHECK-LABEL: func.func @number_of_images
// CHECK:         %[[S:.*]] = "hipdnn.view"(%arg0) {offset = 0 : i64, strides = array<i64: 2, 0, 0>} : (tensor<8xf32>) -> tensor<4x1x1xf32>
// CHECK:         %[[R:.*]] = "hipdnn.pointwise"(%[[S]]) {mode = "sqrt"} : (tensor<4x1x1xf32>) -> tensor<4x1x1xf32>
// CHECK-NEXT:    %[[M:.*]] = "hipdnn.pointwise"(%[[R]], %{{.*}}) {mode = "mul"} : (tensor<4x1x1xf32>, {{.*}}) -> tensor<4x1x1xf32>
// CHECK-NEXT:    %[[Q:.*]] = "hipdnn.pointwise"(%[[M]], %[[M]]) {mode = "mul"} : (tensor<4x1x1xf32>, tensor<4x1x1xf32>) -> tensor<4x1x1xf32>
// CHECK-NEXT:    "hipdnn.pointwise"(%arg1, %[[Q]]) {mode = "mul"}
func.func @number_of_images(%t: tensor<8xf32>, %x: tensor<4x3x5xf32>) -> tensor<4x3x5xf32> {
  %two = arith.constant dense<2.0> : tensor<1xf32>
  %0 = "hipdnn.view"(%t) {offset = 0 : i64, strides = array<i64: 2>} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = "hipdnn.pointwise"(%0) {mode = "sqrt"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "hipdnn.pointwise"(%1, %two) {mode = "mul"} : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %q = "hipdnn.pointwise"(%2, %2) {mode = "mul"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = "hipdnn.view"(%q) {offset = 0 : i64, strides = array<i64: 1, 0, 0>} : (tensor<4xf32>) -> tensor<4x1x1xf32>
  %4 = "hipdnn.pointwise"(%x, %3) {mode = "mul"} : (tensor<4x3x5xf32>, tensor<4x1x1xf32>) -> tensor<4x3x5xf32>
  return %4 : tensor<4x3x5xf32>
}

// -----

// No operand has the first dimension before, and one has to have it afterwards.

// CHECK-LABEL: func.func @number_of_rows
// CHECK:         %[[M:.*]] = "hipdnn.pointwise"(%{{.*}}, %{{.*}}) {mode = "cmp_le"} : (tensor<1x4x16xi32>, tensor<1x4x16xi32>) -> tensor<1x4x16xi1>
// CHECK-NEXT:    "hipdnn.pointwise"(%[[M]], %arg2, %{{.*}}) {mode = "binary_select"}
func.func @number_of_rows(%a: tensor<16xi32>, %b: tensor<4xi32>, %x: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %none = arith.constant dense<0.0> : tensor<1xf32>
  %0 = "hipdnn.view"(%a) {offset = 0 : i64, strides = array<i64: 0, 1>} : (tensor<16xi32>) -> tensor<1x16xi32>
  %1 = "hipdnn.view"(%b) {offset = 0 : i64, strides = array<i64: 1, 0>} : (tensor<4xi32>) -> tensor<4x1xi32>
  %2 = "hipdnn.pointwise"(%0, %1) {mode = "cmp_le"} : (tensor<1x16xi32>, tensor<4x1xi32>) -> tensor<4x16xi1>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 0, 16, 1>} : (tensor<4x16xi1>) -> tensor<1x4x16xi1>
  %4 = "hipdnn.pointwise"(%3, %x, %none) {mode = "binary_select"} : (tensor<1x4x16xi1>, tensor<2x4x16xf32>, tensor<1xf32>) -> tensor<2x4x16xf32>
  return %4 : tensor<2x4x16xf32>
}

// -----

// It stays in the shape of the product that computes it, and of what else reads it.

// CHECK-LABEL: func.func @shared_numbers
// CHECK:         "hipdnn.pointwise"(%{{.*}}) {mode = "sqrt"} : (tensor<4x1xf32>) -> tensor<4x1xf32>
// CHECK:         "hipdnn.pointwise"(%{{.*}}) {mode = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
func.func @shared_numbers(%a: tensor<4x8xf32>, %b: tensor<8x1xf32>, %t: tensor<4xf32>, %x: tensor<4x3x5xf32>) -> (tensor<4x3x5xf32>, tensor<4xf32>) {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x8xf32>, tensor<8x1xf32>) -> tensor<4x1xf32>
  %0 = "hipdnn.pointwise"(%p) {mode = "sqrt"} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 0, 0>} : (tensor<4x1xf32>) -> tensor<4x1x1xf32>
  %2 = "hipdnn.pointwise"(%x, %1) {mode = "mul"} : (tensor<4x3x5xf32>, tensor<4x1x1xf32>) -> tensor<4x3x5xf32>
  %3 = "hipdnn.pointwise"(%t) {mode = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "hipdnn.view"(%3) {offset = 0 : i64, strides = array<i64: 1, 0, 0>} : (tensor<4xf32>) -> tensor<4x1x1xf32>
  %5 = "hipdnn.pointwise"(%2, %4) {mode = "mul"} : (tensor<4x3x5xf32>, tensor<4x1x1xf32>) -> tensor<4x3x5xf32>
  return %5, %3 : tensor<4x3x5xf32>, tensor<4xf32>
}

// -----

// A comparison that is only returned as numbers is widened in its kernel.

// CHECK-LABEL: func.func @returned_numbers
// CHECK:         %[[C:.*]] = "hipdnn.pointwise"(%arg0, %{{.*}}) {mode = "cmp_gt"} : {{.*}} -> tensor<2x1x16xi1>
// CHECK-NEXT:    %[[F:.*]] = "hipdnn.pointwise"(%[[C]]) {mode = "identity"} : (tensor<2x1x16xi1>) -> tensor<2x1x16xf32>
// CHECK-NEXT:    %[[V:.*]] = "hipdnn.view"(%[[F]])
// CHECK-NEXT:    return %[[V]]
func.func @returned_numbers(%a: tensor<2x1x16xf32>, %b: tensor<2x1x1xf32>) -> tensor<2x16xf32> {
  %0 = "hipdnn.pointwise"(%a, %b) {mode = "cmp_gt"} : (tensor<2x1x16xf32>, tensor<2x1x1xf32>) -> tensor<2x1x16xi1>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 16, 1>} : (tensor<2x1x16xi1>) -> tensor<2x16xi1>
  %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<2x16xi1>) -> tensor<2x16xf32>
  return %2 : tensor<2x16xf32>
}

// -----

// A norm of rows is computed in the shape of the elementwise op before it.

// CHECK-LABEL: func.func @norm_of_rows
// CHECK:         %[[SUM:.*]] = "hipdnn.pointwise"({{.*}}) {mode = "add"} : {{.*}} -> tensor<2x7x8xf32>
// CHECK:         %[[SCALE:.*]] = "hipdnn.view"(%arg2) {offset = 0 : i64, strides = array<i64: 0, 0, 1>} : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
// CHECK:         %[[Y:.*]] = "hipdnn.layernorm"(%[[SUM]], %[[SCALE]], {{.*}} -> tensor<2x7x8xf32>
// CHECK:         %[[ROWS:.*]] = "hipdnn.view"(%[[Y]]) {{.*}} -> tensor<14x8xf32>
// CHECK:         return %[[ROWS]]
func.func @norm_of_rows(%x: tensor<2x7x16xf32>, %y: tensor<2x7x8xf32>, %s: tensor<1x8xf32>, %b: tensor<1x8xf32>) -> tensor<14x8xf32> {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  %half = "hipdnn.view"(%x) {offset = 8 : i64, strides = array<i64: 112, 16, 1>} : (tensor<2x7x16xf32>) -> tensor<2x7x8xf32>
  %sum = "hipdnn.pointwise"(%half, %y) {mode = "add"} : (tensor<2x7x8xf32>, tensor<2x7x8xf32>) -> tensor<2x7x8xf32>
  %rows = "hipdnn.view"(%sum) {offset = 0 : i64, strides = array<i64: 8, 1>} : (tensor<2x7x8xf32>) -> tensor<14x8xf32>
  %n = "hipdnn.layernorm"(%rows, %s, %b, %e) {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64} : (tensor<14x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1xf32>) -> tensor<14x8xf32>
  return %n : tensor<14x8xf32>
}

// -----

// The rows that it normalises are not those of the op before it.

// CHECK-LABEL: func.func @norm_of_other_rows
// CHECK:         "hipdnn.rmsnorm"({{.*}} -> tensor<7x16xf32>
func.func @norm_of_other_rows(%x: tensor<2x7x8xf32>, %s: tensor<1x16xf32>) -> tensor<7x16xf32> {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  %abs = "hipdnn.pointwise"(%x) {mode = "abs"} : (tensor<2x7x8xf32>) -> tensor<2x7x8xf32>
  %rows = "hipdnn.view"(%abs) {offset = 0 : i64, strides = array<i64: 16, 1>} : (tensor<2x7x8xf32>) -> tensor<7x16xf32>
  %n = "hipdnn.rmsnorm"(%rows, %s, %e) {forward_phase = "INFERENCE"} : (tensor<7x16xf32>, tensor<1x16xf32>, tensor<1xf32>) -> tensor<7x16xf32>
  return %n : tensor<7x16xf32>
}

// -----

// A sum over parts of the channels: the weights are applied in its shape.

// CHECK-LABEL: func.func @sum_of_parts
// CHECK:         %[[X:.*]] = "hipdnn.view"(%arg0) {offset = 0 : i64, strides = array<i64: 0, 32, 4, 1>} : (tensor<1x16x4xf32>) -> tensor<1x2x8x4xf32>
// CHECK:         %[[W:.*]] = "hipdnn.view"(%arg1) {offset = 0 : i64, strides = array<i64: 8, 1, 0>} : (tensor<1x16x1xf32>) -> tensor<2x8x1xf32>
// CHECK:         %[[P:.*]] = "hipdnn.pointwise"(%[[X]], %[[W]]) {mode = "mul"}
// CHECK-NEXT:    "hipdnn.reduction"(%[[P]])
func.func @sum_of_parts(%x: tensor<1x16x4xf32>, %w: tensor<1x16x1xf32>) -> tensor<1x1x8x4xf32> {
  %0 = "hipdnn.pointwise"(%x, %w) {mode = "mul"} : (tensor<1x16x4xf32>, tensor<1x16x1xf32>) -> tensor<1x16x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 0, 32, 4, 1>} : (tensor<1x16x4xf32>) -> tensor<1x2x8x4xf32>
  %2 = "hipdnn.reduction"(%1) {mode = "ADD"} : (tensor<1x2x8x4xf32>) -> tensor<1x1x8x4xf32>
  return %2 : tensor<1x1x8x4xf32>
}

// -----

// The weights have no strides in the shape of the sum.

// CHECK-LABEL: func.func @sum_of_other_parts
// CHECK:         "hipdnn.pointwise"({{.*}}) {mode = "mul"} : {{.*}} -> tensor<6x4xf32>
func.func @sum_of_other_parts(%x: tensor<6x4xf32>, %w: tensor<4x6xf32>) -> tensor<1x8xf32> {
  %t = "hipdnn.view"(%w) {offset = 0 : i64, strides = array<i64: 1, 6>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %0 = "hipdnn.pointwise"(%x, %t) {mode = "mul"} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 8, 1>} : (tensor<6x4xf32>) -> tensor<3x8xf32>
  %2 = "hipdnn.reduction"(%1) {mode = "ADD"} : (tensor<3x8xf32>) -> tensor<1x8xf32>
  return %2 : tensor<1x8xf32>
}
