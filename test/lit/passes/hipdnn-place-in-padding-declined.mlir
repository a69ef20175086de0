// RUN: hipgraft-opt %s --split-input-file --hipdnn-place-in-padding | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-place-in-padding --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// Results without a border, with a reason where a reader would gain.

// What a function returns has no border.

// REMARK: convolution pads its image itself, because 'func.return' op reads its image in another order
// CHECK-LABEL: func.func @returned
// CHECK-NOT:     resample_fwd
func.func @returned(%x: tensor<1x32x14x14xf16>) -> (tensor<1x32x14x14xf16>, tensor<1x32x14x14xf16>) {
  %c = arith.constant dense<1.0> : tensor<32x3x3x32xf16>
  %w = "hipdnn.view"(%c) {offset = 0 : i64, strides = array<i64: 288, 1, 96, 32>} : (tensor<32x3x3x32xf16>) -> tensor<32x32x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x32x14x14xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {name = "a", result_strides = [array<i64: 6272, 1, 448, 32>]} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 6272, 1, 448, 32>} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %2 = "hipdnn.graph"(%1, %w) ({
  ^bb0(%a: tensor<1x32x14x14xf16>, %b: tensor<32x32x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {arg_strides = [array<i64: 6272, 1, 448, 32>, array<i64: 288, 1, 96, 32>], name = "b"} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
  return %0, %2 : tensor<1x32x14x14xf16>, tensor<1x32x14x14xf16>
}

// -----

// A convolution with other padding would read across the rows of the border.

// REMARK: convolution pads its image itself, because 'hipdnn.conv_fprop' op of 'c' reads its image
// CHECK-LABEL: func.func @other_padding
// CHECK-NOT:     resample_fwd
func.func @other_padding(%x: tensor<1x32x14x14xf16>) -> (tensor<1x32x14x14xf16>, tensor<1x32x14x14xf16>) {
  %c = arith.constant dense<1.0> : tensor<32x3x3x32xf16>
  %w = "hipdnn.view"(%c) {offset = 0 : i64, strides = array<i64: 288, 1, 96, 32>} : (tensor<32x3x3x32xf16>) -> tensor<32x32x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x32x14x14xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {name = "a", result_strides = [array<i64: 6272, 1, 448, 32>]} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 6272, 1, 448, 32>} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %2 = "hipdnn.graph"(%1, %w) ({
  ^bb0(%a: tensor<1x32x14x14xf16>, %b: tensor<32x32x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {arg_strides = [array<i64: 6272, 1, 448, 32>, array<i64: 288, 1, 96, 32>], name = "b"} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
  %3 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 6272, 1, 448, 32>} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %4 = "hipdnn.graph"(%3, %w) ({
  ^bb0(%a: tensor<1x32x14x14xf16>, %b: tensor<32x32x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 0, 2>, post_padding = array<i64: 2, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {arg_strides = [array<i64: 6272, 1, 448, 32>, array<i64: 288, 1, 96, 32>], name = "c"} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
  return %2, %4 : tensor<1x32x14x14xf16>, tensor<1x32x14x14xf16>
}

// -----

// Another engine's graph writes packed results.

// REMARK: convolution pads its image itself, because engine 'miopen' writes it
// CHECK-LABEL: func.func @engine
// CHECK-NOT:     resample_fwd
func.func @engine(%x: tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16> {
  %c = arith.constant dense<1.0> : tensor<32x3x3x32xf16>
  %w = "hipdnn.view"(%c) {offset = 0 : i64, strides = array<i64: 288, 1, 96, 32>} : (tensor<32x3x3x32xf16>) -> tensor<32x32x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x32x14x14xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {engine = "miopen", name = "a", result_strides = [array<i64: 6272, 1, 448, 32>]} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 6272, 1, 448, 32>} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %2 = "hipdnn.graph"(%1, %w) ({
  ^bb0(%a: tensor<1x32x14x14xf16>, %b: tensor<32x32x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {arg_strides = [array<i64: 6272, 1, 448, 32>, array<i64: 288, 1, 96, 32>], name = "b"} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
  return %2 : tensor<1x32x14x14xf16>
}

// -----

// A graph reads the image with and without padding.

// REMARK: convolution pads its image itself, because 'b' reads its image without padding, too
// CHECK-LABEL: func.func @both
// CHECK-NOT:     resample_fwd
func.func @both(%x: tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16> {
  %c = arith.constant dense<1.0> : tensor<32x3x3x32xf16>
  %w = "hipdnn.view"(%c) {offset = 0 : i64, strides = array<i64: 288, 1, 96, 32>} : (tensor<32x3x3x32xf16>) -> tensor<32x32x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x32x14x14xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {name = "a", result_strides = [array<i64: 6272, 1, 448, 32>]} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 6272, 1, 448, 32>} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %2 = "hipdnn.graph"(%1, %w) ({
  ^bb0(%a: tensor<1x32x14x14xf16>, %b: tensor<32x32x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
    %s = "hipdnn.pointwise"(%r, %a) {mode = "add"} : (tensor<1x32x14x14xf16>, tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%s) : (tensor<1x32x14x14xf16>) -> ()
  }) {arg_strides = [array<i64: 6272, 1, 448, 32>, array<i64: 288, 1, 96, 32>], name = "b"} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
  return %2 : tensor<1x32x14x14xf16>
}

// -----

// Channels first, convolutions do not gain.

// CHECK-LABEL: func.func @first
// CHECK-NOT:     resample_fwd
func.func @first(%x: tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16> {
  %c = arith.constant dense<1.0> : tensor<32x3x3x32xf16>
  %w = "hipdnn.view"(%c) {offset = 0 : i64, strides = array<i64: 288, 1, 96, 32>} : (tensor<32x3x3x32xf16>) -> tensor<32x32x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x32x14x14xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {name = "a"} : (tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  %2 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x32x14x14xf16>, %b: tensor<32x32x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {arg_strides = [unit, array<i64: 288, 1, 96, 32>], name = "b"} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
  return %2 : tensor<1x32x14x14xf16>
}
