// RUN: hipgraft-opt %s --split-input-file --hipdnn-recognize | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-recognize --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// What nearly is a node stays, and a remark tells why; what only shares an op with one is passed by.

// REMARK: 'hipdnn.reduction' op is not recognised: the epsilon of a normalisation is not a constant
// CHECK-LABEL: func.func @epsilon_at_run_time
// CHECK:         hipdnn.reduction
// CHECK:         mode = "rsqrt"
func.func @epsilon_at_run_time(%x: tensor<2x8xf32>, %eps: tensor<1x1xf32>) -> tensor<2x8xf32> {
  %1 = "hipdnn.pointwise"(%x, %x) {mode = "mul"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = "hipdnn.reduction"(%1) {mode = "AVG"} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %3 = "hipdnn.pointwise"(%2, %eps) {mode = "add"} : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %4 = "hipdnn.pointwise"(%3) {mode = "rsqrt"} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %5 = "hipdnn.pointwise"(%x, %4) {mode = "mul"} : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}

// -----

// A mask of all heads as one batch has no place among batches and heads.

// REMARK: 'hipdnn.matmul' op is not recognised: the scores are masked in another shape than the softmax's
// CHECK-LABEL: func.func @mask_of_merged_batches
// CHECK:         mode = "exp"
func.func @mask_of_merged_batches(%q: tensor<4x5x8xf32>, %k: tensor<4x8x5xf32>, %v: tensor<4x5x8xf32>, %m: tensor<4x5x5xf32>) -> tensor<4x5x8xf32> {
  %7 = "hipdnn.matmul"(%q, %k) : (tensor<4x5x8xf32>, tensor<4x8x5xf32>) -> tensor<4x5x5xf32>
  %8 = "hipdnn.pointwise"(%7, %m) {mode = "add"} : (tensor<4x5x5xf32>, tensor<4x5x5xf32>) -> tensor<4x5x5xf32>
  %9 = "hipdnn.view"(%8) {offset = 0 : i64, strides = array<i64: 50, 25, 5, 1>} : (tensor<4x5x5xf32>) -> tensor<2x2x5x5xf32>
  %10 = "hipdnn.reduction"(%9) {mode = "MAX"} : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x1xf32>
  %11 = "hipdnn.pointwise"(%9, %10) {mode = "sub"} : (tensor<2x2x5x5xf32>, tensor<2x2x5x1xf32>) -> tensor<2x2x5x5xf32>
  %12 = "hipdnn.pointwise"(%11) {mode = "exp"} : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
  %13 = "hipdnn.reduction"(%12) {mode = "ADD"} : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x1xf32>
  %14 = "hipdnn.pointwise"(%12, %13) {mode = "div"} : (tensor<2x2x5x5xf32>, tensor<2x2x5x1xf32>) -> tensor<2x2x5x5xf32>
  %15 = "hipdnn.view"(%14) {offset = 0 : i64, strides = array<i64: 25, 5, 1>} : (tensor<2x2x5x5xf32>) -> tensor<4x5x5xf32>
  %16 = "hipdnn.matmul"(%15, %v) : (tensor<4x5x5xf32>, tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  return %16 : tensor<4x5x8xf32>
}

// -----

// REMARK: 'hipdnn.reduction' op is not recognised: what is normalised is not what was squared
// CHECK-LABEL: func.func @other_tensor
// CHECK:         hipdnn.reduction
func.func @other_tensor(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %eps = arith.constant dense<1.0e-6> : tensor<1xf32>
  %1 = "hipdnn.pointwise"(%x, %x) {mode = "mul"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = "hipdnn.reduction"(%1) {mode = "AVG"} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %3 = "hipdnn.pointwise"(%2, %eps) {mode = "add"} : (tensor<2x1xf32>, tensor<1xf32>) -> tensor<2x1xf32>
  %4 = "hipdnn.pointwise"(%3) {mode = "rsqrt"} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %5 = "hipdnn.pointwise"(%y, %4) {mode = "mul"} : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %5 : tensor<2x8xf32>
}

// -----

// REMARK: 'hipdnn.matmul' op is not recognised: its intermediate 'div' is read elsewhere
// CHECK-LABEL: func.func @weights_returned
// CHECK-NOT:     hipdnn.sdpa
func.func @weights_returned(%q: tensor<1x2x16x8xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x16x8xf32>) -> (tensor<1x2x16x8xf32>, tensor<1x2x16x16xf32>) {
  %z = "hipdnn.matmul"(%q, %k) : (tensor<1x2x16x8xf32>, tensor<1x2x8x16xf32>) -> tensor<1x2x16x16xf32>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<1x2x16x16xf32>) -> tensor<1x2x16x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"} : (tensor<1x2x16x16xf32>, tensor<1x2x16x1xf32>) -> tensor<1x2x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<1x2x16x16xf32>) -> tensor<1x2x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<1x2x16x16xf32>) -> tensor<1x2x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<1x2x16x16xf32>, tensor<1x2x16x1xf32>) -> tensor<1x2x16x16xf32>
  %5 = "hipdnn.matmul"(%4, %v) : (tensor<1x2x16x16xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  return %5, %4 : tensor<1x2x16x8xf32>, tensor<1x2x16x16xf32>
}

// -----

// REMARK: 'hipdnn.matmul' op is not recognised: the scores are masked before they are scaled
// CHECK-LABEL: func.func @scaled_mask
// CHECK-NOT:     hipdnn.sdpa
func.func @scaled_mask(%q: tensor<2x16x8xf32>, %k: tensor<2x8x16xf32>, %v: tensor<2x16x8xf32>, %m: tensor<1x16x16xf32>) -> tensor<2x16x8xf32> {
  %half = arith.constant dense<0.5> : tensor<1xf32>
  %s = "hipdnn.matmul"(%q, %k) : (tensor<2x16x8xf32>, tensor<2x8x16xf32>) -> tensor<2x16x16xf32>
  %t = "hipdnn.pointwise"(%s, %m) {mode = "add"} : (tensor<2x16x16xf32>, tensor<1x16x16xf32>) -> tensor<2x16x16xf32>
  %z = "hipdnn.pointwise"(%t, %half) {mode = "mul"} : (tensor<2x16x16xf32>, tensor<1xf32>) -> tensor<2x16x16xf32>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<2x16x16xf32>) -> tensor<2x16x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"} : (tensor<2x16x16xf32>, tensor<2x16x1xf32>) -> tensor<2x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<2x16x16xf32>) -> tensor<2x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<2x16x16xf32>, tensor<2x16x1xf32>) -> tensor<2x16x16xf32>
  %5 = "hipdnn.matmul"(%4, %v) : (tensor<2x16x16xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
  return %5 : tensor<2x16x8xf32>
}

// -----

// REMARK: 'hipdnn.matmul' op is not recognised: hidden scores are -10000, which is not negligible
// CHECK-LABEL: func.func @finite_mask
// CHECK-NOT:     hipdnn.sdpa
func.func @finite_mask(%q: tensor<2x16x8xf32>, %k: tensor<2x8x16xf32>, %v: tensor<2x16x8xf32>, %m: tensor<1x16x16xi1>) -> tensor<2x16x8xf32> {
  %low = arith.constant dense<-10000.0> : tensor<1xf32>
  %s = "hipdnn.matmul"(%q, %k) : (tensor<2x16x8xf32>, tensor<2x8x16xf32>) -> tensor<2x16x16xf32>
  %z = "hipdnn.pointwise"(%m, %s, %low) {mode = "binary_select"} : (tensor<1x16x16xi1>, tensor<2x16x16xf32>, tensor<1xf32>) -> tensor<2x16x16xf32>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<2x16x16xf32>) -> tensor<2x16x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"} : (tensor<2x16x16xf32>, tensor<2x16x1xf32>) -> tensor<2x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<2x16x16xf32>) -> tensor<2x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<2x16x16xf32>, tensor<2x16x1xf32>) -> tensor<2x16x16xf32>
  %5 = "hipdnn.matmul"(%4, %v) : (tensor<2x16x16xf32>, tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
  return %5 : tensor<2x16x8xf32>
}

// -----

// REMARK: 'hipdnn.pointwise' op is not recognised: erf(x / √2) is not followed by x / 2 · (1 + erf)
// CHECK-LABEL: func.func @other_factor
// CHECK:         mode = "erf"
func.func @other_factor(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %root = arith.constant dense<1.41421356> : tensor<1xf32>
  %half = arith.constant dense<0.5> : tensor<8xf32>
  %0 = "hipdnn.pointwise"(%x, %root) {mode = "div"} : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  %1 = "hipdnn.pointwise"(%0) {mode = "erf"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = "hipdnn.pointwise"(%1, %half) {mode = "mul"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = "hipdnn.pointwise"(%2, %y) {mode = "mul"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// Filters keep their factor if they would overflow.

// REMARK: 'hipdnn.conv_fprop' op is not recognised: new constants do not fit into elements of float16
// CHECK-LABEL: func.func @filters_that_overflow
// CHECK:         mode = "mul"
func.func @filters_that_overflow(%x: tensor<1x1x8x8xf16>) -> tensor<1x2x8x8xf16> {
  %w = arith.constant dense<1.0e+03> : tensor<2x1x1x1xf16>
  %factor = arith.constant dense<1.0e+03> : tensor<1xf16>
  %0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x8x8xf16>, tensor<2x1x1x1xf16>) -> tensor<1x2x8x8xf16>
  %1 = "hipdnn.pointwise"(%0, %factor) {mode = "mul"} : (tensor<1x2x8x8xf16>, tensor<1xf16>) -> tensor<1x2x8x8xf16>
  return %1 : tensor<1x2x8x8xf16>
}

// -----

// A convolution that is also read without its factor keeps it; this is no near miss.

// CHECK-LABEL: func.func @read_twice
// CHECK:         mode = "mul"
func.func @read_twice(%x: tensor<1x1x8x8xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) {
  %w = arith.constant dense<1.0e+03> : tensor<2x1x1x1xf32>
  %factor = arith.constant dense<1.0e+03> : tensor<1xf32>
  %0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32>
  %1 = "hipdnn.pointwise"(%0, %factor) {mode = "mul"} : (tensor<1x2x8x8xf32>, tensor<1xf32>) -> tensor<1x2x8x8xf32>
  return %0, %1 : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>
}

// -----

// Another input's products are no adapter, nor are those of a large rank; nor may what the adapter
// computes be read elsewhere.

// REMARK: 'hipdnn.pointwise' op is not recognised: its intermediate 'matmul' is read elsewhere
// CHECK-LABEL: func.func @no_adapters
// CHECK-COUNT-9: "hipdnn.matmul"
func.func @no_adapters(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>) {
  %w = arith.constant dense<1.0> : tensor<8x8xf32>
  %down = arith.constant dense<0.5> : tensor<8x2xf32>
  %up = arith.constant dense<0.25> : tensor<2x8xf32>
  %0 = "hipdnn.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = "hipdnn.matmul"(%z, %down) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %2 = "hipdnn.matmul"(%1, %up) : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %3 = "hipdnn.pointwise"(%0, %2) {mode = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = "hipdnn.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %5 = "hipdnn.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %6 = "hipdnn.matmul"(%5, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %7 = "hipdnn.pointwise"(%4, %6) {mode = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = "hipdnn.matmul"(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %9 = "hipdnn.matmul"(%x, %down) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %10 = "hipdnn.matmul"(%9, %up) : (tensor<4x2xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
  %11 = "hipdnn.pointwise"(%8, %10) {mode = "add"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3, %7, %11, %9 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x2xf32>
}

// -----

// Factors of both operands that f16 has.

// REMARK: 'hipdnn.conv_fprop' op is not recognised: scaled filters would not be exact in f16
// CHECK-LABEL: func.func @bytes
// CHECK:         "hipdnn.conv_fprop"
// CHECK:         mode = "mul"
func.func @bytes(%x: tensor<1x1x8x8xi8>) -> tensor<1x2x8x8xf32> {
  %w = arith.constant dense<3.0> : tensor<2x1x1x1xf32>
  %scale = arith.constant dense<0.1> : tensor<1xf32>
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<1x1x8x8xi8>) -> tensor<1x1x8x8xf32>
  %1 = "hipdnn.conv_fprop"(%0, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x8x8xf32>
  %2 = "hipdnn.pointwise"(%1, %scale) {mode = "mul"} : (tensor<1x2x8x8xf32>, tensor<1xf32>) -> tensor<1x2x8x8xf32>
  return %2 : tensor<1x2x8x8xf32>
}

// -----

// An activation has as many elements as its operand.

// REMARK: 'hipdnn.pointwise' op is not recognised: erf(x / √2) is not followed by x / 2 · (1 + erf)
// CHECK-LABEL: func.func @broadcast_by_a_constant
// CHECK:         mode = "erf"
// CHECK-NOT:     mode = "gelu_fwd"
func.func @broadcast_by_a_constant(%x: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %root = arith.constant dense<1.41421356> : tensor<1x1xf32>
  %one = arith.constant dense<1.0> : tensor<1x1xf32>
  %half = arith.constant dense<0.5> : tensor<4x1xf32>
  %0 = "hipdnn.pointwise"(%x, %root) {mode = "div"} : (tensor<1x8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  %1 = "hipdnn.pointwise"(%0) {mode = "erf"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %2 = "hipdnn.pointwise"(%1, %one) {mode = "add"} : (tensor<1x8xf32>, tensor<1x1xf32>) -> tensor<1x8xf32>
  %3 = "hipdnn.pointwise"(%x, %2) {mode = "mul"} : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  %4 = "hipdnn.pointwise"(%3, %half) {mode = "mul"} : (tensor<1x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// Attention yields 0 for a row without a visible key, so a guard with another value stays.

// CHECK-LABEL: func.func @guard_of_ones
// CHECK-NOT:     hipdnn.sdpa
// CHECK:         mode = "cmp_neq"
// CHECK:         mode = "binary_select"
func.func @guard_of_ones(%q: tensor<4x16x8xf32>, %k: tensor<4x8x16xf32>, %v: tensor<4x16x8xf32>) -> tensor<4x16x8xf32> {
  %one = arith.constant dense<1.0> : tensor<1x1x1xf32>
  %z = "hipdnn.matmul"(%q, %k) : (tensor<4x16x8xf32>, tensor<4x8x16xf32>) -> tensor<4x16x16xf32>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"} : (tensor<4x16x16xf32>, tensor<4x16x1xf32>) -> tensor<4x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<4x16x16xf32>, tensor<4x16x1xf32>) -> tensor<4x16x16xf32>
  %5 = "hipdnn.pointwise"(%4, %4) {mode = "cmp_neq"} : (tensor<4x16x16xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xi1>
  %6 = "hipdnn.pointwise"(%5, %one, %4) {mode = "binary_select"} : (tensor<4x16x16xi1>, tensor<1x1x1xf32>, tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %7 = "hipdnn.matmul"(%6, %v) : (tensor<4x16x16xf32>, tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  return %7 : tensor<4x16x8xf32>
}

// -----

// The mask repeats in the middle.

// CHECK-LABEL: func.func @mask_of_two_dims
// REMARK: attention of rank 5 whose batches do not join
// CHECK-NOT:     sdpa
func.func @mask_of_two_dims(%q: tensor<2x3x4x16x8xf32>, %k: tensor<2x3x4x8x16xf32>, %v: tensor<2x3x4x16x8xf32>, %m: tensor<2x1x4x16x16xf32>) -> tensor<2x3x4x16x8xf32> {
  %s = "hipdnn.matmul"(%q, %k) : (tensor<2x3x4x16x8xf32>, tensor<2x3x4x8x16xf32>) -> tensor<2x3x4x16x16xf32>
  %z = "hipdnn.pointwise"(%s, %m) {mode = "add"} : (tensor<2x3x4x16x16xf32>, tensor<2x1x4x16x16xf32>) -> tensor<2x3x4x16x16xf32>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<2x3x4x16x16xf32>) -> tensor<2x3x4x16x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"} : (tensor<2x3x4x16x16xf32>, tensor<2x3x4x16x1xf32>) -> tensor<2x3x4x16x16xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<2x3x4x16x16xf32>) -> tensor<2x3x4x16x16xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<2x3x4x16x16xf32>) -> tensor<2x3x4x16x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"} : (tensor<2x3x4x16x16xf32>, tensor<2x3x4x16x1xf32>) -> tensor<2x3x4x16x16xf32>
  %5 = "hipdnn.matmul"(%4, %v) : (tensor<2x3x4x16x16xf32>, tensor<2x3x4x16x8xf32>) -> tensor<2x3x4x16x8xf32>
  return %5 : tensor<2x3x4x16x8xf32>
}

// -----

// A gate is no swish, and a mean of squares alone no normalisation.

// REMARK-NOT: remark
// CHECK-LABEL: func.func @gate_and_loss
// CHECK:         mode = "sigmoid_fwd"
// CHECK:         hipdnn.reduction
func.func @gate_and_loss(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> tensor<1x1xf32> {
  %0 = "hipdnn.pointwise"(%x) {mode = "sigmoid_fwd"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = "hipdnn.pointwise"(%0, %y) {mode = "mul"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = "hipdnn.pointwise"(%1, %1) {mode = "mul"} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "AVG"} : (tensor<2x8xf32>) -> tensor<1x1xf32>
  return %3 : tensor<1x1xf32>
}

// -----

// What reads a sigmoid may be left in torch.

// CHECK-LABEL: func.func @read_by_torch
// CHECK:         mode = "sigmoid_fwd"
// CHECK:         torch.aten.cumsum
func.func @read_by_torch(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "hipdnn.pointwise"(%x) {mode = "sigmoid_fwd"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = torch_c.from_builtin_tensor %0 : tensor<8xf32> -> !torch.vtensor<[8],f32>
  %int0 = torch.constant.int 0
  %none = torch.constant.none
  %2 = torch.aten.cumsum %1, %int0, %none : !torch.vtensor<[8],f32>, !torch.int, !torch.none -> !torch.vtensor<[8],f32>
  %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[8],f32> -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
