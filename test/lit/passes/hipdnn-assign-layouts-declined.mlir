// RUN: hipgraft-opt %s --split-input-file --hipdnn-assign-layouts | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-assign-layouts --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// Tensors that stay channels first, with a reason where a reader would gain.

// What a function returns is row-major.

// REMARK: result is stored channels first, because 'func.return' op reads it
// CHECK-LABEL: func.func @returned
// CHECK-NOT:     result_strides = [array<i64: 200704, 1, 3584, 64>]
func.func @returned(%x: tensor<1x64x56x56xf16>) -> (tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>) {
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
  return %0, %1 : tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>
}

// -----

// Fallback ops read row-major tensors.

// REMARK: result is stored channels first, because 'hipdnn.fallback' op reads it
// CHECK-LABEL: func.func @fallback
// CHECK-NOT:     result_strides = [array<i64: 200704, 1, 3584, 64>]
func.func @fallback(%x: tensor<1x64x56x56xf16>) -> (tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>) {
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
  %2 = "hipdnn.fallback"(%0) ({
  ^bb0(%a: tensor<1x64x56x56xf16>):
    %v = torch_c.from_builtin_tensor %a : tensor<1x64x56x56xf16> -> !torch.vtensor<[1,64,56,56],f16>
    %s = torch.aten.sin %v : !torch.vtensor<[1,64,56,56],f16> -> !torch.vtensor<[1,64,56,56],f16>
    %r = torch_c.to_builtin_tensor %s : !torch.vtensor<[1,64,56,56],f16> -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "f"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  return %1, %2 : tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>
}

// -----

// A view that joins channels and rows has no strides on the other order.

// REMARK: result is stored channels first, because a view of it has no strides in that order
// CHECK-LABEL: func.func @reshaped
// CHECK-NOT:     result_strides = [array<i64: 200704, 1, 3584, 64>]
func.func @reshaped(%x: tensor<1x64x56x56xf16>) -> (tensor<1x64x56x56xf16>, tensor<3584x56xf16>) {
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
  %v = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 56, 1>} : (tensor<1x64x56x56xf16>) -> tensor<3584x56xf16>
  %2 = "hipdnn.graph"(%v) ({
  ^bb0(%a: tensor<3584x56xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "neg"} : (tensor<3584x56xf16>) -> tensor<3584x56xf16>
    "hipdnn.yield"(%r) : (tensor<3584x56xf16>) -> ()
  }) {name = "n"} : (tensor<3584x56xf16>) -> tensor<3584x56xf16>
  return %1, %2 : tensor<1x64x56x56xf16>, tensor<3584x56xf16>
}

// -----

// A layout that is given stays.

// REMARK: result is stored channels first, because its layout is given
// CHECK-LABEL: func.func @given
// CHECK-NOT:     result_strides = [array<i64: 200704, 1, 3584, 64>]
func.func @given(%x: tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16> {
  %w = arith.constant dense<1.0> : tensor<64x64x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x64x56x56xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "a", result_strides = [array<i64: 200704, 1, 64, 3584>]} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x64x56x56xf16>, %b: tensor<64x64x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "b"} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  return %1 : tensor<1x64x56x56xf16>
}

// -----

// Other engines choose their own layouts.

// REMARK: result is stored channels first, because engine 'miopen' writes it
// CHECK-LABEL: func.func @engine
// CHECK-NOT:     result_strides = [array<i64: 200704, 1, 3584, 64>]
func.func @engine(%x: tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16> {
  %w = arith.constant dense<1.0> : tensor<64x64x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x64x56x56xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "a", engine = "miopen"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x64x56x56xf16>, %b: tensor<64x64x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "b"} : (tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
  return %1 : tensor<1x64x56x56xf16>
}

// -----

// A convolution to few channels takes longer if its image is channels last.

// CHECK-LABEL: func.func @few_filters
// CHECK-NOT:     result_strides
func.func @few_filters(%x: tensor<1x64x56x56xf16>) -> tensor<1x3x56x56xf16> {
  %w = arith.constant dense<1.0> : tensor<3x64x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x64x56x56xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "a"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x64x56x56xf16>, %b: tensor<3x64x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x56x56xf16>, tensor<3x64x3x3xf16>) -> tensor<1x3x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x3x56x56xf16>) -> ()
  }) {name = "b"} : (tensor<1x64x56x56xf16>, tensor<3x64x3x3xf16>) -> tensor<1x3x56x56xf16>
  return %1 : tensor<1x3x56x56xf16>
}

