// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline-fallback --verify-diagnostics

func.func @other_dialect(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'math.exp' op cannot be outlined: expected a torch, migraphx or hipdnn op}}
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @not_a_tensor(%x: tensor<1xi64>) -> tensor<4xf32> {
  %0 = torch_c.from_builtin_tensor %x : tensor<1xi64> -> !torch.vtensor<[1],si64>
  // expected-error @below {{'torch.aten.Int.Tensor' op computes a value of type !torch.int: expected a tensor, which its launch could write}}
  %1 = torch.aten.Int.Tensor %0 : !torch.vtensor<[1],si64> -> !torch.int
  %2 = torch.constant.int 6
  %3 = torch.constant.none
  %4 = torch.constant.bool false
  %5 = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
  %6 = torch.aten.zeros %5, %2, %3, %3, %4 : !torch.list<int>, !torch.int, !torch.none, !torch.none, !torch.bool -> !torch.vtensor<[4],f32>
  %7 = torch_c.to_builtin_tensor %6 : !torch.vtensor<[4],f32> -> tensor<4xf32>
  return %7 : tensor<4xf32>
}

// -----

func.func @branch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = torch_c.from_builtin_tensor %x : tensor<4xf32> -> !torch.vtensor<[4],f32>
  %true = torch.constant.bool true
  // expected-error @below {{'torch.prim.If' op has regions: control flow is not supported}}
  %1 = torch.prim.If %true -> (!torch.vtensor<[4],f32>) {
    torch.prim.If.yield %0 : !torch.vtensor<[4],f32>
  } else {
    %2 = torch.aten.relu %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.prim.If.yield %2 : !torch.vtensor<[4],f32>
  }
  %3 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[4],f32> -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

func.func @dynamic(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  // expected-error @below {{'torch.aten.relu' op computes a value that no launch can write: !torch.vtensor<[?],f32> has a dynamic dimension}}
  %0 = torch.aten.relu %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}
