// RUN: hipgraft-opt %s --split-input-file --hipdnn-place-in-padding | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-place-in-padding --hipdnn-place-in-padding | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-place-in-padding --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --split-input-file --hipdnn-place-in-padding=target=gfx1100 | FileCheck %s --check-prefix=RDNA
// A result is stored with the padding of the convolution that reads it.

// REMARK: result is stored inside the padding of its reader
// RDNA-NOT:      resample_fwd
// CHECK-LABEL: func.func @chain
// CHECK:         %[[A:.*]] = "hipdnn.graph"(%{{.*}})
// CHECK:           %[[R:.*]] = "hipdnn.pointwise"
// CHECK:           %[[P:.*]] = "hipdnn.resample_fwd"(%[[R]])
// CHECK-SAME:        padding_mode = "ZERO_PAD"
// CHECK-SAME:        post_padding = array<i64: 1, 1>, pre_padding = array<i64: 1, 1>
// CHECK-SAME:        resample_mode = "AVGPOOL_INCLUDE_PADDING"
// CHECK-SAME:        window = array<i64: 1, 1>
// CHECK:           "hipdnn.yield"(%[[P]]) : (tensor<1x32x16x16xf16>) -> ()
// CHECK:         }) {name = "a", result_strides = [array<i64: 8192, 1, 512, 32>]}
// CHECK:         %[[V:.*]] = "hipdnn.view"(%[[A]]) {offset = 0 : i64, strides = array<i64: 8192, 1, 512, 32>} : (tensor<1x32x16x16xf16>) -> tensor<1x32x16x16xf16>
// CHECK:         "hipdnn.graph"(%[[V]], %{{.*}})
// CHECK:           "hipdnn.conv_fprop"
// CHECK-SAME:        post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>
// CHECK-SAME:        (tensor<1x32x16x16xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
// CHECK:         }) {arg_strides = [array<i64: 8192, 1, 512, 32>, array<i64: 288, 1, 96, 32>], name = "b"}
func.func @chain(%x: tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16> {
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
  return %2 : tensor<1x32x14x14xf16>
}

// -----

// Other graphs read what is inside the border.

// REMARK: result is stored inside the padding of its reader
// CHECK-LABEL: func.func @residual
// CHECK:         %[[A:.*]] = "hipdnn.graph"(%{{.*}})
// CHECK:         }) {name = "a", result_strides = [array<i64: 8192, 1, 512, 32>]} : (tensor<1x32x14x14xf16>) -> tensor<1x32x16x16xf16>
// CHECK:         "hipdnn.view"(%[[A]]) {offset = 0 : i64, strides = array<i64: 8192, 1, 512, 32>} : (tensor<1x32x16x16xf16>) -> tensor<1x32x16x16xf16>
// CHECK:         name = "b"}
// CHECK:         %[[I:.*]] = "hipdnn.view"(%[[A]]) {offset = 544 : i64, strides = array<i64: 8192, 1, 512, 32>} : (tensor<1x32x16x16xf16>) -> tensor<1x32x14x14xf16>
// CHECK:         "hipdnn.graph"(%[[I]], %{{.*}})
// CHECK:         }) {arg_strides = [array<i64: 8192, 1, 512, 32>, unit], name = "s"}
func.func @residual(%x: tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16> {
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
  %4 = "hipdnn.graph"(%3, %2) ({
  ^bb0(%a: tensor<1x32x14x14xf16>, %b: tensor<1x32x14x14xf16>):
    %r = "hipdnn.pointwise"(%a, %b) {mode = "add"} : (tensor<1x32x14x14xf16>, tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {arg_strides = [array<i64: 6272, 1, 448, 32>, unit], name = "s"} : (tensor<1x32x14x14xf16>, tensor<1x32x14x14xf16>) -> tensor<1x32x14x14xf16>
  return %4 : tensor<1x32x14x14xf16>
}

// -----

// The border goes around groups of channels.

// REMARK: result is stored inside the padding of its reader
// CHECK-LABEL: func.func @groups_of_channels
// CHECK:         "hipdnn.resample_fwd"
// CHECK-SAME:        post_padding = array<i64: 0, 1, 1>, pre_padding = array<i64: 0, 1, 1>
// CHECK:         }) {name = "a", result_strides = [array<i64: 8192, 8, 1, 512, 32>]} : (tensor<1x4x8x14x14xf16>) -> tensor<1x4x8x16x16xf16>
// CHECK:         "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 8192, 1, 512, 32>} : (tensor<1x4x8x16x16xf16>) -> tensor<1x32x16x16xf16>
func.func @groups_of_channels(%x: tensor<1x4x8x14x14xf16>) -> tensor<1x32x14x14xf16> {
  %c = arith.constant dense<1.0> : tensor<32x3x3x32xf16>
  %w = "hipdnn.view"(%c) {offset = 0 : i64, strides = array<i64: 288, 1, 96, 32>} : (tensor<32x3x3x32xf16>) -> tensor<32x32x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x4x8x14x14xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x4x8x14x14xf16>) -> tensor<1x4x8x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x4x8x14x14xf16>) -> ()
  }) {name = "a", result_strides = [array<i64: 6272, 8, 1, 448, 32>]} : (tensor<1x4x8x14x14xf16>) -> tensor<1x4x8x14x14xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 1, 448, 32>} : (tensor<1x4x8x14x14xf16>) -> tensor<1x32x14x14xf16>
  %2 = "hipdnn.graph"(%1, %w) ({
  ^bb0(%a: tensor<1x32x14x14xf16>, %b: tensor<32x32x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x14x14xf16>) -> ()
  }) {arg_strides = [array<i64: 1, 1, 448, 32>, array<i64: 288, 1, 96, 32>], name = "b"} : (tensor<1x32x14x14xf16>, tensor<32x32x3x3xf16>) -> tensor<1x32x14x14xf16>
  return %2 : tensor<1x32x14x14xf16>
}

