// RUN: hipgraft-opt %s | hipgraft-opt | FileCheck %s

// Gradients, block scaling, mixtures of experts and custom ops print and parse back.

// CHECK-LABEL: func.func @batchnorm_backward
func.func @batchnorm_backward(%dy: tensor<2x8x4x4xf16>, %x: tensor<2x8x4x4xf16>, %c: tensor<1x8x1x1xf32>) {
  // CHECK: %{{.*}}:3 = "hipdnn.batchnorm_backward"(%{{.*}}, %{{.*}}, %{{.*}}) : (
  %0:3 = "hipdnn.batchnorm_backward"(%dy, %x, %c)
    : (tensor<2x8x4x4xf16>, tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>)
    -> (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
  // CHECK: "hipdnn.batchnorm_backward"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {compute_type = f32}
  %1:3 = "hipdnn.batchnorm_backward"(%dy, %x, %c, %c, %c) {compute_type = f32}
    : (tensor<2x8x4x4xf16>, tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
    -> (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
  return
}

// CHECK-LABEL: func.func @norms_backward
func.func @norms_backward(%x: tensor<2x5x8xf16>, %s: tensor<1x1x8xf16>, %m: tensor<2x5x1xf32>) {
  // CHECK: "hipdnn.layernorm_backward"({{.*}}) {normalized_dim_count = 1 : i64} :
  %0:3 = "hipdnn.layernorm_backward"(%x, %x, %s, %m, %m) {normalized_dim_count = 1 : i64}
    : (tensor<2x5x8xf16>, tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<2x5x1xf32>, tensor<2x5x1xf32>)
    -> (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1x1x8xf16>)
  // Without statistics, with an epsilon.
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  // CHECK: "hipdnn.layernorm_backward"({{.*}}) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>} :
  %1:3 = "hipdnn.layernorm_backward"(%x, %x, %s, %e) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}
    : (tensor<2x5x8xf16>, tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1xf32>)
    -> (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1x1x8xf16>)
  // CHECK: %{{.*}}:2 = "hipdnn.rmsnorm_backward"(
  %2:2 = "hipdnn.rmsnorm_backward"(%x, %x, %s, %m)
    : (tensor<2x5x8xf16>, tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<2x5x1xf32>)
    -> (tensor<2x5x8xf16>, tensor<1x1x8xf16>)
  // CHECK: %{{.*}}:3 = "hipdnn.rmsnorm_backward"(
  %3:3 = "hipdnn.rmsnorm_backward"(%x, %x, %s, %m)
    : (tensor<2x5x8xf16>, tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<2x5x1xf32>)
    -> (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1x1x8xf16>)
  return
}

// CHECK-LABEL: func.func @sdpa_backward
func.func @sdpa_backward(%q: tensor<2x8x5x16xf16>, %k: tensor<2x2x7x16xf16>, %v: tensor<2x2x7x32xf16>,
                         %o: tensor<2x8x5x32xf16>, %stats: tensor<2x8x5x1xf32>, %mask: tensor<1x8x5x7xf16>) {
  // CHECK: %{{.*}}:3 = "hipdnn.sdpa_backward"({{.*}}) {attn_scale_value = 2.500000e-01 : f32, causal_mask = true} :
  %0:3 = "hipdnn.sdpa_backward"(%q, %k, %v, %o, %o, %stats) {
    attn_scale_value = 0.25 : f32, causal_mask = true
  } : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>, tensor<2x8x5x32xf16>,
       tensor<2x8x5x32xf16>, tensor<2x8x5x1xf32>)
    -> (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>)
  // CHECK: -> (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>, tensor<1x8x5x7xf16>)
  %1:4 = "hipdnn.sdpa_backward"(%q, %k, %v, %o, %o, %stats, %mask) {
    operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0>
  } : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>, tensor<2x8x5x32xf16>,
       tensor<2x8x5x32xf16>, tensor<2x8x5x1xf32>, tensor<1x8x5x7xf16>)
    -> (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>, tensor<1x8x5x7xf16>)
  return
}

// Keys and values in six pages of four, at most 16 per batch; all results but the first few.
// CHECK-LABEL: func.func @sdpa_paged
func.func @sdpa_paged(%q: tensor<2x8x5x16xf16>, %k: tensor<6x2x4x16xf16>, %len: tensor<2x1x1x1xi32>,
                      %table: tensor<2x1x4x1xi32>) {
  // CHECK: "hipdnn.sdpa"({{.*}}) {max_seq_len_kv = 16 : i64,
  %0:3 = "hipdnn.sdpa"(%q, %k, %k, %len, %len, %table, %table) {
    padding_mask = true, max_seq_len_kv = 16 : i64,
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>,
    resultSegmentSizes = array<i32: 1, 0, 1, 1, 0, 0, 0>
  } : (tensor<2x8x5x16xf16>, tensor<6x2x4x16xf16>, tensor<6x2x4x16xf16>, tensor<2x1x1x1xi32>,
       tensor<2x1x1x1xi32>, tensor<2x1x4x1xi32>, tensor<2x1x4x1xi32>)
    -> (tensor<2x8x5x16xf16>, tensor<2x8x5x1xf32>, tensor<2x8x5x1xf32>)
  return
}

