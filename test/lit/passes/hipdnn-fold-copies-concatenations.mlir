// RUN: hipgraft-opt %s --split-input-file --hipdnn-fold-copies | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-fold-copies --hipdnn-fold-copies | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-fold-copies --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// A concatenation of an inner dim is one of the outermost dim in memory, if graphs can write the
// parts, and read the result, in that order.

// CHECK-LABEL: func.func @of_columns
// CHECK:         %[[A:.*]] = "hipdnn.graph"(%arg0)
// CHECK:         result_strides = [array<i64: 1, 4>]
// CHECK:         %[[B:.*]] = "hipdnn.graph"(%arg1)
// CHECK:         result_strides = [array<i64: 1, 4>]
// CHECK:         "hipdnn.view"(%[[A]]) {offset = 0 : i64, strides = array<i64: 4, 1>}
// CHECK:         "hipdnn.view"(%[[B]]) {offset = 0 : i64, strides = array<i64: 4, 1>}
// CHECK:         %[[CAT:.*]] = "hipdnn.fallback"
// CHECK:         %[[DIM:.*]] = torch.constant.int 0
// CHECK:         torch.aten.cat %{{.*}}, %[[DIM]] : {{.*}} -> !torch.vtensor<[12,4],f32>
// CHECK-NOT:     arg_strides
// CHECK:         %[[SEEN:.*]] = "hipdnn.view"(%[[CAT]]) {offset = 0 : i64, strides = array<i64: 1, 4>}
// CHECK:         "hipdnn.graph"(%[[SEEN]], %arg2)
// CHECK:         arg_strides = [array<i64: 1, 4>, unit]
func.func @of_columns(%x: tensor<4x4xf32>, %y: tensor<4x8xf32>, %w: tensor<12x8xf32>) -> tensor<4x8xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<4x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%r) : (tensor<4x4xf32>) -> ()
  }) {name = "part0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "hipdnn.graph"(%y) ({
  ^bb0(%a: tensor<4x8xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "hipdnn.yield"(%r) : (tensor<4x8xf32>) -> ()
  }) {name = "part1"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "hipdnn.fallback"(%0, %1) ({
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x8xf32>):
    %ta = torch_c.from_builtin_tensor %a : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
    %tb = torch_c.from_builtin_tensor %b : tensor<4x8xf32> -> !torch.vtensor<[4,8],f32>
    %dim = torch.constant.int 1
    %parts = torch.prim.ListConstruct %ta, %tb : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,8],f32>) -> !torch.list<vtensor>
    %c = torch.aten.cat %parts, %dim : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[4,12],f32>
    %r = torch_c.to_builtin_tensor %c : !torch.vtensor<[4,12],f32> -> tensor<4x12xf32>
    "hipdnn.yield"(%r) : (tensor<4x12xf32>) -> ()
  }) {name = "cat"} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x12xf32>
  %3 = "hipdnn.graph"(%2, %w) ({
  ^bb0(%a: tensor<4x12xf32>, %b: tensor<12x8xf32>):
    %r = "hipdnn.matmul"(%a, %b) : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
    "hipdnn.yield"(%r) : (tensor<4x8xf32>) -> ()
  }) {name = "product"} : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// Reading that much in another order takes longer than the copy.

