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

// -----

// A part of a concatenation is written in the part's order.

// CHECK-LABEL: func.func @rows
// CHECK:         }) {name = "a", result_strides = [array<i64: 1, 1, 2>]}
// CHECK:         %[[V:.*]] = "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 8, 2, 1>}
// CHECK:         "hipdnn.fallback"(%[[V]])
// CHECK:         }) {name = "cat"}
func.func @rows(%x: tensor<1x2x4xf32>) -> tensor<1x5x2xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
    "hipdnn.yield"(%r) : (tensor<1x2x4xf32>) -> ()
  }) {name = "a"} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 8, 1, 4>} : (tensor<1x2x4xf32>) -> tensor<1x4x2xf32>
  %2 = "hipdnn.fallback"(%1) ({
  ^bb0(%a: tensor<1x4x2xf32>):
    %t = torch_c.from_builtin_tensor %a : tensor<1x4x2xf32> -> !torch.vtensor<[1,4,2],f32>
    %one = torch.vtensor.literal(dense<1.0> : tensor<1x1x2xf32>) : !torch.vtensor<[1,1,2],f32>
    %dim = torch.constant.int 1
    %parts = torch.prim.ListConstruct %one, %t : (!torch.vtensor<[1,1,2],f32>, !torch.vtensor<[1,4,2],f32>) -> !torch.list<vtensor>
    %c = torch.aten.cat %parts, %dim : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[1,5,2],f32>
    %r = torch_c.to_builtin_tensor %c : !torch.vtensor<[1,5,2],f32> -> tensor<1x5x2xf32>
    "hipdnn.yield"(%r) : (tensor<1x5x2xf32>) -> ()
  }) {name = "cat", arg_strides = [array<i64: 8, 1, 4>]} : (tensor<1x4x2xf32>) -> tensor<1x5x2xf32>
  return %2 : tensor<1x5x2xf32>
}

// -----

// A part that is not contiguous stays as it is.

// CHECK-LABEL: func.func @columns
// CHECK:         }) {name = "a"}
// CHECK:         }) {arg_strides = [array<i64: 8, 1, 4>], name = "cat"}
func.func @columns(%x: tensor<1x2x4xf32>) -> tensor<1x4x3xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
    "hipdnn.yield"(%r) : (tensor<1x2x4xf32>) -> ()
  }) {name = "a"} : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 8, 1, 4>} : (tensor<1x2x4xf32>) -> tensor<1x4x2xf32>
  %2 = "hipdnn.fallback"(%1) ({
  ^bb0(%a: tensor<1x4x2xf32>):
    %t = torch_c.from_builtin_tensor %a : tensor<1x4x2xf32> -> !torch.vtensor<[1,4,2],f32>
    %one = torch.vtensor.literal(dense<1.0> : tensor<1x4x1xf32>) : !torch.vtensor<[1,4,1],f32>
    %dim = torch.constant.int -1
    %parts = torch.prim.ListConstruct %one, %t : (!torch.vtensor<[1,4,1],f32>, !torch.vtensor<[1,4,2],f32>) -> !torch.list<vtensor>
    %c = torch.aten.cat %parts, %dim : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[1,4,3],f32>
    %r = torch_c.to_builtin_tensor %c : !torch.vtensor<[1,4,3],f32> -> tensor<1x4x3xf32>
    "hipdnn.yield"(%r) : (tensor<1x4x3xf32>) -> ()
  }) {name = "cat", arg_strides = [array<i64: 8, 1, 4>]} : (tensor<1x4x2xf32>) -> tensor<1x4x3xf32>
  return %2 : tensor<1x4x3xf32>
}

// -----

// A fallback writes its result in the order of the copy, too.

