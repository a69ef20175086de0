// RUN: hipgraft-opt %s --split-input-file --hipdnn-assign-layouts | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-assign-layouts --hipdnn-assign-layouts | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-assign-layouts --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// Convolutions that read images faster channels last get them so, and their filters too.

// REMARK: result is stored channels last; its readers gain about
// CHECK-LABEL: func.func @chain
// CHECK:         %[[A:.*]] = "hipdnn.graph"(%{{.*}})
// CHECK:         }) {name = "a", result_strides = [array<i64: 200704, 1, 3584, 64>]}
// CHECK:         %[[X:.*]] = "hipdnn.view"(%[[A]]) {offset = 0 : i64, strides = array<i64: 200704, 1, 3584, 64>}
// CHECK:         %[[W:.*]] = arith.constant dense<1.000000e+00> : tensor<64x3x3x64xf16>
// CHECK:         %[[F:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 576, 1, 192, 64>} : (tensor<64x3x3x64xf16>) -> tensor<64x64x3x3xf16>
// CHECK:         "hipdnn.graph"(%[[X]], %[[F]])
// CHECK:         }) {arg_strides = [array<i64: 200704, 1, 3584, 64>, array<i64: 576, 1, 192, 64>], name = "b"}
func.func @chain(%x: tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16> {
  %w = arith.constant dense<1.0> : tensor<64x64x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x64x56x56xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "a"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x64x56x56xf16>, %b: tensor<64x64x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "b"} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  return %1 : tensor<1x64x56x56xf16>
}

// -----

// The addend of a sum is stored like the sum.

