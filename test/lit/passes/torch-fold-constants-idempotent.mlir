// RUN: hipgraft-opt %s --torch-fold-constants -o %t.once.mlir
// RUN: hipgraft-opt %t.once.mlir --torch-fold-constants -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
// RUN: FileCheck %s < %t.twice.mlir
// A literal is not evaluated again.

// CHECK: torch.vtensor.literal(dense<[-1.000000e+00, 2.000000e+00]> : tensor<2xf32>)
func.func @once() -> !torch.vtensor<[2],f32> {
  %w = torch.vtensor.literal(dense<[1.0, -2.0]> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %y = torch.aten.neg %w : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %y : !torch.vtensor<[2],f32>
}
