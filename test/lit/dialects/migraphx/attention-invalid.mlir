// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics

// The rules of attention, in rocMLIR's words.

func.func @rank(%q: !migraphx.shaped<8xf16, 1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op operands must have rank >= 2}}
  %0 = migraphx.attention %q, %k, %v {}
    : <8xf16, 1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @first_product(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x4x16xf16, 64x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op head dimension mismatched for first gemm: last dim of queries (8) != second-to-last dim of keys (4)}}
  %0 = migraphx.attention %q, %k, %v {}
    : <2x4x8xf16, 32x8x1>, <2x4x16xf16, 64x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @second_product(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x8x4xf16, 32x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op sequence length dimension mismatch for second gemm: last dim of keys (16) != second-to-last dim of values (8)}}
  %0 = migraphx.attention %q, %k, %v {}
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x8x4xf16, 32x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @leading(%q: !migraphx.shaped<1x2x4x8xf16, 64x32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op leading dimension mismatch: queries, keys, and values must have the same number of leading dimensions}}
  %0 = migraphx.attention %q, %k, %v {}
    : <1x2x4x8xf16, 64x32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @heads_of_values(%q: !migraphx.shaped<1x4x4x8xf16, 128x32x8x1>, %k: !migraphx.shaped<1x2x8x16xf16, 256x128x16x1>, %v: !migraphx.shaped<1x3x16x4xf16, 192x64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op leading dimension mismatch at dimension 1: keys=2 != values=3}}
  %0 = migraphx.attention %q, %k, %v {}
    : <1x4x4x8xf16, 128x32x8x1>, <1x2x8x16xf16, 256x128x16x1>, <1x3x16x4xf16, 192x64x4x1> -> <1x4x4x4xf16, 64x16x4x1>
  return
}

// -----

func.func @heads_of_queries(%q: !migraphx.shaped<1x3x4x8xf16, 96x32x8x1>, %k: !migraphx.shaped<1x2x8x16xf16, 256x128x16x1>, %v: !migraphx.shaped<1x2x16x4xf16, 128x64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op leading dimension mismatch at dimension 1: queries=3 is not equal to or divisible by keys=2}}
  %0 = migraphx.attention %q, %k, %v {}
    : <1x3x4x8xf16, 96x32x8x1>, <1x2x8x16xf16, 256x128x16x1>, <1x2x16x4xf16, 128x64x4x1> -> <1x3x4x4xf16, 48x16x4x1>
  return
}

// -----

func.func @result_shape(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op result shape is inconsistent with attention dimensions: expected [2, 4, 4] but got [2, 4, 8]}}
  %0 = migraphx.attention %q, %k, %v {}
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x8xf16, 32x8x1>
  return
}

// -----

func.func @lse_shape(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op lse shape is inconsistent with attention dimensions: expected [2, 4] but got [2, 4, 1]}}
  %0:2 = migraphx.attention %q, %k, %v {}
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>, !migraphx.shaped<2x4x1xf16, 4x1x1>
  return
}

// -----