// REMARK: result is stored channels last
// REMARK: result is stored channels last; its readers gain about
// CHECK-LABEL: func.func @residual
// CHECK:         }) {name = "a", result_strides = [array<i64: 200704, 1, 3584, 64>]}
// CHECK:         }) {arg_strides = [array<i64: 200704, 1, 3584, 64>, unit], name = "s", result_strides = [array<i64: 200704, 1, 3584, 64>]}
// CHECK:         }) {arg_strides = [array<i64: 200704, 1, 3584, 64>, array<i64: 576, 1, 192, 64>], name = "b"}
// CHECK:         }) {arg_strides = [array<i64: 200704, 1, 3584, 64>, array<i64: 576, 1, 192, 64>], name = "c"}
func.func @residual(%x: tensor<1x64x56x56xf16>) -> (tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>) {
  %w = arith.constant dense<1.0> : tensor<64x64x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x64x56x56xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "a"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  %s = "hipdnn.graph"(%0, %x) ({
  ^bb0(%a: tensor<1x64x56x56xf16>, %b: tensor<1x64x56x56xf16>):
    %r = "hipdnn.pointwise"(%a, %b) {mode = "add"} : (tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "s"} : (tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  %1 = "hipdnn.graph"(%s, %w) ({
  ^bb0(%a: tensor<1x64x56x56xf16>, %b: tensor<64x64x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "b"} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  %2 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x64x56x56xf16>, %b: tensor<64x64x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "c"} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  return %1, %2 : tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>
}

// -----

// A transposed view of the image is a view of the elements in their new order.

// REMARK: result is stored channels last; its readers gain about
// CHECK-LABEL: func.func @transposed
// CHECK:         }) {name = "a", result_strides = [array<i64: 200704, 1, 3584, 64>]}
// CHECK:         "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: {{[0-9]+}}, 3584, 64, 1>} : (tensor<1x64x56x56xf16>) -> tensor<1x56x56x64xf16>
// CHECK:         }) {name = "n"}
func.func @transposed(%x: tensor<1x64x56x56xf16>) -> (tensor<1x64x56x56xf16>, tensor<1x56x56x64xf16>) {
  %w = arith.constant dense<1.0> : tensor<64x64x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x64x56x56xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "a"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x64x56x56xf16>, %b: tensor<64x64x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "b"} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  %v = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 200704, 56, 1, 3136>} : (tensor<1x64x56x56xf16>) -> tensor<1x56x56x64xf16>
  %2 = "hipdnn.graph"(%v) ({
  ^bb0(%a: tensor<1x56x56x64xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "neg"} : (tensor<1x56x56x64xf16>) -> tensor<1x56x56x64xf16>
    "hipdnn.yield"(%r) : (tensor<1x56x56x64xf16>) -> ()
  }) {name = "n", arg_strides = [array<i64: 200704, 56, 1, 3136>]} : (tensor<1x56x56x64xf16>) -> tensor<1x56x56x64xf16>
  return %1, %2 : tensor<1x64x56x56xf16>, tensor<1x56x56x64xf16>
}

// -----

// A depthwise convolution in either order takes as long, but a norm over channels would copy its rows.
// Each filter belongs to a channel.

// REMARK: result is stored channels last; its readers gain about
// CHECK-LABEL: func.func @norm
// CHECK:         %[[W:.*]] = arith.constant dense<1.000000e+00> : tensor<1x7x7x64xf16>
// CHECK:         "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 1, 3136, 448, 64>} : (tensor<1x7x7x64xf16>) -> tensor<64x1x7x7xf16>
// CHECK:         }) {arg_strides = [unit, array<i64: 1, 3136, 448, 64>], name = "d", result_strides = [array<i64: 50176, 1, 1792, 64>]}
// CHECK:         %[[V:.*]] = "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: {{[0-9]+}}, 1792, 64, 1>} : (tensor<1x64x28x28xf16>) -> tensor<1x28x28x64xf16>
// CHECK:         "hipdnn.graph"(%[[V]],
// CHECK:         }) {name = "n"}
func.func @norm(%x: tensor<1x64x28x28xf16>, %s: tensor<1x1x1x64xf16>) -> tensor<1x28x28x64xf16> {
  %w = arith.constant dense<1.0> : tensor<64x1x7x7xf16>
  %0 = "hipdnn.graph"(%x, %w) ({
  ^bb0(%a: tensor<1x64x28x28xf16>, %b: tensor<64x1x7x7xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 3, 3>, post_padding = array<i64: 3, 3>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x28x28xf16>, tensor<64x1x7x7xf16>) -> tensor<1x64x28x28xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x28x28xf16>) -> ()
  }) {name = "d"} : (tensor<1x64x28x28xf16>, tensor<64x1x7x7xf16>) -> tensor<1x64x28x28xf16>
  %v = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 50176, 28, 1, 784>} : (tensor<1x64x28x28xf16>) -> tensor<1x28x28x64xf16>
  %1 = "hipdnn.graph"(%v, %s) ({
  ^bb0(%a: tensor<1x28x28x64xf16>, %b: tensor<1x1x1x64xf16>):
    %e = arith.constant dense<1.0e-6> : tensor<1xf32>
    %r = "hipdnn.rmsnorm"(%a, %b, %e) {forward_phase = "INFERENCE"} : (tensor<1x28x28x64xf16>, tensor<1x1x1x64xf16>, tensor<1xf32>) -> tensor<1x28x28x64xf16>
    "hipdnn.yield"(%r) : (tensor<1x28x28x64xf16>) -> ()
  }) {name = "n", arg_strides = [array<i64: 50176, 28, 1, 784>, unit]} : (tensor<1x28x28x64xf16>, tensor<1x1x1x64xf16>) -> tensor<1x28x28x64xf16>
  return %1 : tensor<1x28x28x64xf16>
}

// -----

// Filters that are an argument keep their order, even if another reader gains more than they cost.

// REMARK: result is stored channels last; its readers gain about
// CHECK-LABEL: func.func @filters
// CHECK:         }) {name = "a", result_strides = [array<i64: 802816, 1, 14336, 256>]}
// CHECK:         }) {arg_strides = [array<i64: 802816, 1, 14336, 256>, array<i64: 2304, 1, 768, 256>], name = "b"}
// CHECK:         }) {arg_strides = [array<i64: 802816, 1, 14336, 256>, unit], name = "c"}
func.func @filters(%x: tensor<1x256x56x56xf16>, %v: tensor<16x256x3x3xf16>) -> (tensor<1x256x56x56xf16>, tensor<1x16x56x56xf16>) {
  %w = arith.constant dense<1.0> : tensor<256x256x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x256x56x56xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x256x56x56xf16>) -> tensor<1x256x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x256x56x56xf16>) -> ()
  }) {name = "a"} : (tensor<1x256x56x56xf16>) -> tensor<1x256x56x56xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x256x56x56xf16>, %b: tensor<256x256x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x256x56x56xf16>, tensor<256x256x3x3xf16>) -> tensor<1x256x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x256x56x56xf16>) -> ()
  }) {name = "b"} : (tensor<1x256x56x56xf16>, tensor<256x256x3x3xf16>) -> tensor<1x256x56x56xf16>
  %2 = "hipdnn.graph"(%0, %v) ({
  ^bb0(%a: tensor<1x256x56x56xf16>, %b: tensor<16x256x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x256x56x56xf16>, tensor<16x256x3x3xf16>) -> tensor<1x16x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x56x56xf16>) -> ()
  }) {name = "c"} : (tensor<1x256x56x56xf16>, tensor<16x256x3x3xf16>) -> tensor<1x16x56x56xf16>
  return %1, %2 : tensor<1x256x56x56xf16>, tensor<1x16x56x56xf16>
}

