// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg="target=gfx942 plan=hipdnn.conv_fprop=channels-last" | FileCheck %s --check-prefix=LAST
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg="target=gfx942 plan=hipdnn.conv_fprop=matmul" | FileCheck %s --check-prefix=PRODUCT

// Convolutions are named ops over padded images, accumulated in f32; gradients of data flip the
// filter, gradients of filters sum over images and positions.

// CHECK-LABEL: module @fprop_gfx942
// CHECK:         %[[PADDED:.*]] = tensor.pad %{{.*}} low[0, 0, 1, 1] high[0, 0, 1, 1]
// CHECK:         linalg.conv_2d_nchw_fchw {{.*}} ins(%[[PADDED]], %{{.*}}) outs({{.*}}xf32>)
// CHECK:         arith.truncf %{{.*}} : f32 to f16
// LAST-LABEL: module @fprop_gfx942
// LAST:          linalg.transpose {{.*}} permutation = [0, 2, 3, 1]
// LAST:          linalg.conv_2d_nhwc_fhwc
// LAST:          linalg.transpose {{.*}} permutation = [0, 3, 1, 2]
func.func @fprop(%x: tensor<1x16x8x8xf16>, %w: tensor<16x16x3x3xf16>) -> tensor<1x16x8x8xf16> {
  %0 = "hipdnn.graph"(%x, %w) ({
  ^bb0(%gx: tensor<1x16x8x8xf16>, %gw: tensor<16x16x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%gx, %gw) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x16x8x8xf16>, tensor<16x16x3x3xf16>) -> tensor<1x16x8x8xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x8x8xf16>) -> ()
  }) {name = "fprop"} : (tensor<1x16x8x8xf16>, tensor<16x16x3x3xf16>) -> tensor<1x16x8x8xf16>
  return %0 : tensor<1x16x8x8xf16>
}

// -----

// CHECK-LABEL: module @pointwise_filter_gfx942
// CHECK-NOT:     tensor.pad
// CHECK:         linalg.conv_2d_nchw_fchw
// PRODUCT-LABEL: module @pointwise_filter_gfx942
// PRODUCT:       linalg.matmul ins({{.*}} : tensor<16x16xf16>, tensor<16x64xf16>)
func.func @pointwise_filter(%x: tensor<1x16x8x8xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x8x8xf16> {
  %0 = "hipdnn.graph"(%x, %w) ({
  ^bb0(%gx: tensor<1x16x8x8xf16>, %gw: tensor<16x16x1x1xf16>):
    %r = "hipdnn.conv_fprop"(%gx, %gw) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x16x8x8xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x8x8xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x8x8xf16>) -> ()
  }) {name = "pointwise_filter"} : (tensor<1x16x8x8xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x8x8xf16>
  return %0 : tensor<1x16x8x8xf16>
}

// -----

// CHECK-LABEL: module @dgrad_gfx942
// CHECK:         linalg.transpose ins({{.*}}) permutation = [0, 2, 1, 3, 4]
// CHECK:         tensor.extract
// CHECK:         linalg.conv_2d_nchw_fchw
func.func @dgrad(%dy: tensor<1x16x8x8xf16>, %w: tensor<16x16x3x3xf16>) -> tensor<1x16x8x8xf16> {
  %0 = "hipdnn.graph"(%dy, %w) ({
  ^bb0(%gdy: tensor<1x16x8x8xf16>, %gw: tensor<16x16x3x3xf16>):
    %r = "hipdnn.conv_dgrad"(%gdy, %gw) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x16x8x8xf16>, tensor<16x16x3x3xf16>) -> tensor<1x16x8x8xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x8x8xf16>) -> ()
  }) {name = "dgrad"} : (tensor<1x16x8x8xf16>, tensor<16x16x3x3xf16>) -> tensor<1x16x8x8xf16>
  return %0 : tensor<1x16x8x8xf16>
}

// -----

// Windows that do not overlap take one product, whose positions are dimensions of the result.

// CHECK-LABEL: module @apart_gfx942
// CHECK:         linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", {{.*}}"parallel", "reduction"]}
// CHECK:         -> tensor<1x16x4x2x16x2xf32>
// CHECK-NOT:     linalg.conv
func.func @apart(%dy: tensor<1x16x4x16xf16>, %w: tensor<16x16x2x2xf16>) -> tensor<1x16x8x32xf16> {
  %0 = "hipdnn.graph"(%dy, %w) ({
  ^bb0(%gdy: tensor<1x16x4x16xf16>, %gw: tensor<16x16x2x2xf16>):
    %r = "hipdnn.conv_dgrad"(%gdy, %gw) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<1x16x4x16xf16>, tensor<16x16x2x2xf16>) -> tensor<1x16x8x32xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x8x32xf16>) -> ()
  }) {name = "apart"} : (tensor<1x16x4x16xf16>, tensor<16x16x2x2xf16>) -> tensor<1x16x8x32xf16>
  return %0 : tensor<1x16x8x32xf16>
}

// -----

// Windows with gaps, that overlap, leave rows out or are of groups stay convolutions, and so does a
// narrow image.

