// RUN: hipgraft-opt %s --split-input-file --hipdnn-deduplicate | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-deduplicate --hipdnn-deduplicate | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-deduplicate --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// Containers that one kernel can serve get one name; others keep or get their own.

// REMARK: remark: same as 'relu_0'
// CHECK-LABEL: func.func @same_body
// CHECK:         "hipdnn.graph"
// CHECK:         {name = "relu_0"}
// CHECK:         "hipdnn.graph"
// CHECK:         {name = "relu_0"}
func.func @same_body(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "relu_0"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "hipdnn.graph"(%0) ({
  ^bb0(%g: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "relu_1"} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Which values they read does not count, but that two operands are one value inside does.
// CHECK-LABEL: func.func @operands
// CHECK:         {name = "mul"}
// CHECK:         {name = "mul"}
// CHECK:         {name = "square"}
func.func @operands(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = "hipdnn.graph"(%x, %y) ({
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%a, %b) {mode = "mul", operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "mul"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = "hipdnn.graph"(%y, %y) ({
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>):
    %s = "hipdnn.pointwise"(%c, %d) {mode = "mul", operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%s) : (tensor<8xf32>) -> ()
  }) {name = "other"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = "hipdnn.graph"(%x, %y) ({
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%a, %a) {mode = "mul", operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "square"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Another shape, mode, layout or kind of container is another kernel, so one name becomes several.
// CHECK-LABEL: func.func @different
// CHECK:         {name = "k"}
// CHECK:         {name = "k_1"}
// CHECK:         {arg_strides = {{.*}}, name = "k_2"}
// CHECK:         "hipdnn.fallback"
// CHECK:         {name = "k_3"}
func.func @different(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %t = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x4xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%r) : (tensor<4x4xf32>) -> ()
  }) {name = "k"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x4xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "abs", operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%r) : (tensor<4x4xf32>) -> ()
  }) {name = "k"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "hipdnn.graph"(%t) ({
  ^bb0(%g: tensor<4x4xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%r) : (tensor<4x4xf32>) -> ()
  }) {name = "k", arg_strides = [array<i64: 1, 4>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "hipdnn.fallback"(%x) ({
  ^bb0(%g: tensor<4x4xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%r) : (tensor<4x4xf32>) -> ()
  }) {name = "k"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @unnamed
// CHECK:         {name = "graph"}
func.func @unnamed(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