// -----

// Filters are stored like images that are channels last anyway.

// CHECK-LABEL: func.func @given
// CHECK:         %[[W:.*]] = arith.constant dense<1.000000e+00> : tensor<32x2x2x64xf32>
// CHECK:         %[[F:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 256, 1, 128, 64>} : (tensor<32x2x2x64xf32>) -> tensor<32x64x2x2xf32>
// CHECK:         "hipdnn.graph"(%{{.*}}, %[[F]])
// CHECK:         }) {arg_strides = [array<i64: 50176, 1, 1792, 64>, array<i64: 256, 1, 128, 64>], name = "c"}
func.func @given(%x: tensor<1x28x28x64xf32>) -> tensor<1x32x14x14xf32> {
  %w = arith.constant dense<1.0> : tensor<32x64x2x2xf32>
  %v = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 50176, 1, 1792, 64>} : (tensor<1x28x28x64xf32>) -> tensor<1x64x28x28xf32>
  %0 = "hipdnn.graph"(%v, %w) ({
  ^bb0(%a: tensor<1x64x28x28xf32>, %b: tensor<32x64x2x2xf32>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<1x64x28x28xf32>, tensor<32x64x2x2xf32>) -> tensor<1x32x14x14xf32>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf32>) -> ()
  }) {name = "c", arg_strides = [array<i64: 50176, 1, 1792, 64>, unit]} : (tensor<1x64x28x28xf32>, tensor<32x64x2x2xf32>) -> tensor<1x32x14x14xf32>
  return %0 : tensor<1x32x14x14xf32>
}

// -----

// Filters of few channels in f32 keep their order, which takes less time.

// CHECK-LABEL: func.func @few_channels
// CHECK:         }) {arg_strides = [array<i64: 2352, 1, 84, 3>, unit], name = "c"}
func.func @few_channels(%x: tensor<1x28x28x3xf32>) -> tensor<1x32x14x14xf32> {
  %w = arith.constant dense<1.0> : tensor<32x3x2x2xf32>
  %v = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 2352, 1, 84, 3>} : (tensor<1x28x28x3xf32>) -> tensor<1x3x28x28xf32>
  %0 = "hipdnn.graph"(%v, %w) ({
  ^bb0(%a: tensor<1x3x28x28xf32>, %b: tensor<32x3x2x2xf32>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<1x3x28x28xf32>, tensor<32x3x2x2xf32>) -> tensor<1x32x14x14xf32>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf32>) -> ()
  }) {name = "c", arg_strides = [array<i64: 2352, 1, 84, 3>, unit]} : (tensor<1x3x28x28xf32>, tensor<32x3x2x2xf32>) -> tensor<1x32x14x14xf32>
  return %0 : tensor<1x32x14x14xf32>
}

// -----

// A 1x1 convolution gains, too, although its filters are an argument: rows of 14x14 positions end
// within a tile. That outweighs the reduction over positions, which copies them.

// REMARK: result is stored channels last; its readers gain about
// CHECK-LABEL: func.func @points
// CHECK:         }) {name = "a", result_strides = [array<i64: 200704, 1, 14336, 1024>]}
func.func @points(%x: tensor<8x1024x14x14xf16>, %w: tensor<2048x1024x1x1xf16>) -> (tensor<8x2048x14x14xf16>, tensor<8x1024x1x1xf16>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<8x1024x14x14xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<8x1024x14x14xf16>) -> tensor<8x1024x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<8x1024x14x14xf16>) -> ()
  }) {name = "a"} : (tensor<8x1024x14x14xf16>) -> tensor<8x1024x14x14xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<8x1024x14x14xf16>, %b: tensor<2048x1024x1x1xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<8x1024x14x14xf16>, tensor<2048x1024x1x1xf16>) -> tensor<8x2048x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<8x2048x14x14xf16>) -> ()
  }) {name = "b"} : (tensor<8x1024x14x14xf16>, tensor<2048x1024x1x1xf16>) -> tensor<8x2048x14x14xf16>
  %2 = "hipdnn.graph"(%0) ({
  ^bb0(%a: tensor<8x1024x14x14xf16>):
    %r = "hipdnn.reduction"(%a) {mode = "AVG"} : (tensor<8x1024x14x14xf16>) -> tensor<8x1024x1x1xf16>
    "hipdnn.yield"(%r) : (tensor<8x1024x1x1xf16>) -> ()
  }) {name = "c"} : (tensor<8x1024x14x14xf16>) -> tensor<8x1024x1x1xf16>
  return %1, %2 : tensor<8x2048x14x14xf16>, tensor<8x1024x1x1xf16>
}

