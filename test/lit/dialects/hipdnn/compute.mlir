// RUN: hipgraft-opt %s | hipgraft-opt | FileCheck %s

// Every compute op prints and parses back, with the attributes and the optional values it can have.

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<2x8x9x9xf16>, %w: tensor<12x4x3x3xf16>, %dy: tensor<2x12x4x4xf16>) {
  // CHECK: "hipdnn.conv_fprop"(%{{.*}}, %{{.*}}) {compute_type = f32, conv_mode = "CROSS_CORRELATION", dilation = array<i64: 1, 1>, post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<2x8x9x9xf16>, tensor<12x4x3x3xf16>) -> tensor<2x12x4x4xf32>
  %y = "hipdnn.conv_fprop"(%x, %w) {
    pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>,
    dilation = array<i64: 1, 1>, conv_mode = "CROSS_CORRELATION", compute_type = f32
  } : (tensor<2x8x9x9xf16>, tensor<12x4x3x3xf16>) -> tensor<2x12x4x4xf32>
  // CHECK: "hipdnn.conv_dgrad"({{.*}}) -> tensor<2x8x9x9xf16>
  %dx = "hipdnn.conv_dgrad"(%dy, %w) {
    pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>,
    dilation = array<i64: 1, 1>
  } : (tensor<2x12x4x4xf16>, tensor<12x4x3x3xf16>) -> tensor<2x8x9x9xf16>
  // CHECK: "hipdnn.conv_wgrad"({{.*}}) -> tensor<12x4x3x3xf16>
  %dw = "hipdnn.conv_wgrad"(%x, %dy) {
    pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>,
    dilation = array<i64: 1, 1>
  } : (tensor<2x8x9x9xf16>, tensor<2x12x4x4xf16>) -> tensor<12x4x3x3xf16>
  return
}

// One spatial dimension, and three; padding that differs at the two ends.
// CHECK-LABEL: func.func @convolution_ranks
func.func @convolution_ranks(%x1: tensor<1x2x8xf32>, %w1: tensor<2x2x3xf32>, %x3: tensor<1x1x4x4x4xf32>, %w3: tensor<1x1x2x2x2xf32>) {
  // CHECK: "hipdnn.conv_fprop"({{.*}}) -> tensor<1x2x7xf32>
  %0 = "hipdnn.conv_fprop"(%x1, %w1) {
    pre_padding = array<i64: 1>, post_padding = array<i64: 2>, stride = array<i64: 1>,
    dilation = array<i64: 2>
  } : (tensor<1x2x8xf32>, tensor<2x2x3xf32>) -> tensor<1x2x7xf32>
  // CHECK: "hipdnn.conv_fprop"({{.*}}) -> tensor<1x1x4x4x4xf32>
  %1 = "hipdnn.conv_fprop"(%x3, %w3) {
    pre_padding = array<i64: 1, 1, 1>, post_padding = array<i64: 0, 0, 0>,
    stride = array<i64: 1, 1, 1>, dilation = array<i64: 1, 1, 1>
  } : (tensor<1x1x4x4x4xf32>, tensor<1x1x2x2x2xf32>) -> tensor<1x1x4x4x4xf32>
  return
}

// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<4x1x5x6xf16>, %b: tensor<1x3x6x7xf16>, %p: tensor<2x3xf8E4M3FN>, %q: tensor<3x2xf8E4M3FN>) {
  // CHECK: "hipdnn.matmul"(%{{.*}}, %{{.*}}) : (tensor<4x1x5x6xf16>, tensor<1x3x6x7xf16>) -> tensor<4x3x5x7xf32>
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<4x1x5x6xf16>, tensor<1x3x6x7xf16>) -> tensor<4x3x5x7xf32>
  // CHECK: "hipdnn.matmul"(%{{.*}}, %{{.*}}) : (tensor<2x3xf8E4M3FN>, tensor<3x2xf8E4M3FN>) -> tensor<2x2xf32>
  %1 = "hipdnn.matmul"(%p, %q) : (tensor<2x3xf8E4M3FN>, tensor<3x2xf8E4M3FN>) -> tensor<2x2xf32>
  return
}

// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%x: tensor<2x3x4xf32>, %b: tensor<4xf32>, %mask: tensor<2x3x4xi1>) {
  // CHECK: "hipdnn.pointwise"(%{{.*}}) {mode = "relu_fwd", relu_lower_clip = 0.000000e+00 : f32, relu_lower_clip_slope = {{.*}} : f32, relu_upper_clip = 6.000000e+00 : f32}
  %0 = "hipdnn.pointwise"(%x) {
    mode = "relu_fwd", relu_lower_clip = 0.0 : f32, relu_upper_clip = 6.0 : f32,
    relu_lower_clip_slope = 0.1 : f32
  } : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: "hipdnn.pointwise"(%{{.*}}, %{{.*}}) {mode = "add"}
  %1 = "hipdnn.pointwise"(%0, %b) {mode = "add"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK: "hipdnn.pointwise"(%{{.*}}, %{{.*}}, %{{.*}}) {mode = "binary_select"}
  %2 = "hipdnn.pointwise"(%mask, %1, %b) {mode = "binary_select"}
    : (tensor<2x3x4xi1>, tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK: {axis = 2 : i64, mode = "gen_index"} : (tensor<2x3x4xf32>) -> tensor<2x3x4xi32>
  %3 = "hipdnn.pointwise"(%x) {mode = "gen_index", axis = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xi32>
  // CHECK: {mode = "cmp_gt"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xi1>
  %4 = "hipdnn.pointwise"(%x, %b) {mode = "cmp_gt"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xi1>
  // CHECK: {mode = "swish_bwd", swish_beta = 1.000000e+00 : f32}
  %5 = "hipdnn.pointwise"(%x, %x) {mode = "swish_bwd", swish_beta = 1.0 : f32}
    : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// CHECK-LABEL: func.func @reduction
func.func @reduction(%x: tensor<2x3x4xf16>) {
  // CHECK: "hipdnn.reduction"(%{{.*}}) {compute_type = f32, is_deterministic = true, mode = "AVG"} : (tensor<2x3x4xf16>) -> tensor<2x1x1xf16>
  %0 = "hipdnn.reduction"(%x) {mode = "AVG", is_deterministic = true, compute_type = f32}
    : (tensor<2x3x4xf16>) -> tensor<2x1x1xf16>
  return
}

// CHECK-LABEL: func.func @batchnorm
func.func @batchnorm(%x: tensor<2x8x4x4xf16>, %c: tensor<1x8x1x1xf32>) {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  // CHECK: "hipdnn.batchnorm_inference"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) :
  %0 = "hipdnn.batchnorm_inference"(%x, %c, %c, %c, %c)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>,
       tensor<1x8x1x1xf32>) -> tensor<2x8x4x4xf16>
  // CHECK: "hipdnn.batchnorm_inference_variance_ext"(
  %1 = "hipdnn.batchnorm_inference_variance_ext"(%x, %c, %c, %c, %c, %e)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>,
       tensor<1x8x1x1xf32>, tensor<1xf32>) -> tensor<2x8x4x4xf16>
  // CHECK: %[[Y:.*]]:3 = "hipdnn.batchnorm"(%{{.*}}) :
  %2:3 = "hipdnn.batchnorm"(%x, %c, %c, %e)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1xf32>)
    -> (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
  // A running mean without the batch's own statistics: the results are not the first ones.
  // CHECK: "hipdnn.batchnorm"({{.*}}) {resultSegmentSizes = array<i32: 1, 0, 0, 1, 1>}
  %3:3 = "hipdnn.batchnorm"(%x, %c, %c, %e, %c, %c, %e) {resultSegmentSizes = array<i32: 1, 0, 0, 1, 1>}
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1xf32>,
       tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1xf32>)
    -> (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
  return
}

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<2x5x8xf16>, %s: tensor<1x1x8xf16>) {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  // CHECK: "hipdnn.layernorm"({{.*}}) {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64}
  %0 = "hipdnn.layernorm"(%x, %s, %s, %e) {normalized_dim_count = 1 : i64, forward_phase = "INFERENCE"}
    : (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1x1x8xf16>, tensor<1xf32>) -> tensor<2x5x8xf16>
  // CHECK: "hipdnn.layernorm"({{.*}}) {forward_phase = "TRAINING"}
  %1:3 = "hipdnn.layernorm"(%x, %s, %s, %e) {forward_phase = "TRAINING"}
    : (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1x1x8xf16>, tensor<1xf32>)
    -> (tensor<2x5x8xf16>, tensor<2x5x1xf32>, tensor<2x5x1xf32>)
  // CHECK: "hipdnn.rmsnorm"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {forward_phase = "TRAINING"}
  %2:2 = "hipdnn.rmsnorm"(%x, %s, %e, %s) {forward_phase = "TRAINING"}
    : (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1xf32>, tensor<1x1x8xf16>)
    -> (tensor<2x5x8xf16>, tensor<2x5x1xf32>)
  return
}

// CHECK-LABEL: func.func @sdpa
func.func @sdpa(%q: tensor<2x8x5x16xf16>, %k: tensor<2x2x7x16xf16>, %v: tensor<2x2x7x32xf16>,
                %mask: tensor<1x1x5x7xf16>, %len: tensor<2xi32>) {
  // CHECK: %{{.*}}:2 = "hipdnn.sdpa"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {attn_scale_value = 2.500000e-01 : f32, diagonal_alignment = "BOTTOM_RIGHT", generate_stats = true, left_bound = 4 : i64, right_bound = 0 : i64}
  %0:2 = "hipdnn.sdpa"(%q, %k, %v, %mask) {
    attn_scale_value = 0.25 : f32, generate_stats = true, left_bound = 4 : i64,
    right_bound = 0 : i64, diagonal_alignment = "BOTTOM_RIGHT"
  } : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>, tensor<1x1x5x7xf16>)
    -> (tensor<2x8x5x32xf16>, tensor<2x8x5x1xf32>)
  // No mask and no scale, but lengths.
  // CHECK: "hipdnn.sdpa"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, padding_mask = true}
  %1 = "hipdnn.sdpa"(%q, %k, %v, %len, %len) {
    padding_mask = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  } : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>, tensor<2xi32>, tensor<2xi32>)
    -> tensor<2x8x5x32xf16>
  return
}

// CHECK-LABEL: func.func @resample_fwd
func.func @resample_fwd(%x: tensor<1x4x6x6xf32>) {
  // CHECK: %{{.*}}:2 = "hipdnn.resample_fwd"({{.*}}) -> (tensor<1x4x3x3xf32>, tensor<1x4x3x3xi32>)
  %0:2 = "hipdnn.resample_fwd"(%x) {
    pre_padding = array<i64: 0, 0>, post_padding = array<i64: 1, 1>, stride = array<i64: 2, 2>,
    window = array<i64: 3, 3>, resample_mode = "MAXPOOL", padding_mode = "NEG_INF_PAD",
    generate_index = true
  } : (tensor<1x4x6x6xf32>) -> (tensor<1x4x3x3xf32>, tensor<1x4x3x3xi32>)
  return
}

// Attributes of other tools have a prefix and stay.
// CHECK-LABEL: func.func @foreign_attributes
func.func @foreign_attributes(%x: tensor<4xf32>) {
  // CHECK: {mode = "neg", tool.note = "kept"}
  %0 = "hipdnn.pointwise"(%x) {mode = "neg", tool.note = "kept"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
