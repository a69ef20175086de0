// RUN: hipgraft-opt %s --split-input-file --torch-check-backend-form --verify-diagnostics

// What is no single program with known shapes is an error at the op.

func.func @operator(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error @below {{operator 'torch.my.op' is not supported}}
  %0 = torch.operator "torch.my.op"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----

// expected-error @below {{argument #0 of type '!torch.vtensor<[?],f32>' is no tensor of static shape}}
func.func @dynamic_argument(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  return %x : !torch.vtensor<[?],f32>
}

// -----

func.func @dynamic_result(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[?,1],si64> {
  // expected-error @below {{'torch.aten.nonzero' op has no static shape: '!torch.vtensor<[?,1],si64>'}}
  %0 = torch.aten.nonzero %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[?,1],si64>
  return %0 : !torch.vtensor<[?,1],si64>
}

// -----

func.func @control_flow(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %c = torch.constant.bool true
  // expected-error @below {{'torch.prim.If' op is control flow, which is not supported}}
  %0 = torch.prim.If %c -> (!torch.vtensor<[4],f32>) {
    torch.prim.If.yield %x : !torch.vtensor<[4],f32>
  } else {
    torch.prim.If.yield %x : !torch.vtensor<[4],f32>
  }
  return %0 : !torch.vtensor<[4],f32>
}

// -----

// expected-error @below {{expected one public function, found 2}}
module {
  func.func @first(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
    return %x : !torch.vtensor<[4],f32>
  }
  func.func @second(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
    return %x : !torch.vtensor<[4],f32>
  }
}