// REMARK: 'hipdnn.fallback' op makes 262144 bytes or more
// CHECK-LABEL: func.func @large
// CHECK-NOT:     result_strides
// CHECK:         torch.constant.int 1
func.func @large(%x: tensor<256x128xf32>, %y: tensor<256x128xf32>, %w: tensor<256x8xf32>) -> tensor<256x8xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<256x128xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<256x128xf32>) -> tensor<256x128xf32>
    "hipdnn.yield"(%r) : (tensor<256x128xf32>) -> ()
  }) {name = "part0"} : (tensor<256x128xf32>) -> tensor<256x128xf32>
  %1 = "hipdnn.graph"(%y) ({
  ^bb0(%a: tensor<256x128xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<256x128xf32>) -> tensor<256x128xf32>
    "hipdnn.yield"(%r) : (tensor<256x128xf32>) -> ()
  }) {name = "part1"} : (tensor<256x128xf32>) -> tensor<256x128xf32>
  %2 = "hipdnn.fallback"(%0, %1) ({
  ^bb0(%a: tensor<256x128xf32>, %b: tensor<256x128xf32>):
    %ta = torch_c.from_builtin_tensor %a : tensor<256x128xf32> -> !torch.vtensor<[256,128],f32>
    %tb = torch_c.from_builtin_tensor %b : tensor<256x128xf32> -> !torch.vtensor<[256,128],f32>
    %dim = torch.constant.int 1
    %parts = torch.prim.ListConstruct %ta, %tb : (!torch.vtensor<[256,128],f32>, !torch.vtensor<[256,128],f32>) -> !torch.list<vtensor>
    %c = torch.aten.cat %parts, %dim : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[256,256],f32>
    %r = torch_c.to_builtin_tensor %c : !torch.vtensor<[256,256],f32> -> tensor<256x256xf32>
    "hipdnn.yield"(%r) : (tensor<256x256xf32>) -> ()
  }) {name = "cat"} : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<256x256xf32>
  %3 = "hipdnn.graph"(%2, %w) ({
  ^bb0(%a: tensor<256x256xf32>, %b: tensor<256x8xf32>):
    %r = "hipdnn.matmul"(%a, %b) : (tensor<256x256xf32>, tensor<256x8xf32>) -> tensor<256x8xf32>
    "hipdnn.yield"(%r) : (tensor<256x8xf32>) -> ()
  }) {name = "product"} : (tensor<256x256xf32>, tensor<256x8xf32>) -> tensor<256x8xf32>
  return %3 : tensor<256x8xf32>
}

// -----

// Kernels rely on the alignment of pointers.

// REMARK: 'hipdnn.fallback' op has a part at no multiple of 16
// CHECK-LABEL: func.func @unaligned
// CHECK-NOT:     result_strides
// CHECK:         torch.constant.int 1
func.func @unaligned(%x: tensor<3x3xf32>, %y: tensor<3x5xf32>, %w: tensor<8x8xf32>) -> tensor<3x8xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<3x3xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<3x3xf32>) -> tensor<3x3xf32>
    "hipdnn.yield"(%r) : (tensor<3x3xf32>) -> ()
  }) {name = "part0"} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = "hipdnn.graph"(%y) ({
  ^bb0(%a: tensor<3x5xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<3x5xf32>) -> tensor<3x5xf32>
    "hipdnn.yield"(%r) : (tensor<3x5xf32>) -> ()
  }) {name = "part1"} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = "hipdnn.fallback"(%0, %1) ({
  ^bb0(%a: tensor<3x3xf32>, %b: tensor<3x5xf32>):
    %ta = torch_c.from_builtin_tensor %a : tensor<3x3xf32> -> !torch.vtensor<[3,3],f32>
    %tb = torch_c.from_builtin_tensor %b : tensor<3x5xf32> -> !torch.vtensor<[3,5],f32>
    %dim = torch.constant.int 1
    %parts = torch.prim.ListConstruct %ta, %tb : (!torch.vtensor<[3,3],f32>, !torch.vtensor<[3,5],f32>) -> !torch.list<vtensor>
    %c = torch.aten.cat %parts, %dim : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[3,8],f32>
    %r = torch_c.to_builtin_tensor %c : !torch.vtensor<[3,8],f32> -> tensor<3x8xf32>
    "hipdnn.yield"(%r) : (tensor<3x8xf32>) -> ()
  }) {name = "cat"} : (tensor<3x3xf32>, tensor<3x5xf32>) -> tensor<3x8xf32>
  %3 = "hipdnn.graph"(%2, %w) ({
  ^bb0(%a: tensor<3x8xf32>, %b: tensor<8x8xf32>):
    %r = "hipdnn.matmul"(%a, %b) : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
    "hipdnn.yield"(%r) : (tensor<3x8xf32>) -> ()
  }) {name = "product"} : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  return %3 : tensor<3x8xf32>
}

// -----

// One buffer cannot be two parts.

