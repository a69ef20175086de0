// RUN: hipgraft-opt %s --verify-diagnostics

// The rules of gradients, block scaling, mixtures of experts and custom ops, each broken once.

func.func @batchnorm_statistics(%x: tensor<2x8x4x4xf16>, %c: tensor<1x8x1x1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm_backward' op expected both or none of 'mean' and 'inv_variance'}}
  %0:3 = "hipdnn.batchnorm_backward"(%x, %x, %c, %c)
    : (tensor<2x8x4x4xf16>, tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
    -> (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
  return
}

func.func @batchnorm_gradient(%dy: tensor<2x8x4x5xf16>, %x: tensor<2x8x4x4xf16>, %c: tensor<1x8x1x1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm_backward' op expected shape 2x8x4x4 of 'dy', but found 2x8x4x5}}
  %0:3 = "hipdnn.batchnorm_backward"(%dy, %x, %c)
    : (tensor<2x8x4x5xf16>, tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>)
    -> (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
  return
}

func.func @layernorm_mean(%x: tensor<2x5x8xf16>, %s: tensor<1x1x8xf16>, %m: tensor<2x1x1xf32>) {
  // expected-error @below {{'hipdnn.layernorm_backward' op expected shape 2x5x1 of 'mean', but found 2x1x1}}
  %0:3 = "hipdnn.layernorm_backward"(%x, %x, %s, %m, %m)
    : (tensor<2x5x8xf16>, tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<2x1x1xf32>, tensor<2x1x1xf32>)
    -> (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1x1x8xf16>)
  return
}

func.func @layernorm_count(%x: tensor<2x5x8xf16>, %s: tensor<1x5x8xf16>) {
  // expected-error @below {{'hipdnn.layernorm_backward' op 'scale' (1x5x8) reaches beyond the last 1 dimensions}}
  %0:3 = "hipdnn.layernorm_backward"(%x, %x, %s) {normalized_dim_count = 1 : i64}
    : (tensor<2x5x8xf16>, tensor<2x5x8xf16>, tensor<1x5x8xf16>)
    -> (tensor<2x5x8xf16>, tensor<1x5x8xf16>, tensor<1x5x8xf16>)
  return
}

func.func @rmsnorm_statistics(%x: tensor<2x5x8xf16>, %s: tensor<1x1x8xf16>) {
  // expected-error @below {{'hipdnn.rmsnorm_backward' op expected 4 operands, but found 3}}
  // expected-note @below {{requires operand 'inv_rms'}}
  %0:2 = "hipdnn.rmsnorm_backward"(%x, %x, %s)
    : (tensor<2x5x8xf16>, tensor<2x5x8xf16>, tensor<1x1x8xf16>) -> (tensor<2x5x8xf16>, tensor<1x1x8xf16>)
  return
}

func.func @attention_stats(%q: tensor<2x8x5x16xf16>, %s: tensor<2x8x4xf32>) {
  // expected-error @below {{'hipdnn.sdpa_backward' op expected shape 2x8x5x1 of 'stats', but found 2x8x4}}
  %0:3 = "hipdnn.sdpa_backward"(%q, %q, %q, %q, %q, %s)
    : (tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>,
       tensor<2x8x5x16xf16>, tensor<2x8x4xf32>)
    -> (tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>)
  return
}

func.func @attention_bias(%q: tensor<2x8x5x16xf16>, %s: tensor<2x8x5x1xf32>) {
  // expected-error @below {{'hipdnn.sdpa_backward' op yields 'dbias', but takes no 'attn_mask'}}
  %0:4 = "hipdnn.sdpa_backward"(%q, %q, %q, %q, %q, %s)
    : (tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>,
       tensor<2x8x5x16xf16>, tensor<2x8x5x1xf32>)
    -> (tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>, tensor<1x1x5x5xf16>)
  return
}

func.func @attention_dropout(%q: tensor<2x8x5x16xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op expected 'dropout_probability' in [0, 1), but found 1.5}}
  %0 = "hipdnn.sdpa"(%q, %q, %q) {dropout_probability = 1.5 : f32}
    : (tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>, tensor<2x8x5x16xf16>) -> tensor<2x8x5x16xf16>
  return
}

func.func @attention_pages(%q: tensor<2x8x5x16xf16>, %k: tensor<6x2x4x16xf16>, %table: tensor<4x2xi32>) {
  // expected-error @below {{'hipdnn.sdpa' op expected shape 2xP or 2x1xPx1 of 'page_table_k', but found 4x2}}
  %0 = "hipdnn.sdpa"(%q, %k, %k, %table, %table) {
    max_seq_len_kv = 16 : i64,
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>
  } : (tensor<2x8x5x16xf16>, tensor<6x2x4x16xf16>, tensor<6x2x4x16xf16>, tensor<4x2xi32>, tensor<4x2xi32>)
    -> tensor<2x8x5x16xf16>
  return
}

func.func @resample_index(%dy: tensor<1x4x3x3xf32>) {
  // expected-error @below {{'hipdnn.resample_bwd' op expected operand 'index' exactly in mode 'MAXPOOL'}}
  %0 = "hipdnn.resample_bwd"(%dy) {
    pre_padding = array<i64: 0, 0>, post_padding = array<i64: 1, 1>, stride = array<i64: 2, 2>,
    window = array<i64: 3, 3>, resample_mode = "MAXPOOL", padding_mode = "NEG_INF_PAD"
  } : (tensor<1x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

func.func @resample_gradient(%dy: tensor<1x4x4x4xf32>) {
  // expected-error @below {{'hipdnn.resample_bwd' op expected shape 1x4x3x3 of 'dy', but found 1x4x4x4}}
  %0 = "hipdnn.resample_bwd"(%dy) {
    pre_padding = array<i64: 0, 0>, post_padding = array<i64: 1, 1>, stride = array<i64: 2, 2>,
    window = array<i64: 3, 3>, resample_mode = "AVGPOOL_INCLUDE_PADDING", padding_mode = "ZERO_PAD"
  } : (tensor<1x4x4x4xf32>) -> tensor<1x4x6x6xf32>
  return
}

func.func @dequantize_scale(%x: tensor<64x32xf8E4M3FN>, %s: tensor<3x32xf8E8M0FNU>) {
  // expected-error @below {{'hipdnn.block_scale_dequantize' op expected shape 2x32 of 'scale', but found 3x32}}
  %0 = "hipdnn.block_scale_dequantize"(%x, %s) {block_size = array<i64: 32>}
    : (tensor<64x32xf8E4M3FN>, tensor<3x32xf8E8M0FNU>) -> tensor<64x32xf32>
  return
}

func.func @dequantize_blocks(%x: tensor<64x32xf8E4M3FN>, %s: tensor<2x32xf8E8M0FNU>) {
  // expected-error @below {{'hipdnn.block_scale_dequantize' op expected 1 to 2 values in 'block_size', but found 3}}
  %0 = "hipdnn.block_scale_dequantize"(%x, %s) {block_size = array<i64: 32, 1, 1>}
    : (tensor<64x32xf8E4M3FN>, tensor<2x32xf8E8M0FNU>) -> tensor<64x32xf32>
  return
}

func.func @quantize_block(%x: tensor<64x33xf32>) {
  // expected-error @below {{'hipdnn.block_scale_quantize' op extent 33 in dimension 1 of 'x' (64x33) is not a multiple of the block size 32}}
  %0:2 = "hipdnn.block_scale_quantize"(%x) {block_size = 32 : i64}
    : (tensor<64x33xf32>) -> (tensor<64x33xf8E4M3FN>, tensor<64x1xf8E8M0FNU>)
  return
}

func.func @quantize_axis(%x: tensor<64x32xf32>) {
  // expected-error @below {{'hipdnn.block_scale_quantize' op expected 'axis' in [0, 2), but found 2}}
  %0:2 = "hipdnn.block_scale_quantize"(%x) {block_size = 32 : i64, axis = 2 : i64}
    : (tensor<64x32xf32>) -> (tensor<64x32xf8E4M3FN>, tensor<64x1xf8E8M0FNU>)
  return
}

func.func @moe_routing(%t: tensor<1x6x8xf16>, %w: tensor<3x8x5xf16>, %first: tensor<3x1x1xi32>) {
  // expected-error @below {{'hipdnn.moe_grouped_matmul' op expected 'token_index' exactly in modes 'gather' and 'scatter'}}
  %0 = "hipdnn.moe_grouped_matmul"(%t, %w, %first) {mode = "gather"}
    : (tensor<1x6x8xf16>, tensor<3x8x5xf16>, tensor<3x1x1xi32>) -> tensor<1x6x5xf16>
  return
}

func.func @moe_groups(%t: tensor<1x6x8xf16>, %w: tensor<3x8x5xf16>, %first: tensor<4x1x1xi32>) {
  // expected-error @below {{'hipdnn.moe_grouped_matmul' op expected 'first_token_offset' of shape Gx1x1, G a multiple of the 3 experts, but found 4x1x1}}
  %0 = "hipdnn.moe_grouped_matmul"(%t, %w, %first)
    : (tensor<1x6x8xf16>, tensor<3x8x5xf16>, tensor<4x1x1xi32>) -> tensor<1x6x5xf16>
  return
}

func.func @moe_weights(%t: tensor<1x6x8xf16>, %w: tensor<3x7x5xf16>, %first: tensor<3x1x1xi32>) {
  // expected-error @below {{'hipdnn.moe_grouped_matmul' op columns of 'token' (8) differ from rows of 'weight' (7)}}
  %0 = "hipdnn.moe_grouped_matmul"(%t, %w, %first)
    : (tensor<1x6x8xf16>, tensor<3x7x5xf16>, tensor<3x1x1xi32>) -> tensor<1x6x5xf16>
  return
}

func.func @moe_gradient(%d: tensor<1x7x5xf16>, %t: tensor<1x6x8xf16>, %first: tensor<3x1x1xi32>) {
  // expected-error @below {{'hipdnn.moe_grouped_matmul_bwd' op rows of 'doutput' (7) differ from 'token' (6)}}
  %0 = "hipdnn.moe_grouped_matmul_bwd"(%d, %t, %first)
    : (tensor<1x7x5xf16>, tensor<1x6x8xf16>, tensor<3x1x1xi32>) -> tensor<3x8x5xf16>
  return
}

func.func @custom_name(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.custom_op' op expected 'custom_op_id' of the form '<plugin>.<operation>', but found 'rope'}}
  %0 = "hipdnn.custom_op"(%x) {custom_op_id = "rope"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @custom_name_bytes(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.custom_op' op expected attribute 'custom_op_id' to be string, but found}}
  %0 = "hipdnn.custom_op"(%x) {custom_op_id = "a.\FF"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
