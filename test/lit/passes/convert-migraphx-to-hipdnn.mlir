// RUN: hipgraft-opt %s --split-input-file --convert-migraphx-to-hipdnn --verify-contracts | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-migraphx-to-hipdnn=flat-arguments \
// RUN:   | FileCheck %s --check-prefix=FLAT
// RUN: hipgraft-opt %s --split-input-file --convert-migraphx-to-hipdnn --convert-migraphx-to-hipdnn \
// RUN:   | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics --remarks \
// RUN:   --convert-migraphx-to-hipdnn

// Functions on shaped values become functions on memory; strides inside do not matter.

// Channels last: dimensions of memory are in the order of the strides.
// CHECK-LABEL: func.func @nhwc
// CHECK-SAME: (%[[W:.*]]: tensor<2x3x3x8xf32>, %[[X:.*]]: tensor<1x4x4x8xf32>) -> tensor<1x2x2x2xf32>
// FLAT-LABEL: func.func @nhwc
// FLAT-SAME: (%{{.*}}: tensor<144xf32>, %{{.*}}: tensor<128xf32>) -> tensor<8xf32>
func.func @nhwc(%w: !migraphx.shaped<2x8x3x3xf32, 72x1x24x8>, %x: !migraphx.shaped<1x8x4x4xf32, 128x1x32x8>)
    -> !migraphx.shaped<1x2x2x2xf32, 8x1x4x2> {
  // CHECK: %[[VX:.*]] = "hipdnn.view"(%[[X]]) {offset = 0 : i64, strides = array<i64: 0, 1, 32, 8>}
  // CHECK: %[[VW:.*]] = "hipdnn.view"(%[[W]]) {offset = 0 : i64, strides = array<i64: 72, 1, 24, 8>}
  // CHECK: %[[Y:.*]] = "hipdnn.conv_fprop"(%[[VX]], %[[VW]])
  // All low ends of the padding come first.
  // CHECK-SAME: post_padding = array<i64: 0, 1>, pre_padding = array<i64: 1, 0>
  %0 = migraphx.convolution %x, %w {dilation = [1, 1], group = 1 : i64, padding = [1, 0, 0, 1], stride = [2, 2]}
      : <1x8x4x4xf32, 128x1x32x8>, <2x8x3x3xf32, 72x1x24x8> -> <1x2x2x2xf32, 8x1x4x2>
  // CHECK: %[[R:.*]] = "hipdnn.view"(%[[Y]]) {offset = 0 : i64, strides = array<i64: 0, 2, 1, 4>}
  // CHECK: return %[[R]]
  return %0 : !migraphx.shaped<1x2x2x2xf32, 8x1x4x2>
}

// -----

// A broadcast is not in memory; rows may be longer than what is read of them.
// CHECK-LABEL: func.func @signature
// CHECK-SAME: (%{{.*}}: tensor<8x1xf32>, %{{.*}}: tensor<4x12xf32>) -> tensor<4x8xf32>
// FLAT-LABEL: func.func @signature
// FLAT-SAME: (%{{.*}}: tensor<8xf32>, %{{.*}}: tensor<48xf32>) -> tensor<32xf32>
func.func @signature(%x: !migraphx.shaped<4x8xf32, 0x1>, %y: !migraphx.shaped<4x8xf32, 12x1>)
    -> !migraphx.shaped<4x8xf32, 8x1> {
  // CHECK: %[[Y:.*]] = "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 12, 1>}
  // CHECK: "hipdnn.pointwise"(%{{.*}}, %[[Y]]) {mode = "add"}
  %0 = migraphx.add %x, %y : <4x8xf32, 0x1>, <4x8xf32, 12x1> -> <4x8xf32, 8x1>
  return %0 : !migraphx.shaped<4x8xf32, 8x1>
}

// -----

// Comparisons give numbers; products of bytes accumulate in 32 bits.
// CHECK-LABEL: func.func @types
func.func @types(%x: !migraphx.shaped<4x8xsi8, 8x1>, %y: !migraphx.shaped<8x4xsi8, 4x1>, %z: !migraphx.shaped<4x4xsi32, 4x1>)
    -> !migraphx.shaped<4x4xsi32, 4x1> {
  // CHECK: %[[D:.*]] = "hipdnn.matmul"
  // CHECK-SAME: -> tensor<1x4x4xi32>
  %0 = migraphx.quant_dot %x, %y : <4x8xsi8, 8x1>, <8x4xsi8, 4x1> -> <4x4xsi32, 4x1>
  // CHECK: %[[C:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "cmp_gt"} : {{.*}} -> tensor<{{.*}}xi1>
  // CHECK: "hipdnn.pointwise"(%[[C]]) {mode = "identity"}
  %1 = migraphx.greater %0, %z : <4x4xsi32, 4x1>, <4x4xsi32, 4x1> -> <4x4xsi32, 4x1>
  return %1 : !migraphx.shaped<4x4xsi32, 4x1>
}

// -----

// What hipDNN has no op for stays between conversions; two elements of 4 bits share a byte.
// CHECK-LABEL: func.func @stays
// CHECK-SAME: (%[[X:.*]]: tensor<8xi8>, %{{.*}}: tensor<4x4xf32>) -> tensor<4x4xi8>
func.func @stays(%x: !migraphx.shaped<4x4xf4E2M1FN, 4x1>, %s: !migraphx.shaped<4x4xf32, 4x1>)
    -> !migraphx.shaped<4x4xsi8, 4x1> {
  // CHECK: %[[P:.*]] = "migraphx.mlir.as.underlying.shape"(%[[X]]) : (tensor<8xi8>) -> !migraphx.shaped<4x4xf4E2M1FN, 4x1>
  // CHECK: %[[F:.*]] = "migraphx.mlir.as.logical.shape"(%[[P]]) : {{.*}} -> tensor<4x4xf32>
  // CHECK: "hipdnn.pointwise"(%[[F]]) {mode = "identity"}
  %0 = migraphx.convert %x : <4x4xf4E2M1FN, 4x1> to <4x4xf16, 4x1>
  %1 = migraphx.convert %0 : <4x4xf16, 4x1> to <4x4xf32, 4x1>
  // CHECK: %[[Q:.*]] = "migraphx.quantizelinear"
  // CHECK: %[[R:.*]] = "migraphx.mlir.as.logical.shape"(%[[Q]])
  // CHECK: return %[[R]] : tensor<4x4xi8>
  // expected-remark @+1 {{'migraphx.quantizelinear' stays: hipDNN has no op for it}}
  %2 = migraphx.quantizelinear %1, %s : <4x4xf32, 4x1>, <4x4xf32, 4x1> -> <4x4xsi8, 4x1>
  return %2 : !migraphx.shaped<4x4xsi8, 4x1>
}

// -----

// Kernels of several modules come together, in their order.

// CHECK-LABEL: func.func @f(
// CHECK: mode = "abs"
// CHECK-LABEL: func.func @f_1(
// CHECK: mode = "neg"
module @one {
  func.func @f(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> {
    %0 = migraphx.abs %x : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
}
module @other {
  func.func @f(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> {
    %0 = migraphx.neg %x : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
}
