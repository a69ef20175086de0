// RUN: hipgraft-opt %s --split-input-file --hipdnn-subpixel-convolutions | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-subpixel-convolutions --hipdnn-subpixel-convolutions | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-subpixel-convolutions --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --split-input-file --hipdnn-subpixel-convolutions=max-bytes=4 --remarks -o %t 2>&1 | FileCheck %s --check-prefix=SMALL
// Transposed convolutions of constant filters become convolutions of their input.

// REMARK-COUNT-7: remark: phases are channels of one convolution
// REMARK: remark: its zeros are multiplied: it does not read all elements of 'dy'
// REMARK: remark: its zeros are multiplied: its filters are dilated
// REMARK-NOT: remark
// SMALL-COUNT-6: remark: its zeros are multiplied: its filters would take more than 4 bytes

// The windows reach one element beyond both ends. Each phase has two elements of the filter; where
// the third element of the input adds nothing to it, there is a zero.

// CHECK-LABEL: func.func @halves
// CHECK-SAME:    (%[[X:.*]]: tensor<1x1x8xf32>)
// CHECK:         %[[W:.*]] = arith.constant dense<{{\[\[\[}}4.000000e+00, 2.000000e+00, 0.000000e+00]], {{\[\[}}0.000000e+00, 3.000000e+00, 1.000000e+00]]]> : tensor<2x1x3xf32>
// CHECK:         %[[Y:.*]] = "hipdnn.conv_fprop"(%[[X]], %[[W]]) {dilation = array<i64: 1>, post_padding = array<i64: 1>, pre_padding = array<i64: 1>, stride = array<i64: 1>} {{.*}} -> tensor<1x2x8xf32>
// CHECK:         %[[V:.*]] = "hipdnn.view"(%[[Y]]) {offset = 0 : i64, strides = array<i64: {{[0-9]+, [0-9]+}}, 1, 8>} {{.*}} -> tensor<1x1x8x2xf32>
// CHECK:         %[[C:.*]] = "hipdnn.pointwise"(%[[V]]) {mode = "identity"}
// CHECK:         %[[D:.*]] = "hipdnn.view"(%[[C]]) {offset = 0 : i64, strides = array<i64: 16, 16, 1>} {{.*}} -> tensor<1x1x16xf32>
// CHECK:         return %[[D]]
func.func @halves(%x: tensor<1x1x8xf32>) -> tensor<1x1x16xf32> {
  %w = arith.constant dense<[[[1.0, 2.0, 3.0, 4.0]]]> : tensor<1x1x4xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 1>, pre_padding = array<i64: 1>, stride = array<i64: 2>} : (tensor<1x1x8xf32>, tensor<1x1x4xf32>) -> tensor<1x1x16xf32>
  return %0 : tensor<1x1x16xf32>
}

// -----

// With stride 1, the filter is reversed, and its channels are swapped.

// CHECK-LABEL: func.func @reversed
// CHECK:         arith.constant dense<{{\[\[}}[2.{{0*}}e+00, 1.{{0*}}e+00], [6.{{0*}}e+00, 5.{{0*}}e+00]], {{\[}}[4.{{0*}}e+00, 3.{{0*}}e+00], [8.{{0*}}e+00, 7.{{0*}}e+00]]]> : tensor<2x2x2xf32>
// CHECK-NEXT:    %[[Y:.*]] = "hipdnn.conv_fprop"{{.*}} {dilation = array<i64: 1>, post_padding = array<i64: 1>, pre_padding = array<i64: 1>, stride = array<i64: 1>} {{.*}} -> tensor<1x2x4xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @reversed(%x: tensor<1x2x3xf32>) -> tensor<1x2x4xf32> {
  %w = arith.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 0>, pre_padding = array<i64: 0>, stride = array<i64: 1>} : (tensor<1x2x3xf32>, tensor<2x2x2xf32>) -> tensor<1x2x4xf32>
  return %0 : tensor<1x2x4xf32>
}

