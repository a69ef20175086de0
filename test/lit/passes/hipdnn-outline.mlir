// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline | FileCheck %s
// One anchor with the elementwise ops that can share its kernel becomes a graph.

// Values that stay inside are f32; a value that is also read outside becomes a second result.

// CHECK-LABEL: func.func @epilogue
// CHECK:         %[[G:.*]]:2 = "hipdnn.graph"(%{{.*}}, %{{.*}}) ({
// CHECK:         ^bb0(%[[A:.*]]: tensor<8x4xf16>, %[[B:.*]]: tensor<4x6xf16>):
// CHECK:           %[[C:.*]] = "hipdnn.matmul"(%[[A]], %[[B]]) {{.*}} -> tensor<8x6xf32>
// CHECK:           %[[R:.*]] = "hipdnn.pointwise"(%[[C]]) {mode = "relu_fwd"} : (tensor<8x6xf32>) -> tensor<8x6xf16>
// CHECK:           %[[E:.*]] = "hipdnn.pointwise"(%[[R]]) {mode = "exp"} : (tensor<8x6xf16>) -> tensor<8x6xf16>
// CHECK:           "hipdnn.yield"(%[[R]], %[[E]])
// CHECK:         engine = "iree", name = "matmul_relu_fwd_exp_0"
// CHECK:         return %[[G]]#0, %[[G]]#1
func.func @epilogue(%a: tensor<8x4xf16>, %b: tensor<4x6xf16>) -> (tensor<8x6xf16>, tensor<8x6xf16>) {
  %c = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
  %r = "hipdnn.pointwise"(%c) {mode = "relu_fwd"} : (tensor<8x6xf16>) -> tensor<8x6xf16>
  %e = "hipdnn.pointwise"(%r) {mode = "exp"} : (tensor<8x6xf16>) -> tensor<8x6xf16>
  return %r, %e : tensor<8x6xf16>, tensor<8x6xf16>
}

// -----

// Softmax's two reductions share one graph with what is between them.

// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-1: "hipdnn.graph"
// CHECK-NOT:     "hipdnn.graph"
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = "hipdnn.reduction"(%x) {mode = "MAX"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %s = "hipdnn.pointwise"(%x, %m) {mode = "sub"} : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %e = "hipdnn.pointwise"(%s) {mode = "exp"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = "hipdnn.reduction"(%e) {mode = "ADD"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %y = "hipdnn.pointwise"(%e, %z) {mode = "div"} : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A sum of two products joins the later one; the program stays acyclic where the later product
// reads the earlier.

// CHECK-LABEL: func.func @diamond
// CHECK:         %[[P:.*]] = "hipdnn.graph"
// CHECK:           "hipdnn.matmul"
// CHECK:         name = "matmul_0"
// CHECK:         "hipdnn.graph"(%[[P]], %{{.*}})
// CHECK:           "hipdnn.matmul"
// CHECK:           "hipdnn.pointwise"
// CHECK:         name = "matmul_add_1"
func.func @diamond(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = "hipdnn.matmul"(%p, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = "hipdnn.pointwise"(%p, %q) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----

// The first sum reads the first product, and another op. It joins neither of them, but the second
// sum, whose graph computes the second product: so nothing but the products is stored.

// CHECK-LABEL: func.func @crossing
// CHECK:         %[[P:.*]] = "hipdnn.graph"
// CHECK:         name = "matmul_0"
// CHECK:         "hipdnn.graph"
// CHECK:         name = "matmul_exp_add_add_1"
func.func @crossing(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = "hipdnn.matmul"(%p, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "hipdnn.pointwise"(%a) {mode = "exp"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %x = "hipdnn.pointwise"(%p, %r) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = "hipdnn.pointwise"(%x, %q) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Windows become strides; a window on an argument keeps its offset, an aligned one on a result
// does not.

// CHECK-LABEL: func.func @windows
// CHECK:         "hipdnn.graph"(%{{.*}}, %{{.*}}) ({
// CHECK:         }) {arg_offsets = array<i64: 2, 0>, arg_strides = [array<i64: 1, 8>, unit]
// CHECK:         "hipdnn.graph"(%{{.*}}) ({
// CHECK:         }) {arg_strides = [array<i64: 24, 1>]
func.func @windows(%a: tensor<4x8xf32>, %b: tensor<4x24xf32>) -> tensor<3x2xf32> {
  %v = "hipdnn.view"(%a) {offset = 2 : i64, strides = array<i64: 1, 8>} : (tensor<4x8xf32>) -> tensor<3x4xf32>
  %c = "hipdnn.matmul"(%v, %b) : (tensor<3x4xf32>, tensor<4x24xf32>) -> tensor<3x24xf32>
  %w = "hipdnn.view"(%c) {offset = 16 : i64, strides = array<i64: 24, 1>} : (tensor<3x24xf32>) -> tensor<3x2xf32>
  %r = "hipdnn.pointwise"(%w) {mode = "neg"} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// -----

// A scalar is copied into the graph; a constant tensor is an operand of it.

// CHECK-LABEL: func.func @constants
// CHECK:         %[[K:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK:         "hipdnn.graph"(%{{.*}}, %[[K]])
// CHECK:           %[[S:.*]] = arith.constant dense<5.000000e-01> : tensor<1xf32>
// CHECK:           "hipdnn.pointwise"(%{{.*}}, %[[S]])
func.func @constants(%x: tensor<2xf32>) -> tensor<2xf32> {
  %k = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %half = arith.constant dense<0.5> : tensor<1xf32>
  %p = "hipdnn.pointwise"(%x, %k) {mode = "mul"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %r = "hipdnn.pointwise"(%p, %half) {mode = "mul"} : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// What feeds a reduction stays with it where its operand is stored anyway.

// CHECK-LABEL: func.func @residual_norm
// CHECK:         name = "matmul_add_0"
// CHECK:           "hipdnn.pointwise"{{.*}}mode = "mul"
// CHECK:           "hipdnn.reduction"
// CHECK:         name = "mul_reduction_rsqrt_mul_1"
func.func @residual_norm(%a: tensor<4x4xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %x = "hipdnn.pointwise"(%p, %c) {mode = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = "hipdnn.pointwise"(%x, %x) {mode = "mul"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = "hipdnn.reduction"(%q) {mode = "AVG"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %i = "hipdnn.pointwise"(%m) {mode = "rsqrt"} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %y = "hipdnn.pointwise"(%x, %i) {mode = "mul"} : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %x, %y : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A reduction reads what leads to it from the tensor that is stored anyway, however long the chain.

// CHECK-LABEL: func.func @any_infinite
// CHECK:         name = "matmul_add_0"
// CHECK:         name = "abs_cmp_eq_identity_reduction_1"
func.func @any_infinite(%a: tensor<4x4xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<1x1xf32>) {
  %infinity = arith.constant dense<0x7F800000> : tensor<1x1xf32>
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %x = "hipdnn.pointwise"(%p, %c) {mode = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = "hipdnn.pointwise"(%x) {mode = "abs"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = "hipdnn.pointwise"(%m, %infinity) {mode = "cmp_eq"} : (tensor<4x8xf32>, tensor<1x1xf32>) -> tensor<4x8xi1>
  %n = "hipdnn.pointwise"(%e) {mode = "identity"} : (tensor<4x8xi1>) -> tensor<4x8xf32>
  %s = "hipdnn.reduction"(%n) {mode = "ADD"} : (tensor<4x8xf32>) -> tensor<1x1xf32>
  return %x, %s : tensor<4x8xf32>, tensor<1x1xf32>
}

// -----

// What feeds a reduction stays with a producer that need not store it otherwise.

// CHECK-LABEL: func.func @single_use
// CHECK:         name = "matmul_exp_0"
// CHECK:         name = "reduction_1"
func.func @single_use(%a: tensor<4x4xf32>, %b: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = "hipdnn.pointwise"(%p) {mode = "exp"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = "hipdnn.reduction"(%e) {mode = "ADD"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  return %m : tensor<4x1xf32>
}

// -----

// A widening cast stays with the reduction that reads it: the narrow tensor is shorter.

// CHECK-LABEL: func.func @widened
// CHECK:         name = "matmul_neg_exp_0"
// CHECK:         name = "identity_mul_reduction_sub_1"
func.func @widened(%a: tensor<512x4xf16>, %b: tensor<4x4096xf16>) -> (tensor<512x4096xf16>, tensor<512x4096xf32>) {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<512x4xf16>, tensor<4x4096xf16>) -> tensor<512x4096xf16>
  %n = "hipdnn.pointwise"(%p) {mode = "neg"} : (tensor<512x4096xf16>) -> tensor<512x4096xf16>
  %w = "hipdnn.pointwise"(%n) {mode = "identity"} : (tensor<512x4096xf16>) -> tensor<512x4096xf32>
  %q = "hipdnn.pointwise"(%w, %w) {mode = "mul"} : (tensor<512x4096xf32>, tensor<512x4096xf32>) -> tensor<512x4096xf32>
  %m = "hipdnn.reduction"(%q) {mode = "AVG"} : (tensor<512x4096xf32>) -> tensor<512x1xf32>
  %i = "hipdnn.pointwise"(%n) {mode = "exp"} : (tensor<512x4096xf16>) -> tensor<512x4096xf16>
  %y = "hipdnn.pointwise"(%w, %m) {mode = "sub"} : (tensor<512x4096xf32>, tensor<512x1xf32>) -> tensor<512x4096xf32>
  return %i, %y : tensor<512x4096xf16>, tensor<512x4096xf32>
}

// -----

// Of two producers the one that is made later takes the sum.

// CHECK-LABEL: func.func @later
// CHECK:         name = "matmul_0"
// CHECK:         name = "matmul_neg_1"
// CHECK:         name = "matmul_add_2"
func.func @later(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = "hipdnn.matmul"(%b, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = "hipdnn.pointwise"(%q) {mode = "neg"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "hipdnn.matmul"(%n, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = "hipdnn.pointwise"(%p, %r) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----

// A sum that could join the graph of its first operand does not where another graph reads that one:
// the op after it reads both.

// CHECK-LABEL: func.func @no_cycle
// CHECK-SAME:    (%[[A:.*]]: tensor<4x4xf32>, %[[B:.*]]: tensor<4x4xf32>)
// CHECK:         %[[P:.*]] = "hipdnn.graph"(%[[A]], %[[B]])
// CHECK:         name = "matmul_0"
// CHECK:         %[[Y:.*]] = "hipdnn.graph"(%[[P]], %[[B]], %[[A]])
// CHECK:         name = "matmul_exp_add_add_1"
// CHECK:         return %[[Y]]
func.func @no_cycle(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = "hipdnn.matmul"(%p, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "hipdnn.pointwise"(%a) {mode = "exp"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %x = "hipdnn.pointwise"(%p, %r) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = "hipdnn.pointwise"(%q, %x) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// However long a chain, it reads one tensor.

// CHECK-LABEL: func.func @long_chain
// CHECK-COUNT-1: "hipdnn.graph"
// CHECK-NOT:     "hipdnn.graph"
func.func @long_chain(%x0: tensor<8xf32>) -> tensor<8xf32> {
  %x1 = "hipdnn.pointwise"(%x0) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x2 = "hipdnn.pointwise"(%x1) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x3 = "hipdnn.pointwise"(%x2) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x4 = "hipdnn.pointwise"(%x3) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x5 = "hipdnn.pointwise"(%x4) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x6 = "hipdnn.pointwise"(%x5) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x7 = "hipdnn.pointwise"(%x6) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x8 = "hipdnn.pointwise"(%x7) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x9 = "hipdnn.pointwise"(%x8) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x10 = "hipdnn.pointwise"(%x9) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x11 = "hipdnn.pointwise"(%x10) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x12 = "hipdnn.pointwise"(%x11) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x13 = "hipdnn.pointwise"(%x12) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x14 = "hipdnn.pointwise"(%x13) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x15 = "hipdnn.pointwise"(%x14) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x16 = "hipdnn.pointwise"(%x15) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x17 = "hipdnn.pointwise"(%x16) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x18 = "hipdnn.pointwise"(%x17) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x19 = "hipdnn.pointwise"(%x18) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x20 = "hipdnn.pointwise"(%x19) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x21 = "hipdnn.pointwise"(%x20) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x22 = "hipdnn.pointwise"(%x21) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x23 = "hipdnn.pointwise"(%x22) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x24 = "hipdnn.pointwise"(%x23) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x25 = "hipdnn.pointwise"(%x24) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  %x26 = "hipdnn.pointwise"(%x25) {mode = "exp"} : (tensor<8xf32>) -> tensor<8xf32>
  return %x26 : tensor<8xf32>
}

// -----

// Two chains that read as many tensors as a kernel takes become one; the sums are not among them.

// CHECK-LABEL: func.func @most_operands
// CHECK-COUNT-1: "hipdnn.graph"
// CHECK-NOT:     "hipdnn.graph"
func.func @most_operands(%x0: tensor<8xf32>, %x1: tensor<8xf32>, %x2: tensor<8xf32>, %x3: tensor<8xf32>, %x4: tensor<8xf32>,
    %x5: tensor<8xf32>, %x6: tensor<8xf32>, %x7: tensor<8xf32>, %x8: tensor<8xf32>, %x9: tensor<8xf32>,
    %x10: tensor<8xf32>, %x11: tensor<8xf32>, %x12: tensor<8xf32>, %x13: tensor<8xf32>, %x14: tensor<8xf32>,
    %x15: tensor<8xf32>, %x16: tensor<8xf32>, %x17: tensor<8xf32>, %x18: tensor<8xf32>, %x19: tensor<8xf32>,
    %x20: tensor<8xf32>, %x21: tensor<8xf32>, %x22: tensor<8xf32>, %x23: tensor<8xf32>) -> tensor<8xf32> {
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
  %b1 = "hipdnn.pointwise"(%x12, %x13) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b2 = "hipdnn.pointwise"(%b1, %x14) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b3 = "hipdnn.pointwise"(%b2, %x15) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b4 = "hipdnn.pointwise"(%b3, %x16) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b5 = "hipdnn.pointwise"(%b4, %x17) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b6 = "hipdnn.pointwise"(%b5, %x18) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b7 = "hipdnn.pointwise"(%b6, %x19) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b8 = "hipdnn.pointwise"(%b7, %x20) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b9 = "hipdnn.pointwise"(%b8, %x21) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b10 = "hipdnn.pointwise"(%b9, %x22) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b11 = "hipdnn.pointwise"(%b10, %x23) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %sum = "hipdnn.pointwise"(%a11, %b11) {mode = "add"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %sum : tensor<8xf32>
}
