// RUN: hipgraft-opt %s --split-input-file --hipdnn-recognize | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-recognize --hipdnn-recognize | FileCheck %s
// Arithmetic becomes the node that it spells; nothing of the arithmetic is left.

// CHECK-LABEL: func.func @rmsnorm_f16
// CHECK-SAME:    (%[[X:.*]]: tensor<2x64xf16>, %[[W:.*]]: tensor<64xf16>)
// CHECK-DAG:     %[[S:.*]] = "hipdnn.view"(%[[W]]) {{.*}} -> tensor<1x64xf16>
// CHECK-DAG:     %[[EPS:.*]] = arith.constant dense<9.99999997E-7> : tensor<1xf32>
// CHECK:         %[[Y:.*]] = "hipdnn.rmsnorm"(%[[X]], %[[S]], %[[EPS]])
// CHECK-SAME:      -> tensor<2x64xf16>
// CHECK-NEXT:    return %[[Y]]
func.func @rmsnorm_f16(%x: tensor<2x64xf16>, %w: tensor<64xf16>) -> tensor<2x64xf16> {
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<2x64xf16>) -> tensor<2x64xf32>
  %1 = "hipdnn.pointwise"(%0, %0) {mode = "mul"} : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %2 = "hipdnn.reduction"(%1) {mode = "AVG"} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  %eps = arith.constant dense<1.0e-6> : tensor<1x1xf32>
  %3 = "hipdnn.pointwise"(%2, %eps) {mode = "add"} : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %4 = "hipdnn.pointwise"(%3) {mode = "sqrt"} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %5 = "hipdnn.pointwise"(%4) {mode = "reciprocal"} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = "hipdnn.pointwise"(%0, %5) {mode = "mul"} : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %7 = "hipdnn.pointwise"(%6) {mode = "identity"} : (tensor<2x64xf32>) -> tensor<2x64xf16>
  %8 = "hipdnn.view"(%w) {offset = 0 : i64, strides = array<i64: 0, 1>} : (tensor<64xf16>) -> tensor<1x64xf16>
  %9 = "hipdnn.pointwise"(%8, %7) {mode = "mul"} : (tensor<1x64xf16>, tensor<2x64xf16>) -> tensor<2x64xf16>
  return %9 : tensor<2x64xf16>
}

// -----

// Without a scale the node gets one of ones, which tells it the dimensions.