// -----

// A filter that is applied reversed by its mode is not.

// CHECK-LABEL: func.func @as_it_is
// CHECK:         arith.constant dense<{{\[\[}}[1.{{0*}}e+00, 2.{{0*}}e+00]]]> : tensor<1x1x2xf32>
// CHECK-NEXT:    "hipdnn.conv_fprop"
// CHECK-NOT:     conv_mode
// CHECK:         return
func.func @as_it_is(%x: tensor<1x1x3xf32>) -> tensor<1x1x4xf32> {
  %w = arith.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {conv_mode = "CONVOLUTION", dilation = array<i64: 1>, post_padding = array<i64: 0>, pre_padding = array<i64: 0>, stride = array<i64: 1>} : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x4xf32>
  return %0 : tensor<1x1x4xf32>
}

// -----

// Channels of two groups; the stride does not divide the result, which is a window of the copy.

// CHECK-LABEL: func.func @groups
// CHECK:         arith.constant dense<{{\[\[}}[2.{{0*}}e+00, 0.{{0*}}e+00]], {{\[}}[3.{{0*}}e+00, 1.{{0*}}e+00]], {{\[}}[5.{{0*}}e+00, 0.{{0*}}e+00]], {{\[}}[6.{{0*}}e+00, 4.{{0*}}e+00]]]> : tensor<4x1x2xf32>
// CHECK-NEXT:    "hipdnn.conv_fprop"{{.*}} {dilation = array<i64: 1>, post_padding = array<i64: 1>, pre_padding = array<i64: 0>, stride = array<i64: 1>} {{.*}} -> tensor<1x4x3xf32>
// CHECK:         "hipdnn.view"{{.*}} {offset = 0 : i64, strides = array<i64: {{[0-9]+}}, 6, 1>} {{.*}} -> tensor<1x2x5xf32>
func.func @groups(%x: tensor<1x2x3xf32>) -> tensor<1x2x5xf32> {
  %w = arith.constant dense<[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]> : tensor<2x1x3xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 1>, pre_padding = array<i64: 1>, stride = array<i64: 2>} : (tensor<1x2x3xf32>, tensor<2x1x3xf32>) -> tensor<1x2x5xf32>
  return %0 : tensor<1x2x5xf32>
}

// -----

// Two spatial dimensions with strides of their own; zeros where a stride is larger than the window.

// CHECK-LABEL: func.func @planes
// CHECK:         arith.constant dense<{{\[\[\[}}[1.{{0*}}e+00]]], {{\[\[}}[2.{{0*}}e+00]]], {{\[\[}}[0.{{0*}}e+00]]]]> : tensor<3x1x1x1xf16>
// CHECK:         "hipdnn.view"{{.*}} {offset = 0 : i64, strides = array<i64: {{[0-9]+, [0-9]+}}, 4, {{[0-9]+}}, 1, 8>} {{.*}} -> tensor<1x1x2x1x4x3xf16>
// CHECK:         "hipdnn.view"{{.*}} -> tensor<1x1x2x12xf16>
func.func @planes(%x: tensor<1x1x2x4xf16>) -> tensor<1x1x2x12xf16> {
  %w = arith.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf16>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1, 1>, post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>, stride = array<i64: 1, 3>} : (tensor<1x1x2x4xf16>, tensor<1x1x1x2xf16>) -> tensor<1x1x2x12xf16>
  return %0 : tensor<1x1x2x12xf16>
}

// -----

// A view that joins rows of the result, which are apart in the copy, reads another copy.

