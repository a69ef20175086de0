// RUN: hipgraft-opt %s --hipdnn-check-engine="engines=MIOPEN_ENGINE,HIPBLASLT_ENGINE,iree arch=gfx942" --remarks -o %t.mlir 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t.mlir
// RUN: hipgraft-opt %s --hipdnn-check-engine --hipdnn-check-engine -o %t.twice.mlir
// RUN: diff %t.mlir %t.twice.mlir
// Each graph and each op outside of graphs is checked, and nothing changes.

// The graph follows MIOpen's pattern of a convolution and its activation.

// REMARK: remark: MIOPEN_ENGINE takes graph 'conv_relu' [passed=hipdnn-check-engine:taken]
// REMARK: remark: HIPBLASLT_ENGINE does not take graph 'conv_relu', at 'conv1': expected block_scale_dequantize, matmul or pointwise, but found 'conv_fprop' [missed=hipdnn-check-engine:declined]
// REMARK: remark: iree takes graph 'conv_relu'
// CHECK-LABEL: func.func @graph
// CHECK:         "hipdnn.graph"
func.func @graph(%x: tensor<1x8x8x8xf16>, %w: tensor<4x8x1x1xf16>) -> tensor<1x4x8x8xf16> {
  %y = "hipdnn.graph"(%x, %w) ({
  ^bb0(%a: tensor<1x8x8x8xf16>, %b: tensor<4x8x1x1xf16>):
    %c = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x8x8x8xf16>, tensor<4x8x1x1xf16>) -> tensor<1x4x8x8xf32> loc("conv1")
    %r = "hipdnn.pointwise"(%c) {mode = "relu_fwd"} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf16>
    "hipdnn.yield"(%r) : (tensor<1x4x8x8xf16>) -> ()
  }) {name = "conv_relu"} : (tensor<1x8x8x8xf16>, tensor<4x8x1x1xf16>) -> tensor<1x4x8x8xf16>
  return %y : tensor<1x4x8x8xf16>
}

// A column-major factor is fine, one of 64-bit floats is not.

// REMARK: MIOPEN_ENGINE does not take 'hipdnn.matmul' op: expected
// REMARK: HIPBLASLT_ENGINE does not take 'hipdnn.matmul' op: expected 'a' of type f32, f16 or bf16, but found f64
// REMARK: iree takes 'hipdnn.matmul' op
// CHECK-LABEL: func.func @op
// CHECK:         "hipdnn.matmul"
func.func @op(%a: tensor<8x4xf64>, %b: tensor<6x4xf64>) -> tensor<8x6xf64> {
  %t = "hipdnn.view"(%b) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<6x4xf64>) -> tensor<4x6xf64>
  %c = "hipdnn.matmul"(%a, %t) : (tensor<8x4xf64>, tensor<4x6xf64>) -> tensor<8x6xf64>
  return %c : tensor<8x6xf64>
}
