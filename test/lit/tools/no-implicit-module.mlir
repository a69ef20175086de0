// RUN: hipgraft-opt %s --no-implicit-module | FileCheck %s
// RUN: hipgraft-opt %s --no-implicit-module --pass-pipeline='func.func(cse)' | FileCheck %s --check-prefix=CSE
// RUN: not hipgraft-opt %s --no-implicit-module --pass-pipeline='builtin.module(cse)' 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: hipgraft-opt %s | FileCheck %s --check-prefix=IMPLICIT

// The op at the top can be another than a module, for MLIR's own passes.

// CHECK-NOT: module
// CHECK: func.func @f
// CHECK-COUNT-2: arith.addi
// CSE: arith.addi
// CSE-NOT: arith.addi
// WRONG: error: can't run 'builtin.module' pass manager on 'func.func' op
// IMPLICIT: module
func.func @f(%x: i32) -> (i32, i32) {
  %0 = arith.addi %x, %x : i32
  %1 = arith.addi %x, %x : i32
  return %0, %1 : i32, i32
}