// CHECK-LABEL: func.func @of_a_fallback
// CHECK:         "hipdnn.fallback"
// CHECK:         result_strides = [array<i64: 1, 16>]
// CHECK-NOT:     "hipdnn.graph"
func.func @of_a_fallback(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %0 = "hipdnn.fallback"(%x) ({
  ^bb0(%a: tensor<16x8xf32>):
    %1 = torch_c.from_builtin_tensor %a : tensor<16x8xf32> -> !torch.vtensor<[16,8],f32>
    %zero = torch.constant.int 0
    %dims = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
    %2 = torch.aten.flip %1, %dims : !torch.vtensor<[16,8],f32>, !torch.list<int> -> !torch.vtensor<[16,8],f32>
    %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[16,8],f32> -> tensor<16x8xf32>
    "hipdnn.yield"(%3) : (tensor<16x8xf32>) -> ()
  }) {name = "flip"} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %4 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %5 = "hipdnn.graph"(%4) ({
  ^bb0(%a: tensor<8x16xf32>):
    %6 = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    "hipdnn.yield"(%6) : (tensor<8x16xf32>) -> ()
  }) {arg_strides = [array<i64: 1, 8>], name = "copy"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %7 = "hipdnn.view"(%5) {offset = 0 : i64, strides = array<i64: 8, 1>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
  return %7 : tensor<16x8xf32>
}

// -----

// Windows of 2x2 pixels split rows and columns; a norm computes with six dims. The other result stays
// row-major, and is read through a view.

// CHECK-LABEL: func.func @windows
// CHECK-SAME:    %[[X:.*]]: tensor<1x4x6x8xf32>
// CHECK:         %[[S:.*]] = "hipdnn.view"(%[[X]]) {{.*}} : (tensor<1x4x6x8xf32>) -> tensor<1x2x2x3x2x8xf32>
// CHECK:         %[[R:.*]]:2 = "hipdnn.graph"(%[[S]], %{{.*}}) ({
// CHECK:           "hipdnn.pointwise"(%{{.*}}) {mode = "relu_fwd"} : (tensor<1x2x2x3x2x8xf32>) -> tensor<1x2x2x3x2x8xf32>
// CHECK:           "hipdnn.rmsnorm"{{.*}} : (tensor<1x2x2x3x2x8xf32>, tensor<1x1x1x1x1x8xf32>, tensor<1xf32>) -> tensor<1x2x2x3x2x8xf32>
// CHECK:         result_strides = [unit, array<i64: {{[0-9]+}}, 96, 16, 32, 8, 1>]
// CHECK:         %[[W:.*]] = "hipdnn.view"(%[[R]]#0) {{.*}} -> tensor<1x4x6x8xf32>
// CHECK:         %[[V:.*]] = "hipdnn.view"(%[[R]]#1) {offset = 0 : i64, strides = array<i64: 32, 8, 1>} : (tensor<1x2x2x3x2x8xf32>) -> tensor<6x4x8xf32>
// CHECK-NOT:     mode = "identity"
// CHECK:         return %[[W]], %[[V]]
func.func @windows(%x: tensor<1x4x6x8xf32>, %s: tensor<1x1x1x8xf32>) -> (tensor<1x4x6x8xf32>, tensor<6x4x8xf32>) {
  %0:2 = "hipdnn.graph"(%x, %s) ({
  ^bb0(%a: tensor<1x4x6x8xf32>, %b: tensor<1x1x1x8xf32>):
    %e = arith.constant dense<1.0e-5> : tensor<1xf32>
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x4x6x8xf32>) -> tensor<1x4x6x8xf32>
    %n = "hipdnn.rmsnorm"(%r, %b, %e) {forward_phase = "INFERENCE"} : (tensor<1x4x6x8xf32>, tensor<1x1x1x8xf32>, tensor<1xf32>) -> tensor<1x4x6x8xf32>
    "hipdnn.yield"(%r, %n) : (tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>) -> ()
  }) {name = "a"} : (tensor<1x4x6x8xf32>, tensor<1x1x1x8xf32>) -> (tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>)
  %1 = "hipdnn.view"(%0#1) {offset = 0 : i64, strides = array<i64: 192, 96, 16, 48, 8, 1>} : (tensor<1x4x6x8xf32>) -> tensor<1x2x3x2x2x8xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<1x2x3x2x2x8xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<1x2x3x2x2x8xf32>) -> tensor<1x2x3x2x2x8xf32>
    "hipdnn.yield"(%r) : (tensor<1x2x3x2x2x8xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 192, 96, 16, 48, 8, 1>]} : (tensor<1x2x3x2x2x8xf32>) -> tensor<1x2x3x2x2x8xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 32, 8, 1>} : (tensor<1x2x3x2x2x8xf32>) -> tensor<6x4x8xf32>
  return %0#0, %3 : tensor<1x4x6x8xf32>, tensor<6x4x8xf32>
}