// -----

// A depthwise convolution that reads each element more than nine times: channels come first, and no
// view shows the image. Another op reads what is inside.

// CHECK-LABEL: func.func @depthwise
// RDNA-LABEL:  func.func @depthwise
// RDNA:        resample_fwd
// CHECK:         %[[X:.*]] = "hipdnn.graph"(%arg0)
// CHECK:           "hipdnn.resample_fwd"(%{{.*}}) {{.*}} -> tensor<1x24x32x32xf16>
// CHECK:         }) {name = "a"} : (tensor<1x24x28x28xf16>) -> tensor<1x24x32x32xf16>
// CHECK:         "hipdnn.graph"(%[[X]], %arg1)
// CHECK:           "hipdnn.conv_fprop"({{.*}}) {dilation = array<i64: 1, 1>, post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>
// CHECK:         %[[INSIDE:.*]] = "hipdnn.view"(%[[X]]) {offset = 66 : i64, strides = array<i64: 24576, 1024, 32, 1>} : (tensor<1x24x32x32xf16>) -> tensor<1x24x28x28xf16>
// CHECK:         "hipdnn.graph"(%[[INSIDE]])
func.func @depthwise(%x: tensor<1x24x28x28xf16>, %w: tensor<24x1x5x5xf16>) -> (tensor<1x24x28x28xf16>, tensor<1x24x28x28xf16>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x24x28x28xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x24x28x28xf16>) -> tensor<1x24x28x28xf16>
    "hipdnn.yield"(%r) : (tensor<1x24x28x28xf16>) -> ()
  }) {name = "a"} : (tensor<1x24x28x28xf16>) -> tensor<1x24x28x28xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x24x28x28xf16>, %b: tensor<24x1x5x5xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 2, 2>, post_padding = array<i64: 2, 2>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x24x28x28xf16>, tensor<24x1x5x5xf16>) -> tensor<1x24x28x28xf16>
    "hipdnn.yield"(%r) : (tensor<1x24x28x28xf16>) -> ()
  }) {name = "b"} : (tensor<1x24x28x28xf16>, tensor<24x1x5x5xf16>) -> tensor<1x24x28x28xf16>
  %2 = "hipdnn.graph"(%0) ({
  ^bb0(%a: tensor<1x24x28x28xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "neg"} : (tensor<1x24x28x28xf16>) -> tensor<1x24x28x28xf16>
    "hipdnn.yield"(%r) : (tensor<1x24x28x28xf16>) -> ()
  }) {name = "c"} : (tensor<1x24x28x28xf16>) -> tensor<1x24x28x28xf16>
  return %1, %2 : tensor<1x24x28x28xf16>, tensor<1x24x28x28xf16>
}
