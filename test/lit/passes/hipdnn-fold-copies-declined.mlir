// RUN: hipgraft-opt %s --split-input-file --hipdnn-fold-copies | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-fold-copies --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// Copies that no graph can write in their order stay, and a remark tells why.

// REMARK: 'hipdnn.graph' op copies no permutation of a tensor
// CHECK-LABEL: func.func @part
// CHECK-NOT:     result_strides
// CHECK:         mode = "identity"
func.func @part(%x: tensor<2x4xf32>) -> (tensor<3x2xf32>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    "hipdnn.yield"(%r) : (tensor<2x4xf32>) -> ()
  }) {name = "a"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<2x4xf32>) -> tensor<3x2xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<3x2xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<3x2xf32>) -> tensor<3x2xf32>
    "hipdnn.yield"(%r) : (tensor<3x2xf32>) -> ()
  }) {name = "copy"} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// REMARK: 'hipdnn.graph' op copies no permutation of a tensor
// CHECK-LABEL: func.func @broadcast
// CHECK-NOT:     result_strides
// CHECK:         mode = "identity"
func.func @broadcast(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    "hipdnn.yield"(%r) : (tensor<2x4xf32>) -> ()
  }) {name = "a"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<2x8xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<2x8xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    "hipdnn.yield"(%r) : (tensor<2x8xf32>) -> ()
  }) {name = "copy"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// -----

// REMARK: 'hipdnn.graph' op copies what no graph or fallback yields
// CHECK-LABEL: func.func @argument
// CHECK-NOT:     result_strides
// CHECK:         mode = "identity"
func.func @argument(%x: tensor<2x4xf32>) -> (tensor<4x2xf32>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    "hipdnn.yield"(%r) : (tensor<2x4xf32>) -> ()
  }) {name = "a"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<4x2xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    "hipdnn.yield"(%r) : (tensor<4x2xf32>) -> ()
  }) {name = "copy"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// -----

// REMARK: 'hipdnn.graph' op copies a tensor that others read
// CHECK-LABEL: func.func @read_elsewhere
// CHECK-NOT:     result_strides
// CHECK:         mode = "identity"
func.func @read_elsewhere(%x: tensor<2x4xf32>) -> (tensor<4x2xf32>, tensor<2x4xf32>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    "hipdnn.yield"(%r) : (tensor<2x4xf32>) -> ()
  }) {name = "a"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<4x2xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    "hipdnn.yield"(%r) : (tensor<4x2xf32>) -> ()
  }) {name = "copy"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %2, %0 : tensor<4x2xf32>, tensor<2x4xf32>
}

// -----

// The same window is two operands of the concatenation.

// REMARK: 'hipdnn.fallback' op copies a tensor that others read
// CHECK-LABEL: func.func @twice
// CHECK-NOT:     result_strides
// CHECK:         torch.aten.cat
func.func @twice(%x: tensor<2x4xf32>) -> tensor<8x2xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    "hipdnn.yield"(%r) : (tensor<2x4xf32>) -> ()
  }) {name = "a"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %2 = "hipdnn.fallback"(%1, %1) ({
  ^bb0(%a: tensor<4x2xf32>, %b: tensor<4x2xf32>):
    %ta = torch_c.from_builtin_tensor %a : tensor<4x2xf32> -> !torch.vtensor<[4,2],f32>
    %tb = torch_c.from_builtin_tensor %b : tensor<4x2xf32> -> !torch.vtensor<[4,2],f32>
    %int0 = torch.constant.int 0
    %rows = torch.prim.ListConstruct %ta, %tb : (!torch.vtensor<[4,2],f32>, !torch.vtensor<[4,2],f32>) -> !torch.list<vtensor>
    %c0 = torch.aten.cat %rows, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[8,2],f32>
    %r0 = torch_c.to_builtin_tensor %c0 : !torch.vtensor<[8,2],f32> -> tensor<8x2xf32>
    "hipdnn.yield"(%r0) : (tensor<8x2xf32>) -> ()
  }) {name = "cat", arg_strides = [array<i64: 1, 4>, array<i64: 1, 4>]} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// -----

// REMARK: 'hipdnn.graph' op copies what a torch op yields in its own order

// CHECK-LABEL: func.func @of_sums
// CHECK-COUNT-1: "hipdnn.graph"
func.func @of_sums(%x: tensor<16x8xf32>) -> tensor<8x16xf32> {
  %0 = "hipdnn.fallback"(%x) ({
  ^bb0(%a: tensor<16x8xf32>):
    %1 = torch_c.from_builtin_tensor %a : tensor<16x8xf32> -> !torch.vtensor<[16,8],f32>
    %zero = torch.constant.int 0
    %none = torch.constant.none
    %2 = torch.aten.cumsum %1, %zero, %none : !torch.vtensor<[16,8],f32>, !torch.int, !torch.none -> !torch.vtensor<[16,8],f32>
    %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[16,8],f32> -> tensor<16x8xf32>
    "hipdnn.yield"(%3) : (tensor<16x8xf32>) -> ()
  }) {name = "sums"} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %4 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %5 = "hipdnn.graph"(%4) ({
  ^bb0(%a: tensor<8x16xf32>):
    %6 = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    "hipdnn.yield"(%6) : (tensor<8x16xf32>) -> ()
  }) {arg_strides = [array<i64: 1, 8>], name = "copy"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %5 : tensor<8x16xf32>
}

// -----

// The norm normalises the rows that the windows split.

// REMARK: a norm normalises a dim that the copy splits
// CHECK-LABEL: func.func @normalised
// CHECK-NOT:     result_strides
// CHECK:         mode = "identity"
func.func @normalised(%x: tensor<4x8xf32>, %s: tensor<1x8xf32>) -> tensor<2x4x4xf32> {
  %0 = "hipdnn.graph"(%x, %s) ({
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<1x8xf32>):
    %e = arith.constant dense<1.0e-5> : tensor<1xf32>
    %n = "hipdnn.rmsnorm"(%a, %b, %e) {forward_phase = "INFERENCE"} : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
    "hipdnn.yield"(%n) : (tensor<4x8xf32>) -> ()
  }) {name = "a"} : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 8, 1>} : (tensor<4x8xf32>) -> tensor<2x4x4xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<2x4x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    "hipdnn.yield"(%r) : (tensor<2x4x4xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 4, 8, 1>]} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %2 : tensor<2x4x4xf32>
}