// -----

// A dim that is not split is reduced.

// CHECK-LABEL: func.func @lengths
// CHECK:         "hipdnn.reduction"(%{{.*}}) {mode = "ADD"} : (tensor<2x3x2x4xf32>) -> tensor<2x3x2x1xf32>
// CHECK:         result_strides = [array<i64: 2, 4, 1, {{[0-9]+}}>]
// CHECK-NOT:     mode = "identity"
func.func @lengths(%x: tensor<6x2x4xf32>) -> tensor<3x2x2xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<6x2x4xf32>):
    %s = "hipdnn.pointwise"(%a, %a) {mode = "mul"} : (tensor<6x2x4xf32>, tensor<6x2x4xf32>) -> tensor<6x2x4xf32>
    %r = "hipdnn.reduction"(%s) {mode = "ADD"} : (tensor<6x2x4xf32>) -> tensor<6x2x1xf32>
    "hipdnn.yield"(%r) : (tensor<6x2x1xf32>) -> ()
  }) {name = "a"} : (tensor<6x2x4xf32>) -> tensor<6x2x1xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 2, 6, 1>} : (tensor<6x2x1xf32>) -> tensor<3x2x2xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<3x2x2xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
    "hipdnn.yield"(%r) : (tensor<3x2x2xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 2, 6, 1>]} : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  return %2 : tensor<3x2x2xf32>
}

// -----

// The first of two windows splits the dims of the graph. The second one, which would split more, is
// copied.

// CHECK-LABEL: func.func @two_windows
// CHECK:         result_strides = [array<i64: 4, 8, 1>, unit]
// CHECK-COUNT-1: mode = "identity"
// CHECK-NOT:     mode = "identity"
func.func @two_windows(%x: tensor<6x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x2x3x2xf32>) {
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<6x4xf32>):
    %n = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
    %m = "hipdnn.pointwise"(%n) {mode = "neg"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
    "hipdnn.yield"(%n, %m) : (tensor<6x4xf32>, tensor<6x4xf32>) -> ()
  }) {name = "a"} : (tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  %1 = "hipdnn.view"(%0#0) {offset = 0 : i64, strides = array<i64: 4, 12, 1>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<3x2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    "hipdnn.yield"(%r) : (tensor<3x2x4xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 4, 12, 1>]} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  %3 = "hipdnn.view"(%0#1) {offset = 0 : i64, strides = array<i64: 1, 12, 4, 2>} : (tensor<6x4xf32>) -> tensor<2x2x3x2xf32>
  %4 = "hipdnn.graph"(%3) ({
  ^bb0(%a: tensor<2x2x3x2xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<2x2x3x2xf32>) -> tensor<2x2x3x2xf32>
    "hipdnn.yield"(%r) : (tensor<2x2x3x2xf32>) -> ()
  }) {name = "copy", arg_strides = [array<i64: 1, 12, 4, 2>]} : (tensor<2x2x3x2xf32>) -> tensor<2x2x3x2xf32>
  return %2, %4 : tensor<3x2x4xf32>, tensor<2x2x3x2xf32>
}