// REMARK: 'hipdnn.fallback' op reads an operand twice
// CHECK-LABEL: func.func @twice
// CHECK-NOT:     result_strides
// CHECK:         torch.constant.int 1
func.func @twice(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<4x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%r) : (tensor<4x4xf32>) -> ()
  }) {name = "part0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "hipdnn.graph"(%y) ({
  ^bb0(%a: tensor<4x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%r) : (tensor<4x4xf32>) -> ()
  }) {name = "part1"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "hipdnn.fallback"(%0) ({
  ^bb0(%a: tensor<4x4xf32>):
    %ta = torch_c.from_builtin_tensor %a : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
    %dim = torch.constant.int 1
    %parts = torch.prim.ListConstruct %ta, %ta : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.list<vtensor>
    %c = torch.aten.cat %parts, %dim : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[4,8],f32>
    %r = torch_c.to_builtin_tensor %c : !torch.vtensor<[4,8],f32> -> tensor<4x8xf32>
    "hipdnn.yield"(%r) : (tensor<4x8xf32>) -> ()
  }) {name = "cat"} : (tensor<4x4xf32>) -> tensor<4x8xf32>
  %3 = "hipdnn.graph"(%2, %w) ({
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>):
    %r = "hipdnn.matmul"(%a, %b) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    "hipdnn.yield"(%r) : (tensor<4x8xf32>) -> ()
  }) {name = "product"} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// The view walks rows, which would no longer be contiguous.

// REMARK: a view of what 'hipdnn.fallback' op makes has no strides then
// CHECK-LABEL: func.func @flat
// CHECK-NOT:     result_strides
// CHECK:         torch.constant.int 1
func.func @flat(%x: tensor<4x4xf32>, %y: tensor<4x8xf32>, %w: tensor<12x8xf32>) -> tensor<48xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<4x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%r) : (tensor<4x4xf32>) -> ()
  }) {name = "part0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "hipdnn.graph"(%y) ({
  ^bb0(%a: tensor<4x8xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "hipdnn.yield"(%r) : (tensor<4x8xf32>) -> ()
  }) {name = "part1"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "hipdnn.fallback"(%0, %1) ({
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x8xf32>):
    %ta = torch_c.from_builtin_tensor %a : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
    %tb = torch_c.from_builtin_tensor %b : tensor<4x8xf32> -> !torch.vtensor<[4,8],f32>
    %dim = torch.constant.int 1
    %parts = torch.prim.ListConstruct %ta, %tb : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,8],f32>) -> !torch.list<vtensor>
    %c = torch.aten.cat %parts, %dim : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[4,12],f32>
    %r = torch_c.to_builtin_tensor %c : !torch.vtensor<[4,12],f32> -> tensor<4x12xf32>
    "hipdnn.yield"(%r) : (tensor<4x12xf32>) -> ()
  }) {name = "cat"} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x12xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<4x12xf32>) -> tensor<48xf32>
  %4 = "hipdnn.graph"(%3) ({
  ^bb0(%a: tensor<48xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "neg"} : (tensor<48xf32>) -> tensor<48xf32>
    "hipdnn.yield"(%r) : (tensor<48xf32>) -> ()
  }) {name = "neg"} : (tensor<48xf32>) -> tensor<48xf32>
  return %4 : tensor<48xf32>
}

// -----

// The caller expects rows.

// REMARK: 'func.return' op reads what 'hipdnn.fallback' op makes in order
// CHECK-LABEL: func.func @returned
// CHECK-NOT:     result_strides
// CHECK:         torch.constant.int 1
func.func @returned(%x: tensor<4x4xf32>, %y: tensor<4x8xf32>, %w: tensor<12x8xf32>) -> tensor<4x12xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<4x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%r) : (tensor<4x4xf32>) -> ()
  }) {name = "part0"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "hipdnn.graph"(%y) ({
  ^bb0(%a: tensor<4x8xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "hipdnn.yield"(%r) : (tensor<4x8xf32>) -> ()
  }) {name = "part1"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "hipdnn.fallback"(%0, %1) ({
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x8xf32>):
    %ta = torch_c.from_builtin_tensor %a : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
    %tb = torch_c.from_builtin_tensor %b : tensor<4x8xf32> -> !torch.vtensor<[4,8],f32>
    %dim = torch.constant.int 1
    %parts = torch.prim.ListConstruct %ta, %tb : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,8],f32>) -> !torch.list<vtensor>
    %c = torch.aten.cat %parts, %dim : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[4,12],f32>
    %r = torch_c.to_builtin_tensor %c : !torch.vtensor<[4,12],f32> -> tensor<4x12xf32>
    "hipdnn.yield"(%r) : (tensor<4x12xf32>) -> ()
  }) {name = "cat"} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x12xf32>
  return %2 : tensor<4x12xf32>
}
