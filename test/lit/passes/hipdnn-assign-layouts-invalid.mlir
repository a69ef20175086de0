// RUN: hipgraft-opt %s --hipdnn-assign-layouts --verify-diagnostics

// A filter that the pass would store channels last has no data.

func.func @missing(%x: tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16> {
  // expected-error @below {{'arith.constant' op refers to a resource that the module does not hold}}
  %w = arith.constant dense_resource<missing> : tensor<64x64x3x3xf16>
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
