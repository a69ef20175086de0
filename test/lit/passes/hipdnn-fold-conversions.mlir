// RUN: hipgraft-opt %s --split-input-file --hipdnn-fold-conversions | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-fold-conversions --hipdnn-fold-conversions | FileCheck %s

// A tensor is quantised and dequantised: clamped, rounded by a large summand, moved by a zero point.

// CHECK-LABEL: @quantised
// CHECK: {mode = "sub"}
// CHECK: %[[WHOLE:.*]] = "hipdnn.pointwise"(%{{.*}}, %{{.*}}) {mode = "add"}
// CHECK-NEXT: "hipdnn.pointwise"(%[[WHOLE]]) {mode = "identity"} : (tensor<8xf32>) -> tensor<8xf16>
// CHECK-NEXT: yield
func.func @quantised(%x: tensor<8xf32>) -> tensor<8xf16> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<8xf32>):
    %low = arith.constant dense<-138.0> : tensor<1xf32>
    %high = arith.constant dense<117.0> : tensor<1xf32>
    %ones = arith.constant dense<12582912.0> : tensor<1xf32>
    %zero = arith.constant dense<10.0> : tensor<1xf32>
    %1 = "hipdnn.pointwise"(%a, %low) {mode = "max_op"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
    %2 = "hipdnn.pointwise"(%1, %high) {mode = "min_op"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
    %3 = "hipdnn.pointwise"(%2, %ones) {mode = "add"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
    %4 = "hipdnn.pointwise"(%3, %ones) {mode = "sub"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
    %5 = "hipdnn.pointwise"(%4, %zero) {mode = "add"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
    %6 = "hipdnn.pointwise"(%5) {mode = "identity"} : (tensor<8xf32>) -> tensor<8xi8>
    %7 = "hipdnn.pointwise"(%6) {mode = "identity"} : (tensor<8xi8>) -> tensor<8xf16>
    "hipdnn.yield"(%7) : (tensor<8xf16>) -> ()
  }) {engine = "iree", name = "g"} : (tensor<8xf32>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

// Bytes do not hold 128, and other numbers are cut.

// CHECK-LABEL: @kept
// CHECK-COUNT-4: mode = "identity"
func.func @kept(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<8xf32>):
    %low = arith.constant dense<-128.0> : tensor<1xf32>
    %high = arith.constant dense<128.0> : tensor<1xf32>
    %ones = arith.constant dense<12582912.0> : tensor<1xf32>
    %1 = "hipdnn.pointwise"(%a, %low) {mode = "max_op"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
    %2 = "hipdnn.pointwise"(%1, %high) {mode = "min_op"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
    %3 = "hipdnn.pointwise"(%2, %ones) {mode = "add"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
    %4 = "hipdnn.pointwise"(%3, %ones) {mode = "sub"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
    %5 = "hipdnn.pointwise"(%4) {mode = "identity"} : (tensor<8xf32>) -> tensor<8xi8>
    %6 = "hipdnn.pointwise"(%5) {mode = "identity"} : (tensor<8xi8>) -> tensor<8xf32>
    %7 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<8xf32>) -> tensor<8xi8>
    %8 = "hipdnn.pointwise"(%7) {mode = "identity"} : (tensor<8xi8>) -> tensor<8xf32>
    "hipdnn.yield"(%6, %8) : (tensor<8xf32>, tensor<8xf32>) -> ()
  }) {engine = "iree", name = "g"} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A norm that f16 models write: the variance is computed of x in f32, and the mean once more of f16.

// CHECK-LABEL: @widened
// CHECK: ^bb0(%[[X:.*]]: tensor<2x8xf16>)
// CHECK-NEXT: %[[MEAN:.*]] = "hipdnn.reduction"(%[[X]]) {mode = "AVG"} : (tensor<2x8xf16>) -> tensor<2x1xf32>
// CHECK-NEXT: %[[APART:.*]] = "hipdnn.pointwise"(%[[X]], %[[MEAN]]) {mode = "sub"}
// CHECK-NEXT: %[[SQUARE:.*]] = "hipdnn.pointwise"(%[[APART]], %[[APART]]) {mode = "mul"}
// CHECK-NEXT: %[[VARIANCE:.*]] = "hipdnn.reduction"(%[[SQUARE]]) {mode = "AVG"}
// CHECK-NEXT: %[[ROOT:.*]] = "hipdnn.pointwise"(%[[VARIANCE]]) {mode = "sqrt"}
// CHECK-NEXT: %[[Y:.*]] = "hipdnn.pointwise"(%[[APART]], %[[ROOT]]) {mode = "div"}
// CHECK-NEXT: "hipdnn.yield"(%[[Y]])
func.func @widened(%x: tensor<2x8xf16>) -> tensor<2x8xf16> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<2x8xf16>):
    %1 = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<2x8xf16>) -> tensor<2x8xf32>
    %2 = "hipdnn.reduction"(%1) {mode = "AVG"} : (tensor<2x8xf32>) -> tensor<2x1xf32>
    %3 = "hipdnn.pointwise"(%1, %2) {mode = "sub"} : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
    %4 = "hipdnn.pointwise"(%3, %3) {mode = "mul"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %5 = "hipdnn.reduction"(%4) {mode = "AVG"} : (tensor<2x8xf32>) -> tensor<2x1xf32>
    %6 = "hipdnn.pointwise"(%5) {mode = "identity"} : (tensor<2x1xf32>) -> tensor<2x1xf32>
    %7 = "hipdnn.reduction"(%a) {mode = "AVG"} : (tensor<2x8xf16>) -> tensor<2x1xf32>
    %8 = "hipdnn.pointwise"(%a, %7) {mode = "sub"} : (tensor<2x8xf16>, tensor<2x1xf32>) -> tensor<2x8xf32>
    %9 = "hipdnn.pointwise"(%6) {mode = "sqrt"} : (tensor<2x1xf32>) -> tensor<2x1xf32>
    %10 = "hipdnn.pointwise"(%8, %9) {mode = "div"} : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf16>
    "hipdnn.yield"(%10) : (tensor<2x8xf16>) -> ()
  }) {engine = "iree", name = "g"} : (tensor<2x8xf16>) -> tensor<2x8xf16>
  return %0 : tensor<2x8xf16>
}

// -----

// A result stays f32, as do operands of contractions.

// CHECK-LABEL: @read_by_others
// CHECK: ^bb0(%[[A:.*]]: tensor<8x8xf16>)
// CHECK-NEXT: %[[WIDE:.*]] = "hipdnn.pointwise"(%[[A]]) {mode = "identity"}
// CHECK-NEXT: %[[PRODUCT:.*]] = "hipdnn.matmul"(%[[WIDE]], %[[WIDE]])
// CHECK-NEXT: "hipdnn.pointwise"(%[[PRODUCT]], %[[A]]) {mode = "add"}
func.func @read_by_others(%x: tensor<8x8xf16>) -> (tensor<8x8xf32>, tensor<8x8xf16>) {
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<8x8xf16>):
    %1 = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<8x8xf16>) -> tensor<8x8xf32>
    %2 = "hipdnn.matmul"(%1, %1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = "hipdnn.pointwise"(%2, %1) {mode = "add"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf16>
    "hipdnn.yield"(%1, %3) : (tensor<8x8xf32>, tensor<8x8xf16>) -> ()
  }) {engine = "iree", name = "g"} : (tensor<8x8xf16>) -> (tensor<8x8xf32>, tensor<8x8xf16>)
  return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xf16>
}

