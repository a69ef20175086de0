// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline="engines=MIOPEN_ENGINE,HIPBLASLT_ENGINE,iree arch=gfx950" --remarks -o %t 2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline=engines=HIPBLASLT_ENGINE --remarks 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline=engines=iree,MIOPEN_ENGINE | FileCheck %s --check-prefix=IREE
// RUN: not hipgraft-opt %s --hipdnn-outline=engines=HIPBLASLT 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// An engine gets the graphs that it takes; the first that takes one is preferred.

// UNKNOWN: error: 'hipdnn-outline': unknown engine 'HIPBLASLT': expected iree, ASM_SDPA_ENGINE,
// IREE-NOT: MIOPEN_ENGINE

// A bias waits for its activation. MIOpen's activations do not include exp.

// CHECK-LABEL: func.func @conv_bias_relu
// CHECK:         "hipdnn.conv_fprop"
// CHECK:         "hipdnn.pointwise"{{.*}} -> tensor<1x4x8x8xf32>
// CHECK:         "hipdnn.pointwise"{{.*}}mode = "relu_fwd"
// CHECK:         engine = "MIOPEN_ENGINE", name = "conv_fprop_add_relu_fwd_0"
// CHECK:         engine = "iree", name = "exp_1"
// REMARK:        3 ops as graph 'conv_fprop_add_relu_fwd_0' for MIOPEN_ENGINE
func.func @conv_bias_relu(%x: tensor<1x8x8x8xf16>, %w: tensor<4x8x1x1xf16>, %b: tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf16> {
  %c = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x8x8x8xf16>, tensor<4x8x1x1xf16>) -> tensor<1x4x8x8xf16>
  %s = "hipdnn.pointwise"(%c, %b) {mode = "add"} : (tensor<1x4x8x8xf16>, tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf16>
  %r = "hipdnn.pointwise"(%s) {mode = "relu_fwd"} : (tensor<1x4x8x8xf16>) -> tensor<1x4x8x8xf16>
  %e = "hipdnn.pointwise"(%r) {mode = "exp"} : (tensor<1x4x8x8xf16>) -> tensor<1x4x8x8xf16>
  return %e : tensor<1x4x8x8xf16>
}

// -----

// Without the activation, the bias is left to the next engine.

// CHECK-LABEL: func.func @conv_bias
// CHECK:         engine = "MIOPEN_ENGINE", name = "conv_fprop_0"
// CHECK:         engine = "MIOPEN_ENGINE", name = "add_1"
// CHECK:         engine = "iree", name = "neg_2"
// REMARK:        'hipdnn.pointwise' starts a graph: MIOPEN_ENGINE does not take 'hipdnn.conv_fprop', 'hipdnn.pointwise': pattern 'convolution-activation' (convolution [bias] activation) needs 'activation', which the graph does not have [missed=hipdnn-outline:not-fused]
func.func @conv_bias(%x: tensor<1x8x8x8xf32>, %w: tensor<4x8x1x1xf32>, %b: tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %c = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x8x8x8xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x8x8xf32>
  %s = "hipdnn.pointwise"(%c, %b) {mode = "add"} : (tensor<1x4x8x8xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %n = "hipdnn.pointwise"(%s) {mode = "neg"} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %n : tensor<1x4x8x8xf32>
}

// -----

// Each half of a block-scaled product waits for the other and for the product.

// CHECK-LABEL: func.func @scaled_product
// CHECK:         engine = "HIPBLASLT_ENGINE", name = "block_scale_dequantize_block_scale_dequantize_matmul_0"
// CHECK-NOT:     "hipdnn.graph"
func.func @scaled_product(%x: tensor<128x16xf8E4M3FN>, %s: tensor<16x4xf8E8M0FNU>, %y: tensor<128x32xf8E4M3FN>, %t: tensor<4x32xf8E8M0FNU>) -> tensor<16x32xbf16> {
  %v = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 1, 16>} : (tensor<128x16xf8E4M3FN>) -> tensor<16x128xf8E4M3FN>
  %a = "hipdnn.block_scale_dequantize"(%v, %s) {block_size = array<i64: 1, 32>} : (tensor<16x128xf8E4M3FN>, tensor<16x4xf8E8M0FNU>) -> tensor<16x128xf32>
  %b = "hipdnn.block_scale_dequantize"(%y, %t) {block_size = array<i64: 32, 1>} : (tensor<128x32xf8E4M3FN>, tensor<4x32xf8E8M0FNU>) -> tensor<128x32xf32>
  %c = "hipdnn.matmul"(%a, %b) : (tensor<16x128xf32>, tensor<128x32xf32>) -> tensor<16x32xbf16>
  return %c : tensor<16x32xbf16>
}

// -----

// The sum has a reader besides the activation, so that MIOpen cannot keep it inside.

// CHECK-LABEL: func.func @tapped
// CHECK:         name = "conv_fprop_0"
// CHECK:         name = "add_1"
// CHECK:         name = "relu_fwd_2"
// REMARK:        MIOPEN_ENGINE does not take 'hipdnn.conv_fprop', 'hipdnn.pointwise', 'hipdnn.pointwise': expected its result to stay in the graph [missed=hipdnn-outline:not-fused]
func.func @tapped(%x: tensor<1x8x8x8xf32>, %w: tensor<4x8x1x1xf32>, %b: tensor<1x4x1x1xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %c = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x8x8x8xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x8x8xf32>
  %s = "hipdnn.pointwise"(%c, %b) {mode = "add"} : (tensor<1x4x8x8xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %r = "hipdnn.pointwise"(%s) {mode = "relu_fwd"} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %s, %r : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}

// -----

// What no engine takes stays, with the reason of each.

// ONE-LABEL: remark: no engine takes 'hipdnn.reduction' op; HIPBLASLT_ENGINE: expected block_scale_dequantize, matmul or pointwise, but found 'reduction' of mode 'ADD' [missed=hipdnn-outline:not-taken]
// CHECK-LABEL: func.func @two_engines
// CHECK:         engine = "HIPBLASLT_ENGINE", name = "matmul_relu_fwd_0"
// CHECK:         engine = "iree", name = "reduction_1"
func.func @two_engines(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>) -> tensor<8x1xf32> {
  %c = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %r = "hipdnn.pointwise"(%c) {mode = "relu_fwd"} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %m = "hipdnn.reduction"(%r) {mode = "ADD"} : (tensor<8x6xf32>) -> tensor<8x1xf32>
  return %m : tensor<8x1xf32>
}
