// RUN: hipgraft-opt %s --split-input-file --hipdnn-order-launches | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-order-launches --hipdnn-order-launches | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-order-launches --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// A container whose results are large runs right before the first that reads them.

// The second table is made when the first is no longer needed, and views move with their tensors.

// REMARK: remark: 9248 bytes of results are live at once, 12320 before
// REMARK-NOT: remark
// CHECK-LABEL: func.func @tables
// CHECK:         {name = "first"}
// CHECK:         {name = "reader_of_first"}
// CHECK:         %[[SECOND:.*]] = "hipdnn.graph"
// CHECK:         name = "second"}
// CHECK-NEXT:    %[[VIEW:.*]] = "hipdnn.view"(%[[SECOND]])
// CHECK-NEXT:    "hipdnn.graph"(%{{.*}}, %[[VIEW]])
func.func @tables(%x: tensor<8xf32>, %c: tensor<128x1xf32>, %e: tensor<512xf32>) -> tensor<1x256xf32> {
  // A view of an argument takes no memory.
  %d = "hipdnn.view"(%e) {offset = 0 : i64, strides = array<i64: 2, 0>} : (tensor<512xf32>) -> tensor<256x1xf32>
  %0 = "hipdnn.graph"(%x, %c) ({
  ^bb0(%g: tensor<8xf32>, %h: tensor<128x1xf32>):
    %r = "hipdnn.pointwise"(%h, %g) {mode = "mul"} : (tensor<128x1xf32>, tensor<8xf32>) -> tensor<128x8xf32>
    "hipdnn.yield"(%r) : (tensor<128x8xf32>) -> ()
  }) {name = "first"} : (tensor<8xf32>, tensor<128x1xf32>) -> tensor<128x8xf32>
  %1 = "hipdnn.graph"(%x, %d) ({
  ^bb0(%g: tensor<8xf32>, %h: tensor<256x1xf32>):
    %r = "hipdnn.pointwise"(%h, %g) {mode = "mul"} : (tensor<256x1xf32>, tensor<8xf32>) -> tensor<256x8xf32>
    "hipdnn.yield"(%r) : (tensor<256x8xf32>) -> ()
  }) {name = "second", arg_strides = [unit, array<i64: 2, 0>], arg_offsets = array<i64: 0, 0>} : (tensor<8xf32>, tensor<256x1xf32>) -> tensor<256x8xf32>
  %v = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<256x8xf32>) -> tensor<8x256xf32>
  %2 = "hipdnn.graph"(%0) ({
  ^bb0(%g: tensor<128x8xf32>):
    %r = "hipdnn.reduction"(%g) {mode = "ADD"} : (tensor<128x8xf32>) -> tensor<1x8xf32>
    "hipdnn.yield"(%r) : (tensor<1x8xf32>) -> ()
  }) {name = "reader_of_first"} : (tensor<128x8xf32>) -> tensor<1x8xf32>
  %3 = "hipdnn.graph"(%2, %v) ({
  ^bb0(%g: tensor<1x8xf32>, %h: tensor<8x256xf32>):
    %r = "hipdnn.matmul"(%g, %h) : (tensor<1x8xf32>, tensor<8x256xf32>) -> tensor<1x256xf32>
    "hipdnn.yield"(%r) : (tensor<1x256xf32>) -> ()
  }) {name = "reader_of_second", arg_strides = [unit, array<i64: 1, 8>], arg_offsets = array<i64: 0, 0>} : (tensor<1x8xf32>, tensor<8x256xf32>) -> tensor<1x256xf32>
  %4 = "hipdnn.graph"(%3) ({
  ^bb0(%g: tensor<1x256xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "neg"} : (tensor<1x256xf32>) -> tensor<1x256xf32>
    "hipdnn.yield"(%r) : (tensor<1x256xf32>) -> ()
  }) {name = "end"} : (tensor<1x256xf32>) -> tensor<1x256xf32>
  return %4 : tensor<1x256xf32>
}

// -----

// Nothing is gained by a later sum: what it reads would be live for longer.

// CHECK-LABEL: func.func @sum_of_a_table
// CHECK:         {name = "table"}
// CHECK:         {name = "sum"}
// CHECK:         {name = "other"}
func.func @sum_of_a_table(%x: tensor<8xf32>, %c: tensor<128x1xf32>) -> (tensor<1x8xf32>, tensor<8xf32>) {
  %0 = "hipdnn.graph"(%x, %c) ({
  ^bb0(%g: tensor<8xf32>, %h: tensor<128x1xf32>):
    %r = "hipdnn.pointwise"(%h, %g) {mode = "mul"} : (tensor<128x1xf32>, tensor<8xf32>) -> tensor<128x8xf32>
    "hipdnn.yield"(%r) : (tensor<128x8xf32>) -> ()
  }) {name = "table"} : (tensor<8xf32>, tensor<128x1xf32>) -> tensor<128x8xf32>
  %1 = "hipdnn.graph"(%0) ({
  ^bb0(%g: tensor<128x8xf32>):
    %r = "hipdnn.reduction"(%g) {mode = "ADD"} : (tensor<128x8xf32>) -> tensor<1x8xf32>
    "hipdnn.yield"(%r) : (tensor<1x8xf32>) -> ()
  }) {name = "sum"} : (tensor<128x8xf32>) -> tensor<1x8xf32>
  %2 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "neg"} : (tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "other"} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = "hipdnn.graph"(%1) ({
  ^bb0(%g: tensor<1x8xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "neg"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
    "hipdnn.yield"(%r) : (tensor<1x8xf32>) -> ()
  }) {name = "end"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %3, %2 : tensor<1x8xf32>, tensor<8xf32>
}