// CHECK-LABEL: module @gaps_gfx942
// CHECK:         tensor.insert_slice
// CHECK:         linalg.conv
func.func @gaps(%dy: tensor<1x16x4x16xf16>, %w: tensor<16x16x1x1xf16>) -> tensor<1x16x8x32xf16> {
  %0 = "hipdnn.graph"(%dy, %w) ({
  ^bb0(%gdy: tensor<1x16x4x16xf16>, %gw: tensor<16x16x1x1xf16>):
    %r = "hipdnn.conv_dgrad"(%gdy, %gw) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<1x16x4x16xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x8x32xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x8x32xf16>) -> ()
  }) {name = "gaps"} : (tensor<1x16x4x16xf16>, tensor<16x16x1x1xf16>) -> tensor<1x16x8x32xf16>
  return %0 : tensor<1x16x8x32xf16>
}

// -----

// CHECK-LABEL: module @overlapping_gfx942
// CHECK:         tensor.insert_slice
// CHECK:         linalg.conv
func.func @overlapping(%dy: tensor<1x16x4x16xf16>, %w: tensor<16x16x3x3xf16>) -> tensor<1x16x9x33xf16> {
  %0 = "hipdnn.graph"(%dy, %w) ({
  ^bb0(%gdy: tensor<1x16x4x16xf16>, %gw: tensor<16x16x3x3xf16>):
    %r = "hipdnn.conv_dgrad"(%gdy, %gw) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<1x16x4x16xf16>, tensor<16x16x3x3xf16>) -> tensor<1x16x9x33xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x9x33xf16>) -> ()
  }) {name = "overlapping"} : (tensor<1x16x4x16xf16>, tensor<16x16x3x3xf16>) -> tensor<1x16x9x33xf16>
  return %0 : tensor<1x16x9x33xf16>
}

// -----

// CHECK-LABEL: module @rows_left_gfx942
// CHECK:         tensor.insert_slice
// CHECK:         linalg.conv
func.func @rows_left(%dy: tensor<1x16x4x16xf16>, %w: tensor<16x16x2x2xf16>) -> tensor<1x16x9x32xf16> {
  %0 = "hipdnn.graph"(%dy, %w) ({
  ^bb0(%gdy: tensor<1x16x4x16xf16>, %gw: tensor<16x16x2x2xf16>):
    %r = "hipdnn.conv_dgrad"(%gdy, %gw) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<1x16x4x16xf16>, tensor<16x16x2x2xf16>) -> tensor<1x16x9x32xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x9x32xf16>) -> ()
  }) {name = "rows_left"} : (tensor<1x16x4x16xf16>, tensor<16x16x2x2xf16>) -> tensor<1x16x9x32xf16>
  return %0 : tensor<1x16x9x32xf16>
}

// -----

// CHECK-LABEL: module @two_groups_gfx942
// CHECK:         tensor.insert_slice
// CHECK:         linalg.conv
func.func @two_groups(%dy: tensor<1x32x4x16xf16>, %w: tensor<32x16x2x2xf16>) -> tensor<1x32x8x32xf16> {
  %0 = "hipdnn.graph"(%dy, %w) ({
  ^bb0(%gdy: tensor<1x32x4x16xf16>, %gw: tensor<32x16x2x2xf16>):
    %r = "hipdnn.conv_dgrad"(%gdy, %gw) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<1x32x4x16xf16>, tensor<32x16x2x2xf16>) -> tensor<1x32x8x32xf16>
    "hipdnn.yield"(%r) : (tensor<1x32x8x32xf16>) -> ()
  }) {name = "two_groups"} : (tensor<1x32x4x16xf16>, tensor<32x16x2x2xf16>) -> tensor<1x32x8x32xf16>
  return %0 : tensor<1x32x8x32xf16>
}

// -----

// CHECK-LABEL: module @narrow_gfx942
// CHECK:         tensor.insert_slice
// CHECK:         linalg.conv
func.func @narrow(%dy: tensor<1x16x4x8xf16>, %w: tensor<16x16x2x2xf16>) -> tensor<1x16x8x16xf16> {
  %0 = "hipdnn.graph"(%dy, %w) ({
  ^bb0(%gdy: tensor<1x16x4x8xf16>, %gw: tensor<16x16x2x2xf16>):
    %r = "hipdnn.conv_dgrad"(%gdy, %gw) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<1x16x4x8xf16>, tensor<16x16x2x2xf16>) -> tensor<1x16x8x16xf16>
    "hipdnn.yield"(%r) : (tensor<1x16x8x16xf16>) -> ()
  }) {name = "narrow"} : (tensor<1x16x4x8xf16>, tensor<16x16x2x2xf16>) -> tensor<1x16x8x16xf16>
  return %0 : tensor<1x16x8x16xf16>
}

// -----

// CHECK-LABEL: module @wgrad_gfx942
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
// CHECK:         arith.mulf
// CHECK:         arith.addf
func.func @wgrad(%dy: tensor<1x16x8x8xf16>, %x: tensor<1x16x8x8xf16>) -> tensor<16x16x3x3xf16> {
  %0 = "hipdnn.graph"(%dy, %x) ({
  ^bb0(%gdy: tensor<1x16x8x8xf16>, %gx: tensor<1x16x8x8xf16>):
    %r = "hipdnn.conv_wgrad"(%gx, %gdy) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x16x8x8xf16>, tensor<1x16x8x8xf16>) -> tensor<16x16x3x3xf16>
    "hipdnn.yield"(%r) : (tensor<16x16x3x3xf16>) -> ()
  }) {name = "wgrad"} : (tensor<1x16x8x8xf16>, tensor<1x16x8x8xf16>) -> tensor<16x16x3x3xf16>
  return %0 : tensor<16x16x3x3xf16>
}
