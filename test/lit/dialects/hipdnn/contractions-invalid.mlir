// RUN: hipgraft-opt %s --verify-diagnostics

// The rules of convolutions, matrix products and attention, each broken once.

func.func @channels(%a: tensor<1x64x8x8xf16>, %b: tensor<32x48x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op channels of 'x' (64) are not a multiple of channels of 'w' (48)}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x64x8x8xf16>, tensor<32x48x3x3xf16>) -> tensor<1x32x8x8xf16>
  return
}

func.func @filters(%a: tensor<1x64x8x8xf16>, %b: tensor<3x32x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op filters of 'w' (3) are not a multiple of the 2 groups}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x64x8x8xf16>, tensor<3x32x3x3xf16>) -> tensor<1x3x8x8xf16>
  return
}

func.func @ranks(%a: tensor<1x64x8xf16>, %b: tensor<32x64x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op expected activations and filters of one rank, 3 or more, but found ranks 3 and 4}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x64x8xf16>, tensor<32x64x3x3xf16>) -> tensor<1x32x8x8xf16>
  return
}

func.func @padding_count(%a: tensor<1x64x8x8xf16>, %b: tensor<32x64x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op expected 2 values in 'pre_padding', but found 1}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x64x8x8xf16>, tensor<32x64x3x3xf16>) -> tensor<1x32x8x8xf16>
  return
}

func.func @negative_padding(%a: tensor<1x64x8x8xf16>, %b: tensor<32x64x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op expected values of 0 or more in 'post_padding'}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 0, -1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x64x8x8xf16>, tensor<32x64x3x3xf16>) -> tensor<1x32x8x8xf16>
  return
}

func.func @stride_zero(%a: tensor<1x64x8x8xf16>, %b: tensor<32x64x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op expected values of 1 or more in 'stride'}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 0>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x64x8x8xf16>, tensor<32x64x3x3xf16>) -> tensor<1x32x8x8xf16>
  return
}

func.func @dilation_count(%a: tensor<1x64x8x8xf16>, %b: tensor<32x64x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op expected 2 values in 'dilation', but found 3}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1, 1>
  } : (tensor<1x64x8x8xf16>, tensor<32x64x3x3xf16>) -> tensor<1x32x8x8xf16>
  return
}

func.func @window(%a: tensor<1x64x2x8xf16>, %b: tensor<32x64x5x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op window of 5 in spatial dimension 0 is larger than the padded input of 4}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x64x2x8xf16>, tensor<32x64x5x3xf16>) -> tensor<1x32x1x8xf16>
  return
}

func.func @output_shape(%a: tensor<1x64x8x8xf16>, %b: tensor<32x64x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op expected shape 1x32x8x8 of 'y', but found 1x32x9x8}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x64x8x8xf16>, tensor<32x64x3x3xf16>) -> tensor<1x32x9x8xf16>
  return
}

func.func @conv_mode(%a: tensor<1x64x8x8xf16>, %b: tensor<32x64x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_fprop' op expected attribute 'conv_mode' to be one of CONVOLUTION, CROSS_CORRELATION, but found "cross"}}
  %0 = "hipdnn.conv_fprop"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>, conv_mode = "cross"
  } : (tensor<1x64x8x8xf16>, tensor<32x64x3x3xf16>) -> tensor<1x32x8x8xf16>
  return
}

func.func @dgrad(%a: tensor<1x32x7x8xf16>, %b: tensor<32x64x3x3xf16>) {
  // expected-error @below {{'hipdnn.conv_dgrad' op expected shape 1x32x8x8 of 'dy', but found 1x32x7x8}}
  %0 = "hipdnn.conv_dgrad"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x32x7x8xf16>, tensor<32x64x3x3xf16>) -> tensor<1x64x8x8xf16>
  return
}

func.func @wgrad(%a: tensor<1x64x8x8xf16>, %b: tensor<1x32x8x8xf16>) {
  // expected-error @below {{'hipdnn.conv_wgrad' op channels of 'x' (64) are not a multiple of channels of 'w' (48)}}
  %0 = "hipdnn.conv_wgrad"(%a, %b) {
    pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>
  } : (tensor<1x64x8x8xf16>, tensor<1x32x8x8xf16>) -> tensor<32x48x3x3xf16>
  return
}

func.func @matmul_inner(%a: tensor<4x5xf32>, %b: tensor<6x7xf32>) {
  // expected-error @below {{'hipdnn.matmul' op columns of 'a' (5) differ from rows of 'b' (6)}}
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<4x5xf32>, tensor<6x7xf32>) -> tensor<4x7xf32>
  return
}

