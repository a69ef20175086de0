// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-hipdnnep --verify-diagnostics
// What has no torch form is an error at the op.

func.func @no_form(%x: tensor<32xf32>) -> (tensor<32xf8E4M3FN>, tensor<1xf8E8M0FNU>) {
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<32xf32>):
    // expected-error @below {{'hipdnn.block_scale_quantize' op has no torch form: torch has no op for it}}
    %1, %2 = "hipdnn.block_scale_quantize"(%gx) {block_size = 32 : i64} : (tensor<32xf32>) -> (tensor<32xf8E4M3FN>, tensor<1xf8E8M0FNU>)
    "hipdnn.yield"(%1, %2) : (tensor<32xf8E4M3FN>, tensor<1xf8E8M0FNU>) -> ()
  }) : (tensor<32xf32>) -> (tensor<32xf8E4M3FN>, tensor<1xf8E8M0FNU>)
  return %0#0, %0#1 : tensor<32xf8E4M3FN>, tensor<1xf8E8M0FNU>
}

// -----

// expected-error @below {{'func.func' op has a value of type tensor<4xf8E8M0FNU>, which torch has not}}
func.func @type(%x: tensor<4xf8E8M0FNU>) -> tensor<4xf8E8M0FNU> {
  return %x : tensor<4xf8E8M0FNU>
}

// -----

// expected-error @below {{'func.func' op has a value of type memref<4xf32>, which torch has not}}
func.func @buffers(%x: memref<4xf32>) {
  return
}

// -----

func.func @gaps(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error @below {{'hipdnn.graph' op has a view of a result with gaps: strides [4, 1]}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<2x3xf32>):
    %1 = "hipdnn.pointwise"(%gx) {mode = "relu_fwd"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "hipdnn.yield"(%1) : (tensor<2x3xf32>) -> ()
  }) {result_strides = [array<i64: 4, 1>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %v = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %v : tensor<2xf32>
}
