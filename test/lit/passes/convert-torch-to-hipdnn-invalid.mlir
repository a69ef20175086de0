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
