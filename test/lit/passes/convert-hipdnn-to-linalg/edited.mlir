// REQUIRES: slow
// RUN: hipgraft-opt %s --convert-hipdnn-to-linalg=target=cpu -o %t.mlir
// RUN: sed 's/arith.subf/arith.divf/' %t.mlir > %t.edited.mlir
// RUN: hipgraft-run %t.mlir --device=cpu --quiet | FileCheck %s --check-prefix=DIFFERENCE
// RUN: hipgraft-run %t.edited.mlir --device=cpu --quiet | FileCheck %s --check-prefix=QUOTIENT

// What was lowered can be edited: the program computes what the edited module says.

// DIFFERENCE: 2xfloat32 {{ +}}0 {{ +}}0
// QUOTIENT:   2xfloat32 {{ +}}1 {{ +}}1
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<2xf32>):
    %r = "hipdnn.pointwise"(%a, %a) {mode = "sub"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    "hipdnn.yield"(%r) : (tensor<2xf32>) -> ()
  }) {name = "difference"} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
