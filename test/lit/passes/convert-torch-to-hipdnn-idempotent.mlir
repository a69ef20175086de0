// RUN: hipgraft-opt %s --convert-torch-to-hipdnn -o %t.once.mlir
// RUN: hipgraft-opt %t.once.mlir --convert-torch-to-hipdnn -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
// RUN: FileCheck %s < %t.twice.mlir
// A converted function has no torch tensor in its signature and is left alone.

// CHECK: "hipdnn.pointwise"
// CHECK: torch.aten.cumsum
func.func @once(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> {
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %r = torch.aten.relu %x : !torch.vtensor<[4,8],f32> -> !torch.vtensor<[4,8],f32>
  %y = torch.aten.cumsum %r, %int1, %none : !torch.vtensor<[4,8],f32>, !torch.int, !torch.none -> !torch.vtensor<[4,8],f32>
  return %y : !torch.vtensor<[4,8],f32>
}