// CHECK-LABEL: func.func @flattened
// CHECK:         %[[COPY:.*]] = "hipdnn.pointwise"{{.*}}mode = "identity"{{.*}} -> tensor<1x1x4x2x3x2xf32>
// CHECK:         %[[SEEN:.*]] = "hipdnn.view"(%[[COPY]]) {{.*}} -> tensor<1x1x7x5xf32>
// CHECK:         %[[ROWS:.*]] = "hipdnn.pointwise"(%[[SEEN]]) {mode = "identity"}
// CHECK:         "hipdnn.view"(%[[ROWS]]) {{.*}} -> tensor<1x35xf32>
func.func @flattened(%x: tensor<1x1x3x2xf32>) -> tensor<1x35xf32> {
  %w = arith.constant dense<1.0> : tensor<1x1x3x3xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1, 1>, post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x1x3x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x7x5xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 35, 1>} : (tensor<1x1x7x5xf32>) -> tensor<1x35xf32>
  return %1 : tensor<1x35xf32>
}

// -----

// Filters that are a view of a constant.

// CHECK-LABEL: func.func @viewed
// CHECK:         arith.constant dense<{{\[\[}}[3.{{0*}}e+00, 1.{{0*}}e+00]]]> : tensor<1x1x2xf32>
// CHECK-NEXT:    "hipdnn.conv_fprop"
func.func @viewed(%x: tensor<1x1x3xf32>) -> tensor<1x1x4xf32> {
  %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %w = "hipdnn.view"(%c) {offset = 0 : i64, strides = array<i64: 0, 0, 2>} : (tensor<3xf32>) -> tensor<1x1x2xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 0>, pre_padding = array<i64: 0>, stride = array<i64: 1>} : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x4xf32>
  return %0 : tensor<1x1x4xf32>
}

// -----

// Filters that are computed would have to be arranged in each run.

// CHECK-LABEL: func.func @computed
// CHECK:         "hipdnn.conv_dgrad"
func.func @computed(%x: tensor<1x1x3xf32>, %w: tensor<1x1x2xf32>) -> tensor<1x1x4xf32> {
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 0>, pre_padding = array<i64: 0>, stride = array<i64: 1>} : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x4xf32>
  return %0 : tensor<1x1x4xf32>
}

// -----

// No element of the result reads the first one of the input.

// CHECK-LABEL: func.func @cropped
// CHECK:         "hipdnn.conv_dgrad"
func.func @cropped(%x: tensor<1x1x5xf32>) -> tensor<1x1x2xf32> {
  %w = arith.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 2>, pre_padding = array<i64: 2>, stride = array<i64: 1>} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  return %0 : tensor<1x1x2xf32>
}

// -----

// Nor the last one.

// CHECK-LABEL: func.func @cropped_at_the_end
// CHECK:         "hipdnn.conv_dgrad"
func.func @cropped_at_the_end(%x: tensor<1x1x4xf32>) -> tensor<1x1x5xf32> {
  %w = arith.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 3>, pre_padding = array<i64: 0>, stride = array<i64: 2>} : (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x5xf32>
  return %0 : tensor<1x1x5xf32>
}

// -----

// CHECK-LABEL: func.func @dilated
// CHECK:         "hipdnn.conv_dgrad"
func.func @dilated(%x: tensor<1x1x3xf32>) -> tensor<1x1x5xf32> {
  %w = arith.constant dense<[[[1.0, 2.0]]]> : tensor<1x1x2xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 2>, post_padding = array<i64: 0>, pre_padding = array<i64: 0>, stride = array<i64: 1>} : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x5xf32>
  return %0 : tensor<1x1x5xf32>
}

// -----

// Each element of the result is in one window, and the products fill matrix instructions.

// CHECK-LABEL: func.func @apart
// CHECK:         "hipdnn.conv_dgrad"
func.func @apart(%x: tensor<1x16x16xf32>) -> tensor<1x16x32xf32> {
  %w = arith.constant dense<1.0> : tensor<16x16x2xf32>
  %0 = "hipdnn.conv_dgrad"(%x, %w) {dilation = array<i64: 1>, post_padding = array<i64: 0>, pre_padding = array<i64: 0>, stride = array<i64: 2>} : (tensor<1x16x16xf32>, tensor<16x16x2xf32>) -> tensor<1x16x32xf32>
  return %0 : tensor<1x16x32xf32>
}
