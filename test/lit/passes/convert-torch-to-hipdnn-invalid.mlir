// RUN: hipgraft-opt %s --split-input-file --convert-torch-to-hipdnn --verify-diagnostics

// expected-error @below {{'func.func' op !torch.vtensor<[?,8],f32> has a dynamic dimension}}
func.func @dynamic(%x: !torch.vtensor<[?,8],f32>) -> !torch.vtensor<[?,8],f32> {
  return %x : !torch.vtensor<[?,8],f32>
}

// -----

// expected-error @below {{'func.func' op expected one block: control flow is not supported}}
func.func @blocks(%x: !torch.vtensor<[8],f32>) -> !torch.vtensor<[8],f32> {
  cf.br ^next
^next:
  return %x : !torch.vtensor<[8],f32>
}

// -----

// expected-error @below {{'func.func' op expected value tensors of known rank and element type, but found tensor<8xf32>}}
func.func @builtin_tensor(%x: !torch.vtensor<[8],f32>, %y: tensor<8xf32>) -> !torch.vtensor<[8],f32> {
  return %x : !torch.vtensor<[8],f32>
}

// -----

// expected-error @below {{'func.func' op expected value tensors of known rank and element type, but found !torch.int}}
func.func @number(%x: !torch.vtensor<[8],f32>, %y: !torch.int) -> !torch.vtensor<[8],f32> {
  return %x : !torch.vtensor<[8],f32>
}

// -----

// expected-error @below {{'func.func' op expected value tensors of known rank and element type, but found !torch.vtensor<*,f32>}}
func.func @unranked(%x: !torch.vtensor<[8],f32>, %y: !torch.vtensor<*,f32>) -> !torch.vtensor<[8],f32> {
  return %x : !torch.vtensor<[8],f32>
}

// -----

// expected-error @below {{'func.func' op expected value tensors of known rank and element type, but found !torch.tensor<[8],f32>}}
func.func @no_value(%x: !torch.vtensor<[8],f32>, %y: !torch.tensor<[8],f32>) -> !torch.vtensor<[8],f32> {
  return %x : !torch.vtensor<[8],f32>
}

// -----

func.func @region(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %true = torch.constant.bool true
  // expected-error @below {{'torch.prim.If' op has regions: control flow is not supported}}
  %0 = torch.prim.If %true -> (!torch.vtensor<[4],f32>) {
    torch.prim.If.yield %x : !torch.vtensor<[4],f32>
  } else {
    torch.prim.If.yield %x : !torch.vtensor<[4],f32>
  }
  return %0 : !torch.vtensor<[4],f32>
}

// -----

// PyTorch reads what is stored in front of the view, not the view.
func.func @storage_of_a_view(%x: !torch.vtensor<[4,6],f32>) -> !torch.vtensor<[2,3],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %shape = torch.prim.ListConstruct %int2, %int3 : (!torch.int, !torch.int) -> !torch.list<int>
  %strides = torch.prim.ListConstruct %int2, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %t = torch.aten.transpose.int %x, %int0, %int1 : !torch.vtensor<[4,6],f32>, !torch.int, !torch.int -> !torch.vtensor<[6,4],f32>
  // expected-error @below {{'torch.aten.as_strided' op reads the storage of a view}}
  %v = torch.aten.as_strided %t, %shape, %strides, %int3 : !torch.vtensor<[6,4],f32>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[2,3],f32>
  return %v : !torch.vtensor<[2,3],f32>
}