// -----

// A reduction over positions would copy the image, which takes longer than a 1x1 convolution gains
// whose rows are whole tiles.

// REMARK: result is stored channels first, because other kernels would lose more
// CHECK-LABEL: func.func @pooled
// CHECK-NOT:     result_strides
func.func @pooled(%x: tensor<8x512x32x32xf16>, %w: tensor<2048x512x1x1xf16>) -> (tensor<8x2048x32x32xf16>, tensor<8x512x1x1xf16>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<8x512x32x32xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<8x512x32x32xf16>) -> tensor<8x512x32x32xf16>
    "hipdnn.yield"(%r) : (tensor<8x512x32x32xf16>) -> ()
  }) {name = "a"} : (tensor<8x512x32x32xf16>) -> tensor<8x512x32x32xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<8x512x32x32xf16>, %b: tensor<2048x512x1x1xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<8x512x32x32xf16>, tensor<2048x512x1x1xf16>) -> tensor<8x2048x32x32xf16>
    "hipdnn.yield"(%r) : (tensor<8x2048x32x32xf16>) -> ()
  }) {name = "b"} : (tensor<8x512x32x32xf16>, tensor<2048x512x1x1xf16>) -> tensor<8x2048x32x32xf16>
  %2 = "hipdnn.graph"(%0) ({
  ^bb0(%a: tensor<8x512x32x32xf16>):
    %r = "hipdnn.reduction"(%a) {mode = "AVG"} : (tensor<8x512x32x32xf16>) -> tensor<8x512x1x1xf16>
    "hipdnn.yield"(%r) : (tensor<8x512x1x1xf16>) -> ()
  }) {name = "c"} : (tensor<8x512x32x32xf16>) -> tensor<8x512x1x1xf16>
  return %1, %2 : tensor<8x2048x32x32xf16>, tensor<8x512x1x1xf16>
}

// -----

// Filters that are arguments cannot be stored in another order, so that the convolution gains nothing.

// REMARK-NOT: result is stored
// CHECK-LABEL: func.func @arguments
// CHECK-NOT:     result_strides = [array<i64: 200704, 1, 3584, 64>]
func.func @arguments(%x: tensor<1x64x56x56xf16>, %w: tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16> {
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

// Grouped convolutions gain nothing.

// REMARK-NOT: result is stored
// CHECK-LABEL: func.func @groups
// CHECK-NOT:     result_strides = [array<i64: 200704, 1, 3584, 64>]
func.func @groups(%x: tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16> {
  %w = arith.constant dense<1.0> : tensor<64x16x3x3xf16>
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x64x56x56xf16>):
    %r = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "a"} : (tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16>
  %1 = "hipdnn.graph"(%0, %w) ({
  ^bb0(%a: tensor<1x64x56x56xf16>, %b: tensor<64x16x3x3xf16>):
    %r = "hipdnn.conv_fprop"(%a, %b) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>, stride = array<i64: 1, 1>, dilation = array<i64: 1, 1>} : (tensor<1x64x56x56xf16>, tensor<64x16x3x3xf16>) -> tensor<1x64x56x56xf16>
    "hipdnn.yield"(%r) : (tensor<1x64x56x56xf16>) -> ()
  }) {name = "b"} : (tensor<1x64x56x56xf16>, tensor<64x16x3x3xf16>) -> tensor<1x64x56x56xf16>
  return %1 : tensor<1x64x56x56xf16>
}