// -----

// Groups of channels, as of a group norm, are stored as one dim.

// REMARK: result is stored channels last; its readers gain about
// CHECK-LABEL: func.func @groups_of_channels
// CHECK:         %[[A:.*]] = "hipdnn.graph"(%{{.*}})
// CHECK:         }) {name = "a", result_strides = [array<i64: 12544, 8, 1, 896, 64>]}
// CHECK:         %[[V:.*]] = "hipdnn.view"(%[[A]]) {offset = 0 : i64, strides = array<i64: {{[0-9]+}}, 1, 896, 64>}
// CHECK:         "hipdnn.graph"(%[[V]], %{{.*}})
func.func @groups_of_channels(%x: tensor<1x8x8x14x14xf16>) -> tensor<1x64x14x14xf16> {
  %w = arith.constant dense<1.0> : tensor<64x64x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x8x8x14x14xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x8x8x14x14xf16>) -> tensor<1x8x8x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x8x8x14x14xf16>) -> ()
  }) {name = "a"} : (tensor<1x8x8x14x14xf16>) -> tensor<1x8x8x14x14xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 12544, 196, 14, 1>} : (tensor<1x8x8x14x14xf16>) -> tensor<1x64x14x14xf16>
  %2 = "hipdnn.graph"(%1, %w) ({
  ^bb0(%a: tensor<1x64x14x14xf16>, %b: tensor<64x64x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x14x14xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x14x14xf16>) -> ()
  }) {name = "b"} : (tensor<1x64x14x14xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x14x14xf16>
  return %2 : tensor<1x64x14x14xf16>
}

// -----

// Filters may be part of a constant.

// REMARK: result is stored channels last; its readers gain about
// CHECK-LABEL: func.func @part_of_filters
// CHECK:         }) {name = "a", result_strides = [array<i64: 3136, 1, 224, 16>]}
// CHECK:         %[[W:.*]] = arith.constant dense<{{.*}}> : tensor<16x1x2x16xf16>
// CHECK:         "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 32, 1, 32, 16>} : (tensor<16x1x2x16xf16>) -> tensor<16x16x1x2xf16>
// CHECK-NOT:     tensor<32x16x1x2xf16>
func.func @part_of_filters(%x: tensor<1x16x14x14xf16>) -> tensor<1x16x14x13xf16> {
  %c = arith.constant dense<1.0> : tensor<32x16x1x2xf16>
  %w = "hipdnn.view"(%c) {offset = 512 : i64, strides = array<i64: 32, 2, 2, 1>} : (tensor<32x16x1x2xf16>) -> tensor<16x16x1x2xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x16x14x14xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x16x14x14xf16>) -> tensor<1x16x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x14x14xf16>) -> ()
  }) {name = "a"} : (tensor<1x16x14x14xf16>) -> tensor<1x16x14x14xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x16x14x14xf16>, %b: tensor<16x16x1x2xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x16x14x14xf16>, tensor<16x16x1x2xf16>) -> tensor<1x16x14x13xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x14x13xf16>) -> ()
  }) {name = "b"} : (tensor<1x16x14x14xf16>, tensor<16x16x1x2xf16>) -> tensor<1x16x14x13xf16>
  return %1 : tensor<1x16x14x13xf16>
}

// -----

// A product whose rows are the channels of the norm after it is stored transposed, as MLP-Mixer's
// products along tokens are. The residual, an argument, is read as it is.