func.func @matmul_rank(%a: tensor<2x4x5xf32>, %b: tensor<5x7xf32>) {
  // expected-error @below {{'hipdnn.matmul' op expected operands of one rank, 2 or more, but found ranks 3 and 2}}
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<2x4x5xf32>, tensor<5x7xf32>) -> tensor<2x4x7xf32>
  return
}

func.func @matmul_vector(%a: tensor<5xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{'hipdnn.matmul' op expected operands of one rank, 2 or more, but found ranks 1 and 1}}
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
  return
}

func.func @matmul_batch(%a: tensor<2x4x5xf32>, %b: tensor<3x5x7xf32>) {
  // expected-error @below {{'hipdnn.matmul' op batch dimensions of 'a' (2) and of 'b' (3) do not broadcast}}
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<2x4x5xf32>, tensor<3x5x7xf32>) -> tensor<2x4x7xf32>
  return
}

func.func @matmul_result(%a: tensor<4x5xf32>, %b: tensor<5x7xf32>) {
  // expected-error @below {{'hipdnn.matmul' op expected shape 4x7 of 'c', but found 4x8}}
  %0 = "hipdnn.matmul"(%a, %b) : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x8xf32>
  return
}

func.func @sdpa_rank(%a: tensor<8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x7x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op expected 'q' of rank 4, but found rank 3}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {}
    : (tensor<8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_batch(%a: tensor<2x8x5x16xf16>, %b: tensor<3x2x7x16xf16>, %c: tensor<2x2x7x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op batch of 'k' (3) differs from 'q' (2)}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {}
    : (tensor<2x8x5x16xf16>, tensor<3x2x7x16xf16>, tensor<2x2x7x32xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_heads(%a: tensor<2x8x5x16xf16>, %b: tensor<2x3x7x16xf16>, %c: tensor<2x2x7x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op heads of 'q' (8) are not a multiple of heads of 'k' (3)}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {}
    : (tensor<2x8x5x16xf16>, tensor<2x3x7x16xf16>, tensor<2x2x7x32xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_head_size(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x8xf16>, %c: tensor<2x2x7x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op head size of 'k' (8) differs from 'q' (16)}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x8xf16>, tensor<2x2x7x32xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_sequence(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x9x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op sequence of 'v' (9) differs from 'k' (7)}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x9x32xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_mask(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x7x32xf16>, %d: tensor<1x1x5x5xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op 'attn_mask' (1x1x5x5) does not broadcast to the scores (2x8x5x7)}}
  %0 = "hipdnn.sdpa"(%a, %b, %c, %d) {}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>, tensor<1x1x5x5xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_scale(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x7x32xf16>, %d: tensor<1x1x5x7xf16>, %e: tensor<2xf32>) {
  // expected-error @below {{'hipdnn.sdpa' op expected one element in 'scale', but found shape 2}}
  %0 = "hipdnn.sdpa"(%a, %b, %c, %d, %e) {}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>, tensor<1x1x5x7xf16>, tensor<2xf32>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_lengths(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x7x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op requires operand 'seq_len_q' with 'padding_mask = true'}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {padding_mask = true}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_length_shape(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x7x32xf16>, %d: tensor<5xi32>, %e: tensor<5xi32>) {
  // expected-error @below {{'hipdnn.sdpa' op expected shape 2 or 2x1x1x1 of 'seq_len_q', but found 5}}
  %0 = "hipdnn.sdpa"(%a, %b, %c, %d, %e) {padding_mask = true, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>, tensor<5xi32>, tensor<5xi32>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_stats(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x7x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op expected result 'stats' exactly with 'generate_stats = true'}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {generate_stats = true}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_causal(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x7x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op expected 'right_bound' 0 with a causal mask, but found 3}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {causal_mask = true, right_bound = 3 : i64}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_two_masks(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x7x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op expected at most one of the two causal masks}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {causal_mask = true, causal_mask_bottom_right = true}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>) -> tensor<2x8x5x32xf16>
  return
}

func.func @sdpa_output(%a: tensor<2x8x5x16xf16>, %b: tensor<2x2x7x16xf16>, %c: tensor<2x2x7x32xf16>) {
  // expected-error @below {{'hipdnn.sdpa' op expected shape 2x8x5x32 of 'o', but found 2x8x5x16}}
  %0 = "hipdnn.sdpa"(%a, %b, %c) {}
    : (tensor<2x8x5x16xf16>, tensor<2x2x7x16xf16>, tensor<2x2x7x32xf16>) -> tensor<2x8x5x16xf16>
  return
}
