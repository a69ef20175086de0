// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// An elementwise op that cannot join its producer starts a graph, and a remark tells why.

// REMARK: 'hipdnn.pointwise' starts a graph: shape [4, 8] is not one that its producer's kernel walks
// CHECK-LABEL: func.func @broadcast_up
// CHECK-COUNT-2: "hipdnn.graph"
func.func @broadcast_up(%a: tensor<1x4xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<1x4xf32>, tensor<4x8xf32>) -> tensor<1x8xf32>
  %s = "hipdnn.pointwise"(%p, %c) {mode = "add"} : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}

// -----

// The sum reads the product and, through a torch op, depends on it once more.

// REMARK: 'hipdnn.pointwise' starts a graph: an operand depends on the graph through another one
// CHECK-LABEL: func.func @cycle
// CHECK-COUNT-2: "hipdnn.graph"
func.func @cycle(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = torch_c.from_builtin_tensor %p : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %u = torch.aten.cumsum %t, %int1, %none : !torch.vtensor<[4,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[4,4],f32>
  %q = torch_c.to_builtin_tensor %u : !torch.vtensor<[4,4],f32> -> tensor<4x4xf32>
  %s = "hipdnn.pointwise"(%p, %q) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----

// A kernel takes so many tensors and no more; what the graph makes itself is none of them.

// REMARK: 'hipdnn.pointwise' starts a graph: the graph would read more than 24 tensors
// CHECK-LABEL: func.func @many_operands
// CHECK-COUNT-2: "hipdnn.graph"
func.func @many_operands(%x0: tensor<8xf32>, %x1: tensor<8xf32>, %x2: tensor<8xf32>, %x3: tensor<8xf32>, %x4: tensor<8xf32>,
    %x5: tensor<8xf32>, %x6: tensor<8xf32>, %x7: tensor<8xf32>, %x8: tensor<8xf32>, %x9: tensor<8xf32>,
    %x10: tensor<8xf32>, %x11: tensor<8xf32>, %x12: tensor<8xf32>, %x13: tensor<8xf32>, %x14: tensor<8xf32>,
    %x15: tensor<8xf32>, %x16: tensor<8xf32>, %x17: tensor<8xf32>, %x18: tensor<8xf32>, %x19: tensor<8xf32>,
    %x20: tensor<8xf32>, %x21: tensor<8xf32>, %x22: tensor<8xf32>, %x23: tensor<8xf32>, %x24: tensor<8xf32>) -> tensor<8xf32> {
  %s1 = "hipdnn.pointwise"(%x0, %x1) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s2 = "hipdnn.pointwise"(%s1, %x2) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s3 = "hipdnn.pointwise"(%s2, %x3) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s4 = "hipdnn.pointwise"(%s3, %x4) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s5 = "hipdnn.pointwise"(%s4, %x5) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s6 = "hipdnn.pointwise"(%s5, %x6) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s7 = "hipdnn.pointwise"(%s6, %x7) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s8 = "hipdnn.pointwise"(%s7, %x8) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s9 = "hipdnn.pointwise"(%s8, %x9) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s10 = "hipdnn.pointwise"(%s9, %x10) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s11 = "hipdnn.pointwise"(%s10, %x11) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s12 = "hipdnn.pointwise"(%s11, %x12) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s13 = "hipdnn.pointwise"(%s12, %x13) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s14 = "hipdnn.pointwise"(%s13, %x14) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s15 = "hipdnn.pointwise"(%s14, %x15) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s16 = "hipdnn.pointwise"(%s15, %x16) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s17 = "hipdnn.pointwise"(%s16, %x17) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s18 = "hipdnn.pointwise"(%s17, %x18) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s19 = "hipdnn.pointwise"(%s18, %x19) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s20 = "hipdnn.pointwise"(%s19, %x20) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s21 = "hipdnn.pointwise"(%s20, %x21) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s22 = "hipdnn.pointwise"(%s21, %x22) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s23 = "hipdnn.pointwise"(%s22, %x23) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %s24 = "hipdnn.pointwise"(%s23, %x24) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %s24 : tensor<8xf32>
}

// -----

// Nor do two chains become one that together read more.

// CHECK-LABEL: func.func @many_operands_of_two
// CHECK:         name = "add_add_add_add_0"
// CHECK:         name = "add_add_add_add_1"
func.func @many_operands_of_two(%x0: tensor<8xf32>, %x1: tensor<8xf32>, %x2: tensor<8xf32>, %x3: tensor<8xf32>, %x4: tensor<8xf32>,
    %x5: tensor<8xf32>, %x6: tensor<8xf32>, %x7: tensor<8xf32>, %x8: tensor<8xf32>, %x9: tensor<8xf32>,
    %x10: tensor<8xf32>, %x11: tensor<8xf32>, %x12: tensor<8xf32>, %x13: tensor<8xf32>, %x14: tensor<8xf32>,
    %x15: tensor<8xf32>, %x16: tensor<8xf32>, %x17: tensor<8xf32>, %x18: tensor<8xf32>, %x19: tensor<8xf32>,
    %x20: tensor<8xf32>, %x21: tensor<8xf32>, %x22: tensor<8xf32>, %x23: tensor<8xf32>, %x24: tensor<8xf32>,
    %x25: tensor<8xf32>) -> tensor<8xf32> {
  %a1 = "hipdnn.pointwise"(%x0, %x1) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a2 = "hipdnn.pointwise"(%a1, %x2) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a3 = "hipdnn.pointwise"(%a2, %x3) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a4 = "hipdnn.pointwise"(%a3, %x4) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a5 = "hipdnn.pointwise"(%a4, %x5) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a6 = "hipdnn.pointwise"(%a5, %x6) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a7 = "hipdnn.pointwise"(%a6, %x7) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a8 = "hipdnn.pointwise"(%a7, %x8) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a9 = "hipdnn.pointwise"(%a8, %x9) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a10 = "hipdnn.pointwise"(%a9, %x10) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a11 = "hipdnn.pointwise"(%a10, %x11) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %a12 = "hipdnn.pointwise"(%a11, %x12) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b1 = "hipdnn.pointwise"(%x13, %x14) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b2 = "hipdnn.pointwise"(%b1, %x15) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b3 = "hipdnn.pointwise"(%b2, %x16) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b4 = "hipdnn.pointwise"(%b3, %x17) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b5 = "hipdnn.pointwise"(%b4, %x18) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b6 = "hipdnn.pointwise"(%b5, %x19) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b7 = "hipdnn.pointwise"(%b6, %x20) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b8 = "hipdnn.pointwise"(%b7, %x21) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b9 = "hipdnn.pointwise"(%b8, %x22) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b10 = "hipdnn.pointwise"(%b9, %x23) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b11 = "hipdnn.pointwise"(%b10, %x24) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b12 = "hipdnn.pointwise"(%b11, %x25) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %sum = "hipdnn.pointwise"(%a12, %b12) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %sum : tensor<8xf32>
}

// -----

// Reductions over other dimensions are graphs of their own.

// CHECK-LABEL: func.func @other_dimensions
// CHECK:         name = "exp_reduction_0"
// CHECK:         name = "reduction_1"
func.func @other_dimensions(%x: tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<1x8xf32>) {
  %e = "hipdnn.pointwise"(%x) {mode = "exp"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = "hipdnn.reduction"(%e) {mode = "ADD"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %c = "hipdnn.reduction"(%e) {mode = "ADD"} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  return %r, %c : tensor<4x1xf32>, tensor<1x8xf32>
}

// -----

// Ops go on with the elements of a concatenation in its kernel.

// REMARK: 'hipdnn.pointwise' stays: it shares the kernel of a torch op
// CHECK-LABEL: func.func @rotated
// CHECK-NOT:     "hipdnn.graph"
// CHECK:         return
func.func @rotated(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = torch_c.from_builtin_tensor %a : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
  %1 = torch_c.from_builtin_tensor %b : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
  %int1 = torch.constant.int 1
  %list = torch.prim.ListConstruct %0, %1 : (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) -> !torch.list<vtensor>
  %2 = torch.aten.cat %list, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[4,8],f32>
  %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[4,8],f32> -> tensor<4x8xf32>
  %4 = "hipdnn.pointwise"(%3, %c) {mode = "mul"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// So they do with what a torch op rounds, in another order.

// REMARK: 'hipdnn.pointwise' stays: it shares the kernel of a torch op
// CHECK-LABEL: func.func @rounded
// CHECK-NOT:     "hipdnn.graph"
// CHECK:         return
func.func @rounded(%a: tensor<4x8xf32>, %c: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = torch_c.from_builtin_tensor %a : tensor<4x8xf32> -> !torch.vtensor<[4,8],f32>
  %1 = torch.aten.round %0 : !torch.vtensor<[4,8],f32> -> !torch.vtensor<[4,8],f32>
  %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[4,8],f32> -> tensor<4x8xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %4 = "hipdnn.pointwise"(%3, %c) {mode = "mul"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// -----

// So do ops that a torch op reads, if an op that goes on with its result reads them, too.

// REMARK: 'hipdnn.pointwise' stays: it shares the kernel of a torch op
// REMARK: 'hipdnn.pointwise' stays: it shares the kernel of a torch op
// CHECK-LABEL: func.func @rounded_straight_through
// CHECK-NOT:     "hipdnn.graph"
// CHECK:         return
func.func @rounded_straight_through(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %x = "hipdnn.pointwise"(%a) {mode = "tanh_fwd"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = torch_c.from_builtin_tensor %x : tensor<4x8xf32> -> !torch.vtensor<[4,8],f32>
  %1 = torch.aten.round %0 : !torch.vtensor<[4,8],f32> -> !torch.vtensor<[4,8],f32>
  %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[4,8],f32> -> tensor<4x8xf32>
  %3 = "hipdnn.pointwise"(%2, %x) {mode = "sub"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// The other operand is a product of the concatenation, which has to end before.

// CHECK-LABEL: func.func @product_between
// CHECK-COUNT-2: "hipdnn.graph"
func.func @product_between(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = torch_c.from_builtin_tensor %a : tensor<8x4xf32> -> !torch.vtensor<[8,4],f32>
  %1 = torch_c.from_builtin_tensor %b : tensor<8x4xf32> -> !torch.vtensor<[8,4],f32>
  %int1 = torch.constant.int 1
  %list = torch.prim.ListConstruct %0, %1 : (!torch.vtensor<[8,4],f32>, !torch.vtensor<[8,4],f32>) -> !torch.list<vtensor>
  %2 = torch.aten.cat %list, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[8,8],f32>
  %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[8,8],f32> -> tensor<8x8xf32>
  %4 = "hipdnn.matmul"(%3, %c) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = "hipdnn.reduction"(%4) {mode = "ADD"} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %6 = "hipdnn.pointwise"(%3, %5) {mode = "mul"} : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  return %6 : tensor<8x8xf32>
}

// -----

// With a contraction, a kernel reads and writes at most 16 tensors: these are 17.

// CHECK-LABEL: func.func @long_epilogue
// CHECK-COUNT-2: "hipdnn.graph"
func.func @long_epilogue(%h: tensor<16x64xf16>, %x0: tensor<16x64xf16>, %x1: tensor<16x64xf16>, %x2: tensor<16x64xf16>, %x3: tensor<16x64xf16>, %x4: tensor<16x64xf16>, %x5: tensor<16x64xf16>, %x6: tensor<16x64xf16>, %x7: tensor<16x64xf16>, %x8: tensor<16x64xf16>, %x9: tensor<16x64xf16>, %x10: tensor<16x64xf16>, %x11: tensor<16x64xf16>, %x12: tensor<16x64xf16>, %x13: tensor<16x64xf16>, %w: tensor<64x64xf16>) -> tensor<16x64xf16> {
  %p = "hipdnn.matmul"(%h, %w) : (tensor<16x64xf16>, tensor<64x64xf16>) -> tensor<16x64xf16>
  %s0 = "hipdnn.pointwise"(%p, %x0) {mode = "add"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s1 = "hipdnn.pointwise"(%s0, %x1) {mode = "mul"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s2 = "hipdnn.pointwise"(%s1, %x2) {mode = "add"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s3 = "hipdnn.pointwise"(%s2, %x3) {mode = "mul"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s4 = "hipdnn.pointwise"(%s3, %x4) {mode = "add"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s5 = "hipdnn.pointwise"(%s4, %x5) {mode = "mul"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s6 = "hipdnn.pointwise"(%s5, %x6) {mode = "add"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s7 = "hipdnn.pointwise"(%s6, %x7) {mode = "mul"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s8 = "hipdnn.pointwise"(%s7, %x8) {mode = "add"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s9 = "hipdnn.pointwise"(%s8, %x9) {mode = "mul"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s10 = "hipdnn.pointwise"(%s9, %x10) {mode = "add"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s11 = "hipdnn.pointwise"(%s10, %x11) {mode = "mul"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s12 = "hipdnn.pointwise"(%s11, %x12) {mode = "add"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  %s13 = "hipdnn.pointwise"(%s12, %x13) {mode = "mul"} : (tensor<16x64xf16>, tensor<16x64xf16>) -> tensor<16x64xf16>
  return %s13 : tensor<16x64xf16>
}
