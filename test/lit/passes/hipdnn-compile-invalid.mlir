// RUN: hipgraft-opt %s --split-input-file --hipdnn-compile=target=gfx942 --verify-diagnostics

func.func @no_lowering(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "hipdnn.fallback"(%x) ({
  ^bb0(%g: tensor<8xf32>):
    %t = torch_c.from_builtin_tensor %g : tensor<8xf32> -> !torch.vtensor<[8],f32>
    // expected-error @below {{'torch.operator' op does not compile for gfx942}}
    %u = torch.operator "torch.my.op"(%t) : (!torch.vtensor<[8],f32>) -> !torch.vtensor<[8],f32>
    %r = torch_c.to_builtin_tensor %u : !torch.vtensor<[8],f32> -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "my_op"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// One op of several: the others compile, this one is the error.
func.func @one_of_two(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "hipdnn.fallback"(%x) ({
  ^bb0(%g: tensor<8xf32>):
    %t = torch_c.from_builtin_tensor %g : tensor<8xf32> -> !torch.vtensor<[8],f32>
    %s = torch.aten.relu %t : !torch.vtensor<[8],f32> -> !torch.vtensor<[8],f32>
    // expected-error @below {{'torch.operator' op does not compile for gfx942}}
    %u = torch.operator "torch.my.op"(%s) : (!torch.vtensor<[8],f32>) -> !torch.vtensor<[8],f32>
    %r = torch_c.to_builtin_tensor %u : !torch.vtensor<[8],f32> -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "relu_my_op"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @result_that_spans_too_much(%x: tensor<4x1024xf32>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<4x1024xf32>):
    // expected-error @below {{does not compile for gfx942: an operand or result takes more than 2^48 bytes}}
    %1 = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
    "hipdnn.yield"(%1) : (tensor<4x1024xf32>) -> ()
  }) {name = "g", result_strides = [array<i64: 1099511627776000, 1>]} : (tensor<4x1024xf32>) -> tensor<4x1024xf32>
  return
}
