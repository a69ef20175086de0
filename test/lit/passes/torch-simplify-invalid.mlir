// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics --torch-simplify

// Neither with inference nor without it is the rank known.
// expected-error @below {{unsupported by backend contract: tensor with unknown rank}}
func.func @rank(%x: !torch.vtensor<*,f32>) -> !torch.vtensor<*,f32> {
  %0 = torch.aten.tanh %x : !torch.vtensor<*,f32> -> !torch.vtensor<*,f32>
  return %0 : !torch.vtensor<*,f32>
}

// -----

func.func @operator(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error @below {{operator 'my.op' is not supported in this form}}
  %0 = torch.operator "torch.my.op"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