// -----

// REMARK: 'hipdnn.matmul' op does not compute with split dims
// CHECK-LABEL: func.func @product
// CHECK-NOT:     result_strides
// CHECK:         mode = "identity"
func.func @product(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<2x4x4xf32> {
  %0 = "hipdnn.graph"(%x, %w) ({
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>):
    %n = "hipdnn.matmul"(%a, %b) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    "hipdnn.yield"(%n) : (tensor<4x8xf32>) -> ()
  }) {name = "a"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 8, 1>} : (tensor<4x8xf32>) -> tensor<2x4x4xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<2x4x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    "hipdnn.yield"(%r) : (tensor<2x4x4xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 4, 8, 1>]} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %2 : tensor<2x4x4xf32>
}

// -----

// Another engine may not take as many dims.

// REMARK: engine 'own' may not take a graph of a higher rank
// CHECK-LABEL: func.func @other_engine
// CHECK-NOT:     result_strides
// CHECK:         mode = "identity"
func.func @other_engine(%x: tensor<6x4xf32>) -> tensor<3x2x4xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<6x4xf32>):
    %n = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
    "hipdnn.yield"(%n) : (tensor<6x4xf32>) -> ()
  }) {engine = "own", name = "a"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 12, 1>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<3x2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    "hipdnn.yield"(%r) : (tensor<3x2x4xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 4, 12, 1>]} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  return %2 : tensor<3x2x4xf32>
}

// -----

// An index counts the rows that the windows split.

// REMARK: 'hipdnn.pointwise' op does not compute with split dims
// CHECK-LABEL: func.func @counted
// CHECK-NOT:     result_strides
// CHECK:         mode = "identity"
func.func @counted(%x: tensor<6x4xf32>) -> tensor<3x2x4xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<6x4xf32>):
    %i = "hipdnn.pointwise"(%a) {mode = "gen_index", axis = 0 : i64} : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %n = "hipdnn.pointwise"(%a, %i) {mode = "mul"} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
    "hipdnn.yield"(%n) : (tensor<6x4xf32>) -> ()
  }) {name = "a"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 12, 1>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<3x2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    "hipdnn.yield"(%r) : (tensor<3x2x4xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 4, 12, 1>]} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  return %2 : tensor<3x2x4xf32>
}

// -----

// A constant has different elements.

// REMARK: a constant has several elements
// CHECK-LABEL: func.func @constants
// CHECK-NOT:     result_strides
// CHECK:         mode = "identity"
func.func @constants(%x: tensor<6x4xf32>) -> tensor<3x2x4xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<6x4xf32>):
    %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
    %n = "hipdnn.pointwise"(%a, %c) {mode = "mul"} : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
    "hipdnn.yield"(%n) : (tensor<6x4xf32>) -> ()
  }) {name = "a"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 4, 12, 1>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<3x2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    "hipdnn.yield"(%r) : (tensor<3x2x4xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 4, 12, 1>]} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  return %2 : tensor<3x2x4xf32>
}
