// REQUIRES: slow
// RUN: hipgraft-opt %s --split-input-file --hipdnn-compile=target=gfx942 | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-compile=target=gfx942 --hipdnn-compile=target=gfx942 | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-compile=target=gfx942 --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --split-input-file --hipdnn-compile=target=gfx942 --verify-contracts -o %t
// A container becomes a call of an executable, which holds code objects and the steps to run.

// REMARK: 'relu_0' for gfx942, launches: 1
// CHECK-LABEL: func.func @pointwise
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>)
// CHECK:         %[[A:.*]] = "hipdnn.execute"(%[[X]]) {callee = @relu_0}
// CHECK:         %[[B:.*]] = "hipdnn.execute"(%[[A]]) {callee = @relu_0}
// CHECK:         return %[[B]]
// CHECK:         "hipdnn.executable"() {binaries = [
// CHECK-SAME:    format = "hsaco", objects = ["\7FELF
// CHECK-SAME:    access = "read", buffer = 0 : i64
// CHECK-SAME:    kernel = "main_dispatch_0_elementwise_8_f32"
// CHECK-SAME:    op = "dispatch"
// CHECK-SAME:    target = "gfx942"
// CHECK-SAME:    operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], sym_name = "relu_0"
// CHECK-NOT:     "hipdnn.executable"
func.func @pointwise(%x: tensor<8xf32>) -> tensor<8xf32> {
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

// A view's strides and offset stay with the executable, and its name is a free symbol.
// CHECK-LABEL: func.func @k
// CHECK:         %[[V:.*]] = "hipdnn.view"
// CHECK:         "hipdnn.execute"(%[[V]]) {callee = @k_1}
// CHECK:         "hipdnn.executable"() {arg_offsets = array<i64: 2>, arg_strides = [array<i64: 1, 4>]
// CHECK-SAME:    sym_name = "k_1"
func.func @k(%x: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %t = "hipdnn.view"(%x) {offset = 2 : i64, strides = array<i64: 1, 4>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %0 = "hipdnn.graph"(%t) ({
  ^bb0(%g: tensor<2x4xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    "hipdnn.yield"(%r) : (tensor<2x4xf32>) -> ()
  }) {name = "k", arg_strides = [array<i64: 1, 4>], arg_offsets = array<i64: 2>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
