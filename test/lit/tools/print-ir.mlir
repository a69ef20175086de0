// RUN: hipgraft-opt %s --cse --test-rename-functions=prefix=a_ --symbol-dce --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: hipgraft-opt %s --cse --test-rename-functions=prefix=a_ --mlir-print-ir-before-all -o %t 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: hipgraft-opt %s --cse --test-rename-functions=prefix=a_ --mlir-print-ir-before=test-rename-functions --mlir-print-ir-after=cse -o %t 2>&1 | FileCheck %s --check-prefix=NAMED
// RUN: hipgraft-opt %s --cse --cse --test-rename-functions=prefix=a_ --test-rename-functions=prefix=a_ --mlir-print-ir-after-change -o %t 2>&1 | FileCheck %s --check-prefix=CHANGE
// RUN: not hipgraft-opt %s --cse --test-fail=op=arith.addi --mlir-print-ir-after-failure 2>&1 | FileCheck %s --check-prefix=FAILURE
// RUN: hipgraft-opt %s --torch-fuse-quantized-ops --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: hipgraft-opt %s --torch-fuse-quantized-ops --mlir-print-ir-after-all --mlir-print-ir-module-scope -o %t 2>&1 | FileCheck %s --check-prefix=MODULE
// RUN: rm -rf %t.tree
// RUN: hipgraft-opt %s --cse --test-rename-functions=prefix=a_ --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t.tree -o %t
// RUN: FileCheck %s --check-prefix=TREE0 --input-file=%t.tree/builtin_module_no-symbol-name/0_cse.mlir
// RUN: FileCheck %s --check-prefix=TREE1 --input-file=%t.tree/builtin_module_no-symbol-name/1_test-rename-functions.mlir

// IR is printed around our passes and MLIR's alike, to standard error or into numbered files.

// AFTER: // -----// IR Dump After CSEPass: cse //----- //
// AFTER: func.func @f
// AFTER: // -----// IR Dump After TestRenameFunctionsPass: test-rename-functions{prefix=a_} //----- //
// AFTER: func.func @a_f
// AFTER: // -----// IR Dump After SymbolDCEPass: symbol-dce //----- //

// BEFORE: // -----// IR Dump Before CSEPass: cse //----- //
// BEFORE-COUNT-2: arith.addi
// BEFORE: // -----// IR Dump Before TestRenameFunctionsPass
// BEFORE: func.func @f
// BEFORE: arith.addi
// BEFORE-NOT: arith.addi

// NAMED-NOT: IR Dump Before CSE
// NAMED: // -----// IR Dump After CSEPass: cse //----- //
// NAMED: // -----// IR Dump Before TestRenameFunctionsPass
// NAMED-NOT: IR Dump

// CHANGE: IR Dump After CSEPass
// CHANGE-NOT: IR Dump After CSEPass
// CHANGE: IR Dump After TestRenameFunctionsPass
// CHANGE-NOT: IR Dump

// FAILURE-NOT: IR Dump
// FAILURE: error: 'arith.addi' op is not wanted
// FAILURE: // -----// IR Dump After TestFailPass Failed: test-fail{op=arith.addi} //----- //
// FAILURE-NEXT: module

// FUNCTION: IR Dump After
// FUNCTION-NEXT: func.func @f
// MODULE: IR Dump After
// MODULE-NEXT: module

// TREE0: IR Dump After {{.*}}cse
// TREE0: func.func @f
// TREE1: IR Dump After TestRenameFunctionsPass
// TREE1: func.func @a_f
func.func @f(%x: i32) -> (i32, i32) {
  %0 = arith.addi %x, %x : i32
  %1 = arith.addi %x, %x : i32
  return %0, %1 : i32, i32
}