// REMARK: result is stored channels last; its readers gain about
// CHECK-LABEL: func.func @rows_are_channels
// CHECK:         %[[SUM:.*]] = "hipdnn.graph"(%arg0, %arg1, %arg2)
// CHECK:         }) {name = "a", result_strides = [array<i64: 1, 64>]}
// CHECK:         %[[V:.*]] = "hipdnn.view"(%[[SUM]]) {offset = 0 : i64, strides = array<i64: {{[0-9]+}}, 64, 1>} : (tensor<64x9xf16>) -> tensor<1x9x64xf16>
// CHECK:         "hipdnn.graph"(%[[V]], %{{.*}})
func.func @rows_are_channels(%x: tensor<64x32xf16>, %w: tensor<32x9xf16>, %r: tensor<64x9xf16>) -> tensor<1x9x64xf16> {
  %s = arith.constant dense<1.0> : tensor<1x1x64xf16>
  %0 = "hipdnn.graph"(%x, %w, %r) ({
  ^bb0(%a: tensor<64x32xf16>, %b: tensor<32x9xf16>, %c: tensor<64x9xf16>):
    %p = "hipdnn.matmul"(%a, %b) : (tensor<64x32xf16>, tensor<32x9xf16>) -> tensor<64x9xf32>
    %q = "hipdnn.pointwise"(%c, %p) {mode = "add"} : (tensor<64x9xf16>, tensor<64x9xf32>) -> tensor<64x9xf16>
    "hipdnn.yield"(%q) : (tensor<64x9xf16>) -> ()
  }) {name = "a"} : (tensor<64x32xf16>, tensor<32x9xf16>, tensor<64x9xf16>) -> tensor<64x9xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 0, 1, 9>} : (tensor<64x9xf16>) -> tensor<1x9x64xf16>
  %2 = "hipdnn.graph"(%1, %s) ({
  ^bb0(%a: tensor<1x9x64xf16>, %b: tensor<1x1x64xf16>):
    %e = arith.constant dense<1.0e-5> : tensor<1xf32>
    %n = "hipdnn.layernorm"(%a, %b, %b, %e) {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64} : (tensor<1x9x64xf16>, tensor<1x1x64xf16>, tensor<1x1x64xf16>, tensor<1xf32>) -> tensor<1x9x64xf16>
    "hipdnn.yield"(%n) : (tensor<1x9x64xf16>) -> ()
  }) {name = "b"} : (tensor<1x9x64xf16>, tensor<1x1x64xf16>) -> tensor<1x9x64xf16>
  return %2 : tensor<1x9x64xf16>
}

// -----

// A factor of the next product is stored as that reads it.

// CHECK-LABEL: func.func @rows_are_multiplied
// CHECK-NOT:     result_strides
func.func @rows_are_multiplied(%x: tensor<64x32xf16>, %w: tensor<32x9xf16>) -> (tensor<1x9x64xf16>, tensor<64x64xf16>) {
  %s = arith.constant dense<1.0> : tensor<1x1x64xf16>
  %v = arith.constant dense<1.0> : tensor<9x64xf16>
  %0 = "hipdnn.graph"(%x, %w) ({
  ^bb0(%a: tensor<64x32xf16>, %b: tensor<32x9xf16>):
    %p = "hipdnn.matmul"(%a, %b) : (tensor<64x32xf16>, tensor<32x9xf16>) -> tensor<64x9xf16>
    "hipdnn.yield"(%p) : (tensor<64x9xf16>) -> ()
  }) {name = "a"} : (tensor<64x32xf16>, tensor<32x9xf16>) -> tensor<64x9xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 0, 1, 9>} : (tensor<64x9xf16>) -> tensor<1x9x64xf16>
  %2 = "hipdnn.graph"(%1, %s) ({
  ^bb0(%a: tensor<1x9x64xf16>, %b: tensor<1x1x64xf16>):
    %e = arith.constant dense<1.0e-5> : tensor<1xf32>
    %n = "hipdnn.layernorm"(%a, %b, %b, %e) {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64} : (tensor<1x9x64xf16>, tensor<1x1x64xf16>, tensor<1x1x64xf16>, tensor<1xf32>) -> tensor<1x9x64xf16>
    "hipdnn.yield"(%n) : (tensor<1x9x64xf16>) -> ()
  }) {name = "b"} : (tensor<1x9x64xf16>, tensor<1x1x64xf16>) -> tensor<1x9x64xf16>
  %3 = "hipdnn.graph"(%0, %v) ({
  ^bb0(%a: tensor<64x9xf16>, %b: tensor<9x64xf16>):
    %p = "hipdnn.matmul"(%a, %b) : (tensor<64x9xf16>, tensor<9x64xf16>) -> tensor<64x64xf16>
    "hipdnn.yield"(%p) : (tensor<64x64xf16>) -> ()
  }) {name = "c"} : (tensor<64x9xf16>, tensor<9x64xf16>) -> tensor<64x64xf16>
  return %2, %3 : tensor<1x9x64xf16>, tensor<64x64xf16>
}