func.func @softmax_type(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op softmaxType must be a float type, got i32}}
  %0 = migraphx.attention %q, %k, %v {} softmax_type = i32
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @integers(%q: !migraphx.shaped<2x4x8xi8, 32x8x1>, %k: !migraphx.shaped<2x8x16xi8, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op softmaxType must be set explicitly when Q has a non-float element type}}
  %0 = migraphx.attention %q, %k, %v {}
    : <2x4x8xi8, 32x8x1>, <2x8x16xi8, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @element(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xi8, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op operand #2 must be !migraphx.shaped of 32-bit float or 16-bit float or bfloat16 type values, but got '!migraphx.shaped<2x16x4xi8, 64x4x1>'}}
  %0 = migraphx.attention %q, %k, %v {}
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xi8, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @body_missing(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %i0: !migraphx.shaped<2x4x16xf16, 64x16x1>) {
  // expected-error @+1 {{'migraphx.attention' op preSoftmaxElemWiseInputs are provided but preSoftmaxBody contains no operations}}
  %0 = migraphx.attention %q, %k, %v pre_softmax_inputs(%i0 : !migraphx.shaped<2x4x16xf16, 64x16x1>) {}
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @inputs_missing(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op preSoftmaxBody contains operations but no preSoftmaxElemWiseInputs are provided}}
  %0 = migraphx.attention %q, %k, %v {
  ^bb0(%b0: !migraphx.shaped<2x4x16xf16, 64x16x1>):
    %r = migraphx.mul %b0, %b0 : <2x4x16xf16, 64x16x1>, <2x4x16xf16, 64x16x1> -> <2x4x16xf16, 64x16x1>
    migraphx.yield %r : !migraphx.shaped<2x4x16xf16, 64x16x1>
  }
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @body_op(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %i0: !migraphx.shaped<2x4x16xf16, 64x16x1>) {
  %0 = migraphx.attention %q, %k, %v pre_softmax_inputs(%i0 : !migraphx.shaped<2x4x16xf16, 64x16x1>) {
  ^bb0(%b0: !migraphx.shaped<2x4x16xf16, 64x16x1>, %b1: !migraphx.shaped<2x4x16xf16, 64x16x1>):
    // expected-error @+1 {{'migraphx.reduce_sum' op preSoftmaxBody must only contain elementwise migraphx ops}}
    %r = migraphx.reduce_sum %b0 {axes = [2]} : <2x4x16xf16, 64x16x1> -> <2x4x1xf16, 4x1x1>
    migraphx.yield %r : !migraphx.shaped<2x4x1xf16, 4x1x1>
  }
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @block_arguments(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %i0: !migraphx.shaped<2x4x16xf16, 64x16x1>) {
  // expected-error @+1 {{'migraphx.attention' op preSoftmaxBody block must have exactly 2 arguments (1 for QK result + 1 preSoftmaxElemWiseInputs), got 3}}
  %0 = migraphx.attention %q, %k, %v pre_softmax_inputs(%i0 : !migraphx.shaped<2x4x16xf16, 64x16x1>) {
  ^bb0(%b0: !migraphx.shaped<2x4x16xf16, 64x16x1>, %b1: !migraphx.shaped<2x4x16xf16, 64x16x1>, %b2: !migraphx.shaped<2x4x16xf16, 64x16x1>):
    %r = migraphx.mul %b0, %b1 : <2x4x16xf16, 64x16x1>, <2x4x16xf16, 64x16x1> -> <2x4x16xf16, 64x16x1>
    migraphx.yield %r : !migraphx.shaped<2x4x16xf16, 64x16x1>
  }
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @yields_nothing(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %i0: !migraphx.shaped<2x4x16xf16, 64x16x1>) {
  %0 = migraphx.attention %q, %k, %v pre_softmax_inputs(%i0 : !migraphx.shaped<2x4x16xf16, 64x16x1>) {
  ^bb0(%b0: !migraphx.shaped<2x4x16xf16, 64x16x1>, %b1: !migraphx.shaped<2x4x16xf16, 64x16x1>):
    %r = migraphx.mul %b0, %b1 : <2x4x16xf16, 64x16x1>, <2x4x16xf16, 64x16x1> -> <2x4x16xf16, 64x16x1>
    // expected-error @+1 {{'migraphx.yield' op must yield a value when preSoftmaxBody contains operations}}
    migraphx.yield
  }
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @yields_unasked(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  %0 = migraphx.attention %q, %k, %v {
  ^bb0:
    // expected-error @+1 {{'migraphx.yield' op must not yield a value when preSoftmaxBody is empty}}
    migraphx.yield %q : !migraphx.shaped<2x4x8xf16, 32x8x1>
  }
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @kvcache(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op feature 'kvcache' requires 'currentSeqLen' operand}}
  %0 = migraphx.attention %q, %k, %v {} features = kvcache
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @sliding_window(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op feature 'sliding_window' requires 'kvcache' to be set}}
  %0 = migraphx.attention %q, %k, %v {} features = sliding_window slidingWindowSize = 4
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @window_size(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %l: !migraphx.shaped<2xi32, 1>) {
  // expected-error @+1 {{'migraphx.attention' op feature 'sliding_window' requires 'slidingWindowSize' attribute}}
  %0 = migraphx.attention %q, %k, %v current_seq_len(%l : !migraphx.shaped<2xi32, 1>) {} features = "kvcache|sliding_window"
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @negative_window(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %l: !migraphx.shaped<2xi32, 1>) {
  // expected-error @+1 {{'migraphx.attention' op slidingWindowSize must be positive}}
  %0 = migraphx.attention %q, %k, %v current_seq_len(%l : !migraphx.shaped<2xi32, 1>) {} features = "kvcache|sliding_window" slidingWindowSize = -1
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @long_window(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %l: !migraphx.shaped<2xi32, 1>) {
  // expected-error @+1 {{'migraphx.attention' op slidingWindowSize must not exceed max sequence length}}
  %0 = migraphx.attention %q, %k, %v current_seq_len(%l : !migraphx.shaped<2xi32, 1>) {} features = "kvcache|sliding_window" slidingWindowSize = 99
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @orphan_window(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op 'slidingWindowSize' attribute requires feature 'sliding_window'}}
  %0 = migraphx.attention %q, %k, %v {} slidingWindowSize = 4
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @prefix(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op feature 'prefix_offset' requires 'causal' to be set}}
  %0 = migraphx.attention %q, %k, %v {} features = prefix_offset
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @prefix_operand(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %l: !migraphx.shaped<2xi32, 1>) {
  // expected-error @+1 {{'migraphx.attention' op feature 'prefix_offset' requires 'prefixOffset' operand}}
  %0 = migraphx.attention %q, %k, %v current_seq_len(%l : !migraphx.shaped<2xi32, 1>) {} features = "kvcache|causal|prefix_offset"
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @orphan_length(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %l: !migraphx.shaped<2xi32, 1>) {
  // expected-error @+1 {{'migraphx.attention' op 'currentSeqLen' operand requires feature 'kvcache'}}
  %0 = migraphx.attention %q, %k, %v current_seq_len(%l : !migraphx.shaped<2xi32, 1>) {}
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @orphan_offset(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %o: !migraphx.shaped<2xi32, 1>) {
  // expected-error @+1 {{'migraphx.attention' op 'prefixOffset' operand requires feature 'prefix_offset'}}
  %0 = migraphx.attention %q, %k, %v prefix_offset(%o : !migraphx.shaped<2xi32, 1>) {}
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @length_shape(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %l: !migraphx.shaped<1x2xi32, 2x1>) {
  // expected-error @+1 {{'migraphx.attention' op 'currentSeqLen' shape must match Q leading dims [2] (got [1, 2]); broadcast across heads explicitly via migraphx.multibroadcast if needed}}
  %0 = migraphx.attention %q, %k, %v current_seq_len(%l : !migraphx.shaped<1x2xi32, 2x1>) {} features = kvcache
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @offset_shape(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %l: !migraphx.shaped<2xi32, 1>, %o: !migraphx.shaped<1xi32, 1>) {
  // expected-error @+1 {{'migraphx.attention' op 'prefixOffset' shape must match Q leading dims [2] (got [1])}}
  %0 = migraphx.attention %q, %k, %v current_seq_len(%l : !migraphx.shaped<2xi32, 1>) prefix_offset(%o : !migraphx.shaped<1xi32, 1>) {} features = "kvcache|causal|prefix_offset"
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}

// -----

func.func @split_without_lse(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op feature 'splitkv' requires LSE result}}
  %0 = migraphx.attention %q, %k, %v {} features = splitkv splitKV = 2
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x2x4x4xf16, 32x16x4x1>
  return
}

// -----

func.func @split_size(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op feature 'splitkv' requires splitKV > 1}}
  %0:2 = migraphx.attention %q, %k, %v {} features = splitkv
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>, !migraphx.shaped<2x4xf16, 4x1>
  return
}

// -----

func.func @orphan_split(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op 'splitKV' attribute requires feature 'splitkv'}}
  %0:2 = migraphx.attention %q, %k, %v {} splitKV = 2
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>, !migraphx.shaped<2x4xf16, 4x1>
  return
}

// -----

func.func @uneven_split(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op key sequence length (16) must be divisible by splitKV (3)}}
  %0:2 = migraphx.attention %q, %k, %v {} features = splitkv splitKV = 3
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x3x4x4xf16, 48x16x4x1>, !migraphx.shaped<2x3x4xf16, 12x4x1>
  return
}

