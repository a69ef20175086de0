// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-torch | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-torch --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// What torch cannot say stays a hipDNN op, and a remark tells why.

// REMARK: 'hipdnn.custom_op' op stays: torch has no op for it
// CHECK-LABEL: func.func @custom
// CHECK:         "hipdnn.custom_op"
func.func @custom(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "hipdnn.custom_op"(%x) {custom_op_id = "fusilli.rope", data = "template"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// REMARK: 'hipdnn.sdpa' op stays: torch-mlir has no random numbers of a given generator
// CHECK-LABEL: func.func @random
// CHECK:         "hipdnn.sdpa"
func.func @random(%q: tensor<1x2x8x4xf32>, %seed: tensor<1xi32>) -> tensor<1x2x8x4xf32> {
  %0 = "hipdnn.sdpa"(%q, %q, %q, %seed, %seed) {dropout_probability = 0.5 : f32, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x2x8x4xf32>
  return %0 : tensor<1x2x8x4xf32>
}

// -----

// A graph with one that stays holds torch ops beside it.

// REMARK: 'hipdnn.block_scale_dequantize' op stays: torch-mlir has no elements of type f8E8M0FNU
// CHECK-LABEL: func.func @mixed
// CHECK:         "hipdnn.fallback"
// CHECK:           "hipdnn.block_scale_dequantize"
// CHECK:           torch.aten.exp
func.func @mixed(%x: tensor<32xf8E4M3FN>, %s: tensor<1xf8E8M0FNU>) -> tensor<32xf32> {
  %0 = "hipdnn.graph"(%x, %s) ({
  ^bb0(%a: tensor<32xf8E4M3FN>, %b: tensor<1xf8E8M0FNU>):
    %1 = "hipdnn.block_scale_dequantize"(%a, %b) {block_size = array<i64: 32>} : (tensor<32xf8E4M3FN>, tensor<1xf8E8M0FNU>) -> tensor<32xf32>
    %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<32xf32>) -> tensor<32xf32>
    "hipdnn.yield"(%2) : (tensor<32xf32>) -> ()
  }) {name = "g"} : (tensor<32xf8E4M3FN>, tensor<1xf8E8M0FNU>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

// What is known at run time only is a tensor; padding of one side goes before the convolution.

// CHECK-LABEL: func.func @others
// CHECK-DAG:     torch.aten.constant_pad_nd
// CHECK:         torch.aten.convolution
// CHECK:         torch.aten.add.Tensor
// CHECK:         torch.aten.rsqrt
// CHECK-NOT:     hipdnn.{{[a-u]}}
func.func @others(%x: tensor<1x4x6x6xf32>, %w: tensor<4x4x2x2xf32>, %s: tensor<1x1x1x6xf32>, %eps: tensor<1xf32>) -> tensor<1x4x6x6xf32> {
  %0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x6x6xf32>, tensor<4x4x2x2xf32>) -> tensor<1x4x6x6xf32>
  %1 = "hipdnn.rmsnorm"(%0, %s, %eps) {forward_phase = "INFERENCE"} : (tensor<1x4x6x6xf32>, tensor<1x1x1x6xf32>, tensor<1xf32>) -> tensor<1x4x6x6xf32>
  return %1 : tensor<1x4x6x6xf32>
}