// -----

// The conversion connects the ops: readers of an argument are not connected.

// CHECK-LABEL: @connecting
// CHECK: %[[WIDE:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"}
// CHECK-NEXT: "hipdnn.pointwise"(%[[WIDE]]) {mode = "relu_fwd"}
// CHECK-NEXT: "hipdnn.reduction"(%[[WIDE]]) {mode = "ADD"}
func.func @connecting(%x: tensor<8xf16>) -> (tensor<8xf32>, tensor<1xf32>) {
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<8xf16>):
    %1 = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<8xf16>) -> tensor<8xf32>
    %2 = "hipdnn.pointwise"(%1) {mode = "relu_fwd"} : (tensor<8xf32>) -> tensor<8xf32>
    %3 = "hipdnn.reduction"(%1) {mode = "ADD"} : (tensor<8xf32>) -> tensor<1xf32>
    "hipdnn.yield"(%2, %3) : (tensor<8xf32>, tensor<1xf32>) -> ()
  }) {engine = "iree", name = "g"} : (tensor<8xf16>) -> (tensor<8xf32>, tensor<1xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<1xf32>
}

// -----

// Another engine may not take operands of several types.

// CHECK-LABEL: @other_engine
// CHECK: "hipdnn.pointwise"(%{{.*}}) {mode = "identity"}
// CHECK-NEXT: "hipdnn.reduction"(%{{.*}}) {mode = "ADD"} : (tensor<8xf32>)
func.func @other_engine(%x: tensor<8xf16>) -> tensor<1xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<8xf16>):
    %1 = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<8xf16>) -> tensor<8xf32>
    %2 = "hipdnn.reduction"(%1) {mode = "ADD"} : (tensor<8xf32>) -> tensor<1xf32>
    "hipdnn.yield"(%2) : (tensor<1xf32>) -> ()
  }) {engine = "MIOPEN_ENGINE", name = "g"} : (tensor<8xf16>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
