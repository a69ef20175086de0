// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-torch | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-torch --convert-hipdnn-to-torch | FileCheck %s
// hipDNN ops become torch ops, and graphs of them fallbacks.

// Between two converted ops there is no cast; arithmetic is in f32, rounded once at the end.

// CHECK-LABEL: func.func @graph
// CHECK:         "hipdnn.fallback"(%{{.*}}, %{{.*}}) ({
// CHECK-DAG:       %[[A:.*]] = torch_c.from_builtin_tensor %{{.*}} : tensor<8x4xf16>
// CHECK-DAG:       %[[WA:.*]] = torch.aten.to.dtype %[[A]]
// CHECK:           %[[C:.*]] = torch.aten.matmul %[[WA]], %{{.*}} -> !torch.vtensor<[8,6],f32>
// CHECK-NOT:       torch_c
// CHECK:           %[[R:.*]] = torch.aten.clamp %[[C]]
// CHECK:           %[[N:.*]] = torch.aten.to.dtype %[[R]]
// CHECK:           %[[Y:.*]] = torch_c.to_builtin_tensor %[[N]] : !torch.vtensor<[8,6],f16> -> tensor<8x6xf16>
// CHECK:           "hipdnn.yield"(%[[Y]])
// CHECK:         }) {arg_strides = [unit, array<i64: 1, 4>], name = "g"}
func.func @graph(%a: tensor<8x4xf16>, %b: tensor<6x4xf16>) -> tensor<8x6xf16> {
  %t = "hipdnn.view"(%b) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<6x4xf16>) -> tensor<4x6xf16>
  %0 = "hipdnn.graph"(%a, %t) ({
  ^bb0(%ga: tensor<8x4xf16>, %gb: tensor<4x6xf16>):
    %1 = "hipdnn.matmul"(%ga, %gb) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf32>
    %2 = "hipdnn.pointwise"(%1) {mode = "relu_fwd"} : (tensor<8x6xf32>) -> tensor<8x6xf16>
    "hipdnn.yield"(%2) : (tensor<8x6xf16>) -> ()
  }) {name = "g", arg_strides = [unit, array<i64: 1, 4>]} : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
  return %0 : tensor<8x6xf16>
}

// -----

// Ops of a function become torch ops between casts; groups follow from the channels.

// CHECK-LABEL: func.func @ops
// CHECK:         %[[G:.*]] = torch.constant.int 2
// CHECK:         torch.aten.convolution %{{.*}}, %[[G]] : {{.*}} -> !torch.vtensor<[1,4,6,6],f32>
// CHECK:         torch.aten.rsqrt
// CHECK:         torch.aten.softmax.int
// CHECK-NOT:     hipdnn.{{[a-u]}}
func.func @ops(%x: tensor<1x4x6x6xf32>, %w: tensor<4x2x3x3xf32>, %s: tensor<1x1x1x6xf32>) -> tensor<1x4x6x6xf32> {
  %0 = "hipdnn.conv_fprop"(%x, %w) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x4x6x6xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x6x6xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<1xf32>
  %1 = "hipdnn.rmsnorm"(%0, %s, %eps) {forward_phase = "INFERENCE"} : (tensor<1x4x6x6xf32>, tensor<1x1x1x6xf32>, tensor<1xf32>) -> tensor<1x4x6x6xf32>
  %2 = "hipdnn.sdpa"(%1, %0, %x) {attn_scale_value = 0.5 : f32} : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %2 : tensor<1x4x6x6xf32>
}