// CHECK-LABEL: func.func @rmsnorm_of_channels
// CHECK:         %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<1x8x1xf32>
// CHECK:         "hipdnn.rmsnorm"(%{{.*}}, %[[ONES]], %{{.*}})
// CHECK-NOT:     hipdnn.reduction
func.func @rmsnorm_of_channels(%x: tensor<2x8x4xf32>) -> tensor<2x8x4xf32> {
  %1 = "hipdnn.pointwise"(%x, %x) {mode = "mul"} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %2 = "hipdnn.reduction"(%1) {mode = "AVG"} : (tensor<2x8x4xf32>) -> tensor<2x1x4xf32>
  %eps = arith.constant dense<1.0e-6> : tensor<1xf32>
  %3 = "hipdnn.pointwise"(%eps, %2) {mode = "add"} : (tensor<1xf32>, tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  %4 = "hipdnn.pointwise"(%3) {mode = "rsqrt"} : (tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
  %6 = "hipdnn.pointwise"(%4, %x) {mode = "mul"} : (tensor<2x1x4xf32>, tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return %6 : tensor<2x8x4xf32>
}

// -----

// CHECK-LABEL: func.func @layernorm
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x8xf32>, %[[W:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK-DAG:     %[[S:.*]] = "hipdnn.view"(%[[W]]) {{.*}} -> tensor<1x1x8xf32>
// CHECK-DAG:     %[[T:.*]] = "hipdnn.view"(%[[B]]) {{.*}} -> tensor<1x1x8xf32>
// CHECK:         %[[Y:.*]] = "hipdnn.layernorm"(%[[X]], %[[S]], %[[T]], %{{.*}}) {{.*}}normalized_dim_count = 1
// CHECK-NEXT:    return %[[Y]]
func.func @layernorm(%x: tensor<2x3x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %0 = "hipdnn.reduction"(%x) {mode = "AVG"} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %1 = "hipdnn.pointwise"(%x, %0) {mode = "sub"} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %2 = "hipdnn.pointwise"(%1, %1) {mode = "mul"} : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "AVG"} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<1xf32>
  %4 = "hipdnn.pointwise"(%3, %eps) {mode = "add"} : (tensor<2x3x1xf32>, tensor<1xf32>) -> tensor<2x3x1xf32>
  %5 = "hipdnn.pointwise"(%4) {mode = "sqrt"} : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %6 = "hipdnn.pointwise"(%1, %5) {mode = "div"} : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %7 = "hipdnn.pointwise"(%6, %w) {mode = "mul"} : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %8 = "hipdnn.pointwise"(%7, %b) {mode = "add"} : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %8 : tensor<2x3x8xf32>
}

// -----

// Scales of queries and keys are one scale, keys are read before their transposition, and heads
// that were copied for each group of queries are read once.

// CHECK-LABEL: func.func @grouped_attention
// CHECK-SAME:    (%[[Q:.*]]: tensor<1x8x12x8xf16>, %[[K:.*]]: tensor<1x2x12x8xf16>, %[[V:.*]]: tensor<1x2x12x8xf16>, %[[M:.*]]: tensor<1x1x12x12xf16>)
// CHECK-NEXT:    %[[O:.*]] = "hipdnn.sdpa"(%[[Q]], %[[K]], %[[V]], %[[M]])
// CHECK-SAME:      attn_scale_value = 2.500000e-01
// CHECK-NEXT:    return %[[O]]
func.func @grouped_attention(%q: tensor<1x8x12x8xf16>, %k: tensor<1x2x12x8xf16>, %v: tensor<1x2x12x8xf16>, %m: tensor<1x1x12x12xf16>) -> tensor<1x8x12x8xf16> {
  %half = arith.constant dense<0.5> : tensor<1x1x1x1xf16>
  %k0 = "hipdnn.view"(%k) {offset = 0 : i64, strides = array<i64: 0, 96, 0, 8, 1>} : (tensor<1x2x12x8xf16>) -> tensor<1x2x4x12x8xf16>
  %k1 = "hipdnn.pointwise"(%k0) {mode = "identity"} : (tensor<1x2x4x12x8xf16>) -> tensor<1x2x4x12x8xf16>
  %k2 = "hipdnn.view"(%k1) {offset = 0 : i64, strides = array<i64: 0, 96, 1, 8>} : (tensor<1x2x4x12x8xf16>) -> tensor<1x8x8x12xf16>
  %k3 = "hipdnn.pointwise"(%k2, %half) {mode = "mul"} : (tensor<1x8x8x12xf16>, tensor<1x1x1x1xf16>) -> tensor<1x8x8x12xf16>
  %v0 = "hipdnn.view"(%v) {offset = 0 : i64, strides = array<i64: 0, 96, 0, 8, 1>} : (tensor<1x2x12x8xf16>) -> tensor<1x2x4x12x8xf16>
  %v1 = "hipdnn.pointwise"(%v0) {mode = "identity"} : (tensor<1x2x4x12x8xf16>) -> tensor<1x2x4x12x8xf16>
  %v2 = "hipdnn.view"(%v1) {offset = 0 : i64, strides = array<i64: 0, 96, 8, 1>} : (tensor<1x2x4x12x8xf16>) -> tensor<1x8x12x8xf16>
  %q0 = "hipdnn.pointwise"(%q, %half) {mode = "mul"} : (tensor<1x8x12x8xf16>, tensor<1x1x1x1xf16>) -> tensor<1x8x12x8xf16>
  %s = "hipdnn.matmul"(%q0, %k3) : (tensor<1x8x12x8xf16>, tensor<1x8x8x12xf16>) -> tensor<1x8x12x12xf16>
  %z = "hipdnn.pointwise"(%s, %m) {mode = "add"} : (tensor<1x8x12x12xf16>, tensor<1x1x12x12xf16>) -> tensor<1x8x12x12xf16>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<1x8x12x12xf16>) -> tensor<1x8x12x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"} : (tensor<1x8x12x12xf16>, tensor<1x8x12x1xf32>) -> tensor<1x8x12x12xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<1x8x12x12xf32>) -> tensor<1x8x12x12xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<1x8x12x12xf32>) -> tensor<1x8x12x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<1x8x12x12xf32>, tensor<1x8x12x1xf32>) -> tensor<1x8x12x12xf16>
  %5 = "hipdnn.matmul"(%4, %v2) : (tensor<1x8x12x12xf16>, tensor<1x8x12x8xf16>) -> tensor<1x8x12x8xf16>
  return %5 : tensor<1x8x12x8xf16>
}

// -----

// Products of rank 3 are attention of one batch. Hidden scores become a summand, and the guard
// against rows without a visible key goes. A window on the result stays one.

// CHECK-LABEL: func.func @guarded_attention
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK-DAG:     %[[LOW:.*]] = arith.constant dense<0xFF800000>
// CHECK:         %[[M:.*]] = "hipdnn.pointwise"(%{{.*}}, %[[LOW]], %[[ZERO]]) {mode = "binary_select"} : (tensor<1x16x16xi1>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> tensor<1x16x16xf32>
// CHECK:         %[[MH:.*]] = "hipdnn.view"(%[[M]]) {{.*}} -> tensor<1x1x16x16xf32>
// CHECK:         %[[O:.*]] = "hipdnn.sdpa"(%{{.*}}, %{{.*}}, %{{.*}}, %[[MH]]) {attn_scale_value = 5.000000e-01
// CHECK-SAME:      -> tensor<1x4x16x8xf32>
// CHECK:         "hipdnn.view"(%[[O]]) {offset = 0 : i64, strides = array<i64: 8, 128, 1>} {{.*}} -> tensor<16x4x8xf32>
// CHECK-NOT:     cmp_neq
func.func @guarded_attention(%q: tensor<4x16x8xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x16x8xf32>, %m: tensor<1x16x16xi1>) -> tensor<16x4x8xf32> {
  %two = arith.constant dense<2.0> : tensor<1x1x1xf32>
  %low = arith.constant dense<0xFF800000> : tensor<1x1x1xf32>
  %zero = arith.constant dense<0.0> : tensor<1x1x1xf32>
  %s = "hipdnn.matmul"(%q, %k) : (tensor<4x16x8xf32>, tensor<4x8x16xf32>) -> tensor<4x16x16xf32>
  %t = "hipdnn.pointwise"(%s, %two) {mode = "div"} : (tensor<4x16x16xf32>, tensor<1x1x1xf32>) -> tensor<4x16x16xf32>
  %z = "hipdnn.pointwise"(%m, %low, %t) {mode = "binary_select"} : (tensor<1x16x16xi1>, tensor<1x1x1xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"} : (tensor<4x16x16xf32>, tensor<4x16x1xf32>) -> tensor<4x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<4x16x16xf32>, tensor<4x16x1xf32>) -> tensor<4x16x16xf32>
  %5 = "hipdnn.pointwise"(%4, %4) {mode = "cmp_neq"} : (tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xi1>
  %6 = "hipdnn.pointwise"(%5, %zero, %4) {mode = "binary_select"} : (tensor<4x16x16xi1>, tensor<1x1x1xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %7 = "hipdnn.matmul"(%6, %v) : (tensor<4x16x16xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  %8 = "hipdnn.view"(%7) {offset = 0 : i64, strides = array<i64: 8, 128, 1>} : (tensor<4x16x8xf32>) -> tensor<16x4x8xf32>
  %9 = "hipdnn.pointwise"(%8) {mode = "identity"} : (tensor<16x4x8xf32>) -> tensor<16x4x8xf32>
  return %9 : tensor<16x4x8xf32>
}

// -----

// The guard that PyTorch's decomposed attention has: 0 where all scores are minus infinity.

// CHECK-LABEL: func.func @safe_attention
// CHECK:         "hipdnn.sdpa"
// CHECK-NOT:     cmp_eq
func.func @safe_attention(%q: tensor<4x16x8xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x16x8xf32>) -> tensor<4x16x8xf32> {
  %low = arith.constant dense<0xFF800000> : tensor<1x1x1xf32>
  %zero = arith.constant dense<0.0> : tensor<1x1x1xf32>
  %zeros = arith.constant dense<0.0> : tensor<4x16x16xf32>
  %s = "hipdnn.matmul"(%q, %k) : (tensor<4x16x8xf32>, tensor<4x8x16xf32>) -> tensor<4x16x16xf32>
  %0 = "hipdnn.reduction"(%s) {mode = "MAX"} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %1 = "hipdnn.pointwise"(%s, %0) {mode = "sub"} : (tensor<4x16x16xf32>, tensor<4x16x1xf32>) -> tensor<4x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<4x16x16xf32>, tensor<4x16x1xf32>) -> tensor<4x16x16xf32>
  %5 = "hipdnn.pointwise"(%s, %low) {mode = "cmp_eq"} : (tensor<4x16x16xf32>, tensor<1x1x1xf32>) -> tensor<4x16x16xi1>
  %6 = "hipdnn.pointwise"(%5) {mode = "logical_not"} : (tensor<4x16x16xi1>) -> tensor<4x16x16xi1>
  %7 = "hipdnn.pointwise"(%6) {mode = "identity"} : (tensor<4x16x16xi1>) -> tensor<4x16x16xf32>
  %8 = "hipdnn.reduction"(%7) {mode = "ADD"} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %9 = "hipdnn.pointwise"(%8, %zero) {mode = "cmp_neq"} : (tensor<4x16x1xf32>, tensor<1x1x1xf32>) -> tensor<4x16x1xi1>
  %10 = "hipdnn.pointwise"(%9) {mode = "logical_not"} : (tensor<4x16x1xi1>) -> tensor<4x16x1xi1>
  %11 = "hipdnn.pointwise"(%10, %zeros, %4) {mode = "binary_select"} : (tensor<4x16x1xi1>, tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %12 = "hipdnn.matmul"(%11, %v) : (tensor<4x16x16xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  return %12 : tensor<4x16x8xf32>
}

// -----

// A mask of zeros is dropped.

// CHECK-LABEL: func.func @zero_mask
// CHECK:         "hipdnn.sdpa"(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) {
func.func @zero_mask(%q: tensor<4x16x8xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x16x8xf32>) -> tensor<4x16x8xf32> {
  %zeros = arith.constant dense<0.0> : tensor<1x16x16xf32>
  %s = "hipdnn.matmul"(%q, %k) : (tensor<4x16x8xf32>, tensor<4x8x16xf32>) -> tensor<4x16x16xf32>
  %m = "hipdnn.pointwise"(%s, %zeros) {mode = "add"} : (tensor<4x16x16xf32>, tensor<1x16x16xf32>) -> tensor<4x16x16xf32>
  %0 = "hipdnn.reduction"(%m) {mode = "MAX"} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %1 = "hipdnn.pointwise"(%m, %0) {mode = "sub"} : (tensor<4x16x16xf32>, tensor<4x16x1xf32>) -> tensor<4x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<4x16x16xf32>, tensor<4x16x1xf32>) -> tensor<4x16x16xf32>
  %5 = "hipdnn.matmul"(%4, %v) : (tensor<4x16x16xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  return %5 : tensor<4x16x8xf32>
}

// -----

// The factors of a gelu come in any order.

// CHECK-LABEL: func.func @gelu
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>)
// CHECK-NEXT:    %[[A:.*]] = "hipdnn.pointwise"(%[[X]]) {mode = "gelu_fwd"}
// CHECK-NEXT:    %[[B:.*]] = "hipdnn.pointwise"(%[[Y]]) {mode = "gelu_fwd"}
// CHECK-NEXT:    return %[[A]], %[[B]]
func.func @gelu(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %root = arith.constant dense<1.41421356> : tensor<1xf32>
  %inverse = arith.constant dense<0.707106781> : tensor<1xf32>
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %half = arith.constant dense<0.5> : tensor<1xf32>
  %0 = "hipdnn.pointwise"(%x, %root) {mode = "div"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  %1 = "hipdnn.pointwise"(%0) {mode = "erf"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = "hipdnn.pointwise"(%1, %one) {mode = "add"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  %3 = "hipdnn.pointwise"(%x, %2) {mode = "mul"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = "hipdnn.pointwise"(%3, %half) {mode = "mul"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  %5 = "hipdnn.pointwise"(%y, %half) {mode = "mul"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  %6 = "hipdnn.pointwise"(%y, %inverse) {mode = "mul"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  %7 = "hipdnn.pointwise"(%6) {mode = "erf"} : (tensor<8xf32>) -> tensor<8xf32>
  %8 = "hipdnn.pointwise"(%one, %7) {mode = "add"} : (tensor<1xf32>, tensor<8xf32>) -> tensor<8xf32>
  %9 = "hipdnn.pointwise"(%5, %8) {mode = "mul"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %4, %9 : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @tanh_gelu_and_swish
// CHECK-SAME:    (%[[X:.*]]: tensor<8xf16>)
// CHECK-NEXT:    %[[G:.*]] = "hipdnn.pointwise"(%[[X]]) {mode = "gelu_approx_tanh_fwd"} : (tensor<8xf16>) -> tensor<8xf16>
// CHECK-NEXT:    %[[S:.*]] = "hipdnn.pointwise"(%[[G]]) {mode = "swish_fwd", swish_beta = 1.702
// CHECK-NEXT:    return %[[S]]
func.func @tanh_gelu_and_swish(%x: tensor<8xf16>) -> tensor<8xf16> {
  %slope = arith.constant dense<0.797884583> : tensor<1xf16>
  %cubic = arith.constant dense<0.044715> : tensor<1xf16>
  %one = arith.constant dense<1.0> : tensor<1xf16>
  %half = arith.constant dense<0.5> : tensor<1xf16>
  %beta = arith.constant dense<1.702> : tensor<1xf16>
  %0 = "hipdnn.pointwise"(%x, %x) {mode = "mul"} : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = "hipdnn.pointwise"(%0, %cubic) {mode = "mul"} : (tensor<8xf16>, tensor<1xf16>) -> tensor<8xf16>
  %2 = "hipdnn.pointwise"(%1, %one) {mode = "add"} : (tensor<8xf16>, tensor<1xf16>) -> tensor<8xf16>
  %3 = "hipdnn.pointwise"(%2, %x) {mode = "mul"} : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %4 = "hipdnn.pointwise"(%3, %slope) {mode = "mul"} : (tensor<8xf16>, tensor<1xf16>) -> tensor<8xf16>
  %5 = "hipdnn.pointwise"(%4) {mode = "tanh_fwd"} : (tensor<8xf16>) -> tensor<8xf16>
  %6 = "hipdnn.pointwise"(%5, %one) {mode = "add"} : (tensor<8xf16>, tensor<1xf16>) -> tensor<8xf16>
  %7 = "hipdnn.pointwise"(%x, %6) {mode = "mul"} : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %8 = "hipdnn.pointwise"(%7, %half) {mode = "mul"} : (tensor<8xf16>, tensor<1xf16>) -> tensor<8xf16>
  %9 = "hipdnn.pointwise"(%8, %beta) {mode = "mul"} : (tensor<8xf16>, tensor<1xf16>) -> tensor<8xf16>
  %10 = "hipdnn.pointwise"(%9) {mode = "sigmoid_fwd"} : (tensor<8xf16>) -> tensor<8xf16>
  %11 = "hipdnn.pointwise"(%8, %10) {mode = "mul"} : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %11 : tensor<8xf16>
}

// -----

// PyTorch multiplies all heads of all batches as one batch, behind scales and copies.

// CHECK-LABEL: func.func @merged_batches
// CHECK-SAME:    (%[[Q:.*]]: tensor<10x16xf32>, %[[K:.*]]: tensor<10x16xf32>, %[[V:.*]]: tensor<10x16xf32>, %[[M:.*]]: tensor<2x1x5x5xf32>)
// CHECK-DAG:     %[[QW:.*]] = "hipdnn.view"(%[[Q]]) {offset = 0 : i64, strides = array<i64: 80, 8, 16, 1>} : {{.*}} -> tensor<2x2x5x8xf32>
// CHECK-DAG:     %[[KW:.*]] = "hipdnn.view"(%[[K]]) {offset = 0 : i64, strides = array<i64: 80, 8, 16, 1>} : {{.*}} -> tensor<2x2x5x8xf32>
// CHECK-DAG:     %[[VW:.*]] = "hipdnn.view"(%[[V]]) {offset = 0 : i64, strides = array<i64: 80, 8, 16, 1>} : {{.*}} -> tensor<2x2x5x8xf32>
// CHECK:         "hipdnn.sdpa"(%[[QW]], %[[KW]], %[[VW]], %[[M]]) {attn_scale_value = 2.500000e-01 : f32}
// CHECK-SAME:      -> tensor<2x2x5x8xf32>
func.func @merged_batches(%q: tensor<10x16xf32>, %k: tensor<10x16xf32>, %v: tensor<10x16xf32>, %m: tensor<2x1x5x5xf32>) -> tensor<4x5x8xf32> {
  %half = arith.constant dense<0.5> : tensor<1x1x1x1xf32>
  %0 = "hipdnn.view"(%q) {offset = 0 : i64, strides = array<i64: 80, 8, 16, 1>} : (tensor<10x16xf32>) -> tensor<2x2x5x8xf32>
  %1 = "hipdnn.pointwise"(%0, %half) {mode = "mul"} : (tensor<2x2x5x8xf32>, tensor<1x1x1x1xf32>) -> tensor<2x2x5x8xf32>
  %2 = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 40, 8, 1>} : (tensor<2x2x5x8xf32>) -> tensor<4x5x8xf32>
  %3 = "hipdnn.view"(%k) {offset = 0 : i64, strides = array<i64: 80, 8, 1, 16>} : (tensor<10x16xf32>) -> tensor<2x2x8x5xf32>
  %4 = "hipdnn.pointwise"(%3, %half) {mode = "mul"} : (tensor<2x2x8x5xf32>, tensor<1x1x1x1xf32>) -> tensor<2x2x8x5xf32>
  %5 = "hipdnn.pointwise"(%4) {mode = "identity"} : (tensor<2x2x8x5xf32>) -> tensor<2x2x8x5xf32>
  %6 = "hipdnn.view"(%5) {offset = 0 : i64, strides = array<i64: 40, 5, 1>} : (tensor<2x2x8x5xf32>) -> tensor<4x8x5xf32>
  %7 = "hipdnn.matmul"(%2, %6) : (tensor<4x5x8xf32>, tensor<4x8x5xf32>) -> tensor<4x5x5xf32>
  %8 = "hipdnn.view"(%7) {offset = 0 : i64, strides = array<i64: 50, 25, 5, 1>} : (tensor<4x5x5xf32>) -> tensor<2x2x5x5xf32>
  %9 = "hipdnn.pointwise"(%8, %m) {mode = "add"} : (tensor<2x2x5x5xf32>, tensor<2x1x5x5xf32>) -> tensor<2x2x5x5xf32>
  %10 = "hipdnn.reduction"(%9) {mode = "MAX"} : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x1xf32>
  %11 = "hipdnn.pointwise"(%9, %10) {mode = "sub"} : (tensor<2x2x5x5xf32>, tensor<2x2x5x1xf32>) -> tensor<2x2x5x5xf32>
  %12 = "hipdnn.pointwise"(%11) {mode = "exp"} : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
  %13 = "hipdnn.reduction"(%12) {mode = "ADD"} : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x1xf32>
  %14 = "hipdnn.pointwise"(%12, %13) {mode = "div"} : (tensor<2x2x5x5xf32>, tensor<2x2x5x1xf32>) -> tensor<2x2x5x5xf32>
  %15 = "hipdnn.view"(%14) {offset = 0 : i64, strides = array<i64: 25, 5, 1>} : (tensor<2x2x5x5xf32>) -> tensor<4x5x5xf32>
  %16 = "hipdnn.view"(%v) {offset = 0 : i64, strides = array<i64: 80, 8, 16, 1>} : (tensor<10x16xf32>) -> tensor<2x2x5x8xf32>
  %17 = "hipdnn.pointwise"(%16) {mode = "identity"} : (tensor<2x2x5x8xf32>) -> tensor<2x2x5x8xf32>
  %18 = "hipdnn.view"(%17) {offset = 0 : i64, strides = array<i64: 40, 8, 1>} : (tensor<2x2x5x8xf32>) -> tensor<4x5x8xf32>
  %19 = "hipdnn.matmul"(%15, %18) : (tensor<4x5x5xf32>, tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return %19 : tensor<4x5x8xf32>
}

// -----

// Constants per channel after a convolution move into its filters and a bias: w · 2 / √(3 + 1) and
// -1 · 2 / √(3 + 1) + 5, then · 4.

// CHECK-LABEL: func.func @normalised_convolution
// CHECK:         %[[W:.*]] = arith.constant dense<4.000000e+00> : tensor<2x1x1x1xf32>
// CHECK:         %[[Y:.*]] = "hipdnn.conv_fprop"(%{{.*}}, %[[W]])
// CHECK:         %[[B:.*]] = arith.constant dense<1.600000e+01> : tensor<1x2x1x1xf32>
// CHECK:         %[[Z:.*]] = "hipdnn.pointwise"(%[[Y]], %[[B]]) {mode = "add"}
// CHECK-NEXT:    return %[[Z]]
func.func @normalised_convolution(%x: tensor<1x1x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %mean = arith.constant dense<1.0> : tensor<1x2x1x1xf32>
  %variance = arith.constant dense<3.0> : tensor<1x2x1x1xf32>
  %scale = arith.constant dense<2.0> : tensor<1x2x1x1xf32>
  %bias = arith.constant dense<5.0> : tensor<1x2x1x1xf32>
  %epsilon = arith.constant dense<1.0> : tensor<1xf32>
  %four = arith.constant dense<4.0> : tensor<1xf32>
  %0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32>
  %1 = "hipdnn.batchnorm_inference_variance_ext"(%0, %mean, %variance, %scale, %bias, %epsilon) : (tensor<1x2x8x8xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1xf32>) -> tensor<1x2x8x8xf32>
  %2 = "hipdnn.pointwise"(%1, %four) {mode = "mul"} : (tensor<1x2x8x8xf32>, tensor<1xf32>) -> tensor<1x2x8x8xf32>
  return %2 : tensor<1x2x8x8xf32>
}

// -----

// A bias is not folded further, and filters that are inputs are not scaled.

// CHECK-LABEL: func.func @biased_and_scaled
// CHECK:         hipdnn.conv_fprop
// CHECK:         mode = "add"
// CHECK:         hipdnn.conv_fprop
// CHECK:         mode = "mul"
func.func @biased_and_scaled(%x: tensor<1x1x8x8xf32>, %v: tensor<2x1x1x1xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) {
  %w = arith.constant dense<1.0> : tensor<2x1x1x1xf32>
  %two = arith.constant dense<2.0> : tensor<1xf32>
  %0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32>
  %1 = "hipdnn.pointwise"(%0, %two) {mode = "add"} : (tensor<1x2x8x8xf32>, tensor<1xf32>) -> tensor<1x2x8x8xf32>
  %2 = "hipdnn.conv_fprop"(%x, %v) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32>
  %3 = "hipdnn.pointwise"(%2, %two) {mode = "mul"} : (tensor<1x2x8x8xf32>, tensor<1xf32>) -> tensor<1x2x8x8xf32>
  return %1, %3 : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>
}

// -----

// Queries and keys that are widened for the scores alone are read as they are.

// CHECK-LABEL: func.func @scores_in_f32
// CHECK-SAME:    (%[[Q:.*]]: tensor<1x2x5x8xf16>, %[[K:.*]]: tensor<1x2x5x8xf16>, %[[V:.*]]: tensor<1x2x5x8xf16>)
// CHECK:         "hipdnn.sdpa"(%[[Q]], %[[K]], %[[V]])
// CHECK-SAME:      -> tensor<1x2x5x8xf16>
func.func @scores_in_f32(%q: tensor<1x2x5x8xf16>, %k: tensor<1x2x5x8xf16>, %v: tensor<1x2x5x8xf16>) -> tensor<1x2x5x8xf16> {
  %0 = "hipdnn.pointwise"(%q) {mode = "identity"} : (tensor<1x2x5x8xf16>) -> tensor<1x2x5x8xf32>
  %1 = "hipdnn.pointwise"(%k) {mode = "identity"} : (tensor<1x2x5x8xf16>) -> tensor<1x2x5x8xf32>
  %2 = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 80, 40, 1, 8>} : (tensor<1x2x5x8xf32>) -> tensor<1x2x8x5xf32>
  %3 = "hipdnn.matmul"(%0, %2) : (tensor<1x2x5x8xf32>, tensor<1x2x8x5xf32>) -> tensor<1x2x5x5xf32>
  %4 = "hipdnn.reduction"(%3) {mode = "MAX"} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x1xf32>
  %5 = "hipdnn.pointwise"(%3, %4) {mode = "sub"} : (tensor<1x2x5x5xf32>, tensor<1x2x5x1xf32>) -> tensor<1x2x5x5xf32>
  %6 = "hipdnn.pointwise"(%5) {mode = "exp"} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %7 = "hipdnn.reduction"(%6) {mode = "ADD"} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x1xf32>
  %8 = "hipdnn.pointwise"(%6, %7) {mode = "div"} : (tensor<1x2x5x5xf32>, tensor<1x2x5x1xf32>) -> tensor<1x2x5x5xf32>
  %9 = "hipdnn.pointwise"(%8) {mode = "identity"} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf16>
  %10 = "hipdnn.matmul"(%9, %v) : (tensor<1x2x5x5xf16>, tensor<1x2x5x8xf16>) -> tensor<1x2x5x8xf16>
  return %10 : tensor<1x2x5x8xf16>
}

// -----

// A low-rank adapter is added to the matrix: 2 * 0.5 * 0.25 * rank 2 to each element.

// CHECK-LABEL: func.func @adapter
// CHECK-DAG:     %[[B:.*]] = arith.constant dense<3.000000e+00> : tensor<1x8xf16>
// CHECK-DAG:     %[[W:.*]] = arith.constant dense<1.500000e+00> : tensor<8x8xf16>
// CHECK:         %[[P:.*]] = "hipdnn.matmul"(%arg0, %[[W]])
// CHECK:         %[[S:.*]] = "hipdnn.pointwise"(%[[P]], %[[B]]) {mode = "add"}
// CHECK-NEXT:    return %[[S]]
func.func @adapter(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %w = arith.constant dense<1.0> : tensor<8x8xf16>
  %down = arith.constant dense<0.5> : tensor<8x2xf16>
  %up = arith.constant dense<0.25> : tensor<2x8xf16>
  %b = arith.constant dense<3.0> : tensor<1x8xf16>
  %two = arith.constant dense<2.0> : tensor<1xf16>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  %1 = "hipdnn.pointwise"(%0, %b) {mode = "add"} : (tensor<4x8xf16>, tensor<1x8xf16>) -> tensor<4x8xf16>
  %2 = "hipdnn.matmul"(%x, %down) : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
  %3 = "hipdnn.matmul"(%2, %up) : (tensor<4x2xf16>, tensor<2x8xf16>) -> tensor<4x8xf16>
  %4 = "hipdnn.pointwise"(%3, %two) {mode = "mul"} : (tensor<4x8xf16>, tensor<1xf16>) -> tensor<4x8xf16>
  %5 = "hipdnn.pointwise"(%1, %4) {mode = "add"} : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  return %5 : tensor<4x8xf16>
}

// -----

// Copies join batch and heads of a packed projection [sequence, batch, 3 * heads * size].

// CHECK-LABEL: func.func @joined_batches
// CHECK-SAME:    (%[[PACKED:.*]]: tensor<8x2x48xf32>)
// CHECK-DAG:     %[[Q:.*]] = "hipdnn.view"(%[[PACKED]]) {offset = 0 : i64, strides = array<i64: 48, 4, 96, 1>} : {{.*}} -> tensor<2x4x8x4xf32>
// CHECK-DAG:     %[[K:.*]] = "hipdnn.view"(%[[PACKED]]) {offset = 16 : i64, strides = array<i64: 48, 4, 96, 1>} : {{.*}} -> tensor<2x4x8x4xf32>
// CHECK-DAG:     %[[V:.*]] = "hipdnn.view"(%[[PACKED]]) {offset = 32 : i64, strides = array<i64: 48, 4, 96, 1>} : {{.*}} -> tensor<2x4x8x4xf32>
// CHECK:         %[[O:.*]] = "hipdnn.sdpa"(%[[Q]], %[[K]], %[[V]]) {attn_scale_value = 5.000000e-01 : f32}
// CHECK:         %[[Y:.*]] = "hipdnn.view"(%[[O]]) {{.*}} -> tensor<1x8x8x4xf32>
// CHECK:         return %[[Y]]
func.func @joined_batches(%packed: tensor<8x2x48xf32>) -> tensor<1x8x8x4xf32> {
  %q0 = "hipdnn.view"(%packed) {offset = 0 : i64, strides = array<i64: 96, 48, 1>} : (tensor<8x2x48xf32>) -> tensor<8x2x16xf32>
  %q1 = "hipdnn.pointwise"(%q0) {mode = "identity"} : (tensor<8x2x16xf32>) -> tensor<8x2x16xf32>
  %q = "hipdnn.view"(%q1) {offset = 0 : i64, strides = array<i64: 0, 4, 32, 1>} : (tensor<8x2x16xf32>) -> tensor<1x8x8x4xf32>
  %k0 = "hipdnn.view"(%packed) {offset = 16 : i64, strides = array<i64: 96, 48, 1>} : (tensor<8x2x48xf32>) -> tensor<8x2x16xf32>
  %k1 = "hipdnn.pointwise"(%k0) {mode = "identity"} : (tensor<8x2x16xf32>) -> tensor<8x2x16xf32>
  %k = "hipdnn.view"(%k1) {offset = 0 : i64, strides = array<i64: 0, 4, 32, 1>} : (tensor<8x2x16xf32>) -> tensor<1x8x8x4xf32>
  %v0 = "hipdnn.view"(%packed) {offset = 32 : i64, strides = array<i64: 96, 48, 1>} : (tensor<8x2x48xf32>) -> tensor<8x2x16xf32>
  %v1 = "hipdnn.pointwise"(%v0) {mode = "identity"} : (tensor<8x2x16xf32>) -> tensor<8x2x16xf32>
  %v = "hipdnn.view"(%v1) {offset = 0 : i64, strides = array<i64: 0, 4, 32, 1>} : (tensor<8x2x16xf32>) -> tensor<1x8x8x4xf32>
  %o = "hipdnn.sdpa"(%q, %k, %v) {attn_scale_value = 5.000000e-01 : f32} : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) -> tensor<1x8x8x4xf32>
  return %o : tensor<1x8x8x4xf32>
}

// -----

// Attention of a higher rank: windows join to the heads, as the mask of each head repeats for them.

// CHECK-LABEL: func.func @attention_of_windows
// CHECK:         %[[M:.*]] = "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 256, 0, 16, 1>} : (tensor<2x1x1x16x16xf32>) -> tensor<2x1x16x16xf32>
// CHECK:         %[[O:.*]] = "hipdnn.sdpa"(%{{.*}}, %{{.*}}, %{{.*}}, %[[M]]) {{.*}} -> tensor<2x6x16x8xf32>
// CHECK:         "hipdnn.view"(%[[O]]) {{.*}} -> tensor<2x1x6x16x8xf32>
func.func @attention_of_windows(%q: tensor<2x1x6x16x8xf32>, %k: tensor<2x1x6x8x16xf32>, %v: tensor<2x1x6x16x8xf32>, %m: tensor<2x1x1x16x16xf32>) -> tensor<2x1x6x16x8xf32> {
  %s = "hipdnn.matmul"(%q, %k) : (tensor<2x1x6x16x8xf32>, tensor<2x1x6x8x16xf32>) -> tensor<2x1x6x16x16xf32>
  %z = "hipdnn.pointwise"(%s, %m) {mode = "add"} : (tensor<2x1x6x16x16xf32>, tensor<2x1x1x16x16xf32>) -> tensor<2x1x6x16x16xf32>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<2x1x6x16x16xf32>) -> tensor<2x1x6x16x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"} : (tensor<2x1x6x16x16xf32>, tensor<2x1x6x16x1xf32>) -> tensor<2x1x6x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<2x1x6x16x16xf32>) -> tensor<2x1x6x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<2x1x6x16x16xf32>) -> tensor<2x1x6x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<2x1x6x16x16xf32>, tensor<2x1x6x16x1xf32>) -> tensor<2x1x6x16x16xf32>
  %5 = "hipdnn.matmul"(%4, %v) : (tensor<2x1x6x16x16xf32>, tensor<2x1x6x16x8xf32>) -> tensor<2x1x6x16x8xf32>
  return %5 : tensor<2x1x6x16x8xf32>
}

// -----

// The mask differs in the first dim only, so the other two join.

// CHECK-LABEL: func.func @attention_of_joined_heads
// CHECK:         "hipdnn.sdpa"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {{.*}} -> tensor<2x12x16x8xf32>
func.func @attention_of_joined_heads(%q: tensor<2x3x4x16x8xf32>, %k: tensor<2x3x4x8x16xf32>, %v: tensor<2x3x4x16x8xf32>, %m: tensor<2x1x1x16x16xf32>) -> tensor<2x3x4x16x8xf32> {
  %s = "hipdnn.matmul"(%q, %k) : (tensor<2x3x4x16x8xf32>, tensor<2x3x4x8x16xf32>) -> tensor<2x3x4x16x16xf32>
  %z = "hipdnn.pointwise"(%s, %m) {mode = "add"} : (tensor<2x3x4x16x16xf32>, tensor<2x1x1x16x16xf32>) -> tensor<2x3x4x16x16xf32>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<2x3x4x16x16xf32>) -> tensor<2x3x4x16x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"} : (tensor<2x3x4x16x16xf32>, tensor<2x3x4x16x1xf32>) -> tensor<2x3x4x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<2x3x4x16x16xf32>) -> tensor<2x3x4x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<2x3x4x16x16xf32>) -> tensor<2x3x4x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<2x3x4x16x16xf32>, tensor<2x3x4x16x1xf32>) -> tensor<2x3x4x16x16xf32>
  %5 = "hipdnn.matmul"(%4, %v) : (tensor<2x3x4x16x16xf32>, tensor<2x3x4x16x8xf32>) -> tensor<2x3x4x16x8xf32>
  return %5 : tensor<2x3x4x16x8xf32>
}