// CHECK-LABEL: func.func @resample_bwd
func.func @resample_bwd(%dy: tensor<1x4x3x3xf32>, %index: tensor<1x4x3x3xi32>) {
  // CHECK: "hipdnn.resample_bwd"(%{{.*}}, %{{.*}}) {{.*}} -> tensor<1x4x6x6xf32>
  %0 = "hipdnn.resample_bwd"(%dy, %index) {
    pre_padding = array<i64: 0, 0>, post_padding = array<i64: 1, 1>, stride = array<i64: 2, 2>,
    window = array<i64: 3, 3>, resample_mode = "MAXPOOL", padding_mode = "NEG_INF_PAD",
    generate_index = true
  } : (tensor<1x4x3x3xf32>, tensor<1x4x3x3xi32>) -> tensor<1x4x6x6xf32>
  return
}

// Blocks along the first dimension, along the last, and along both.
// CHECK-LABEL: func.func @block_scale
func.func @block_scale(%x: tensor<64x32xf8E4M3FN>, %a: tensor<2x32xf8E8M0FNU>, %b: tensor<64x1xf8E8M0FNU>,
                       %c: tensor<4x8xf32>, %f: tensor<64x32xf32>) {
  // CHECK: "hipdnn.block_scale_dequantize"(%{{.*}}, %{{.*}}) {block_size = array<i64: 32>} :
  %0 = "hipdnn.block_scale_dequantize"(%x, %a) {block_size = array<i64: 32>}
    : (tensor<64x32xf8E4M3FN>, tensor<2x32xf8E8M0FNU>) -> tensor<64x32xf32>
  %1 = "hipdnn.block_scale_dequantize"(%x, %b) {block_size = array<i64: 32>, is_negative_scale = true}
    : (tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>) -> tensor<64x32xf16>
  %2 = "hipdnn.block_scale_dequantize"(%x, %c) {block_size = array<i64: 16, 4>}
    : (tensor<64x32xf8E4M3FN>, tensor<4x8xf32>) -> tensor<64x32xf32>
  // CHECK: %{{.*}}:2 = "hipdnn.block_scale_quantize"(%{{.*}}) {axis = 0 : i64, block_size = 32 : i64} :
  %3:2 = "hipdnn.block_scale_quantize"(%f) {block_size = 32 : i64, axis = 0 : i64}
    : (tensor<64x32xf32>) -> (tensor<64x32xf8E4M3FN>, tensor<2x32xf8E8M0FNU>)
  return
}

// CHECK-LABEL: func.func @moe_grouped_matmul
func.func @moe_grouped_matmul(%t: tensor<1x6x8xf16>, %w: tensor<3x8x5xf16>, %first: tensor<3x1x1xi32>,
                              %rows: tensor<1x9x1xi32>, %six: tensor<1x6x1xi32>, %d: tensor<1x6x5xf16>) {
  // CHECK: "hipdnn.moe_grouped_matmul"(%{{.*}}, %{{.*}}, %{{.*}}) : ({{.*}}) -> tensor<1x6x5xf16>
  %0 = "hipdnn.moe_grouped_matmul"(%t, %w, %first)
    : (tensor<1x6x8xf16>, tensor<3x8x5xf16>, tensor<3x1x1xi32>) -> tensor<1x6x5xf16>
  // CHECK: {mode = "gather"} : ({{.*}}) -> tensor<1x9x5xf16>
  %1 = "hipdnn.moe_grouped_matmul"(%t, %w, %first, %rows) {mode = "gather"}
    : (tensor<1x6x8xf16>, tensor<3x8x5xf16>, tensor<3x1x1xi32>, tensor<1x9x1xi32>) -> tensor<1x9x5xf16>
  // CHECK: {mode = "scatter", top_k = 2 : i64} : ({{.*}}) -> tensor<1x12x5xf16>
  %2 = "hipdnn.moe_grouped_matmul"(%t, %w, %first, %six, %six) {mode = "scatter", top_k = 2 : i64}
    : (tensor<1x6x8xf16>, tensor<3x8x5xf16>, tensor<3x1x1xi32>, tensor<1x6x1xi32>, tensor<1x6x1xi32>)
    -> tensor<1x12x5xf16>
  // CHECK: "hipdnn.moe_grouped_matmul_bwd"({{.*}}) -> tensor<3x8x5xf32>
  %3 = "hipdnn.moe_grouped_matmul_bwd"(%d, %t, %first)
    : (tensor<1x6x5xf16>, tensor<1x6x8xf16>, tensor<3x1x1xi32>) -> tensor<3x8x5xf32>
  return
}

// CHECK-LABEL: func.func @custom_op
func.func @custom_op(%x: tensor<4xf32>) {
  // CHECK: %{{.*}}:2 = "hipdnn.custom_op"(%{{.*}}, %{{.*}}) {custom_op_id = "fusilli.rope", data = "a\00b"} :
  %0:2 = "hipdnn.custom_op"(%x, %x) {custom_op_id = "fusilli.rope", data = "a\00b"}
    : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf16>)
  return
}
