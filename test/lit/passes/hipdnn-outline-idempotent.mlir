// RUN: hipgraft-opt %s --hipdnn-outline -o %t.once.mlir
// RUN: hipgraft-opt %t.once.mlir --hipdnn-outline -o %t.twice.mlir
// RUN: diff %t.once.mlir %t.twice.mlir
// RUN: FileCheck %s < %t.twice.mlir
// Graphs are left alone.

// CHECK-COUNT-1: "hipdnn.graph"
// CHECK-NOT:     "hipdnn.graph"
func.func @once(%a: tensor<8x4xf16>, %b: tensor<4x6xf16>) -> tensor<8x6xf16> {
  %c = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
  return %c : tensor<8x6xf16>
}
