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
