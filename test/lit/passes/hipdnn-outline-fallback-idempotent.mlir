// RUN: hipgraft-opt %s --hipdnn-outline-fallback -o %t.once.mlir
// RUN: hipgraft-opt %t.once.mlir --hipdnn-outline-fallback -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
// RUN: FileCheck %s < %t.twice.mlir
// Containers and results of their own are left alone.

// CHECK-COUNT-1: "hipdnn.fallback"
// CHECK-COUNT-1: name = "copy_result_1"
// CHECK-NOT:     "hipdnn.graph"
func.func @once(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %int0 = torch.constant.int 0
  %none = torch.constant.none
  %0 = torch_c.from_builtin_tensor %x : tensor<4xf32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.cumsum %0, %int0, %none : !torch.vtensor<[4],f32>, !torch.int, !torch.none -> !torch.vtensor<[4],f32>
  %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[4],f32> -> tensor<4xf32>
  return %2, %x : tensor<4xf32>, tensor<4xf32>
}