// -----

func.func @split_result(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op result shape is inconsistent with attention dimensions: expected [2, 2, 4, 4] but got [2, 4, 4]}}
  %0:2 = migraphx.attention %q, %k, %v {} features = splitkv splitKV = 2
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>, !migraphx.shaped<2x2x4xf16, 8x4x1>
  return
}

// -----

func.func @split_lse(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{'migraphx.attention' op lse shape is inconsistent with attention dimensions: expected [2, 2, 4] but got [2, 4]}}
  %0:2 = migraphx.attention %q, %k, %v {} features = splitkv splitKV = 2
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x2x4x4xf16, 32x16x4x1>, !migraphx.shaped<2x4xf16, 4x1>
  return
}

// -----

func.func @split_inputs(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>, %i0: !migraphx.shaped<2x4x16xf16, 64x16x1>) {
  // expected-error @+1 {{'migraphx.attention' op preSoftmaxElemWiseInput shape rank (3) must match split QK shape rank (4) when splitkv is enabled}}
  %0:2 = migraphx.attention %q, %k, %v pre_softmax_inputs(%i0 : !migraphx.shaped<2x4x16xf16, 64x16x1>) {
  ^bb0(%b0: !migraphx.shaped<2x4x16xf16, 64x16x1>, %b1: !migraphx.shaped<2x4x16xf16, 64x16x1>):
    %r = migraphx.mul %b0, %b1 : <2x4x16xf16, 64x16x1>, <2x4x16xf16, 64x16x1> -> <2x4x16xf16, 64x16x1>
    migraphx.yield %r : !migraphx.shaped<2x4x16xf16, 64x16x1>
  } features = splitkv splitKV = 2
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x2x4x4xf16, 32x16x4x1>, !migraphx.shaped<2x2x4xf16, 8x4x1>
  return
}

// -----

func.func @feature(%q: !migraphx.shaped<2x4x8xf16, 32x8x1>, %k: !migraphx.shaped<2x8x16xf16, 128x16x1>, %v: !migraphx.shaped<2x16x4xf16, 64x4x1>) {
  // expected-error @+1 {{expected features to be one of [kvcache, causal, prefix_offset, sliding_window, splitkv], found 'paged'}}
  %0 = migraphx.attention %q, %k, %v {} features = paged
    : <2x4x8xf16, 32x8x1>, <2x8x16xf16, 128x16x1>, <2x16x4xf16, 64x4x1> -> <2x4x4xf16, 16x4x1>
  return
}
