// RUN: hipgraft-opt %s --split-input-file --hipdnn-fold-copies | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-fold-copies --hipdnn-fold-copies | FileCheck %s
// A copy into another order becomes the order in which its producer writes.

// Heads go behind the sequence, and the reader of the copy looks at the storage.

// CHECK-LABEL: func.func @heads
// CHECK:         %[[R:.*]] = "hipdnn.graph"(%{{.*}})
// CHECK:         }) {name = "a", result_strides = [array<i64: {{[0-9]+}}, 8, 32, 1>]}
// CHECK-NEXT:    %[[V:.*]] = "hipdnn.view"(%[[R]]) {offset = 0 : i64, strides = array<i64: 32, 1>} : (tensor<1x4x16x8xf32>) -> tensor<16x32xf32>
// CHECK-NEXT:    "hipdnn.graph"(%[[V]])
// CHECK:         }) {name = "b"}
func.func @heads(%x: tensor<1x4x16x8xf32>) -> tensor<16x32xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x4x16x8xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x4x16x8xf32>) -> tensor<1x4x16x8xf32>
    "hipdnn.yield"(%r) : (tensor<1x4x16x8xf32>) -> ()
  }) {name = "a"} : (tensor<1x4x16x8xf32>) -> tensor<1x4x16x8xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 512, 8, 128, 1>} : (tensor<1x4x16x8xf32>) -> tensor<1x16x4x8xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<1x16x4x8xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<1x16x4x8xf32>) -> tensor<1x16x4x8xf32>
    "hipdnn.yield"(%r) : (tensor<1x16x4x8xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 512, 8, 128, 1>]} : (tensor<1x16x4x8xf32>) -> tensor<1x16x4x8xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 32, 1>} : (tensor<1x16x4x8xf32>) -> tensor<16x32xf32>
  %4 = "hipdnn.graph"(%3) ({
  ^bb0(%a: tensor<16x32xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "neg"} : (tensor<16x32xf32>) -> tensor<16x32xf32>
    "hipdnn.yield"(%r) : (tensor<16x32xf32>) -> ()
  }) {name = "b"} : (tensor<16x32xf32>) -> tensor<16x32xf32>
  return %4 : tensor<16x32xf32>
}

// -----

// A copy that is returned: the window on the storage is all of it.

// CHECK-LABEL: func.func @returned
// CHECK:         %[[R:.*]]:2 = "hipdnn.graph"(%{{.*}})
// CHECK:         }) {name = "a", result_strides = [unit, array<i64: 1, 2>]}
// CHECK-NEXT:    %[[V:.*]] = "hipdnn.view"(%[[R]]#1) {offset = 0 : i64, strides = array<i64: 2, 1>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:    return %[[R]]#0, %[[V]]
func.func @returned(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>) {
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %n = "hipdnn.pointwise"(%r) {mode = "neg"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    "hipdnn.yield"(%r, %n) : (tensor<2x4xf32>, tensor<2x4xf32>) -> ()
  }) {name = "a"} : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
  %1 = "hipdnn.view"(%0#1) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<4x2xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    "hipdnn.yield"(%r) : (tensor<4x2xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 1, 4>]} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0#0, %2 : tensor<2x4xf32>, tensor<4x2xf32>
}
