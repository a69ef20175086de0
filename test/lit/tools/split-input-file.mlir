// RUN: not hipgraft-opt %s --split-input-file --mlir-print-debuginfo > %t.out 2> %t.err
// RUN: FileCheck %s --input-file=%t.out
// RUN: FileCheck %s --input-file=%t.err --check-prefix=ERR
// RUN: not hipgraft-opt --split-input-file < %s 2>&1 | FileCheck %s --check-prefix=STDIN
// RUN: not hipgraft-opt %s --split-input-file -o %t.none
// RUN: not cat %t.none

// Each part is processed alone, keeps its line numbers, and its errors do not stop the others.
// Nothing is written into a file unless all parts succeed.

// CHECK: func.func @first
// CHECK: loc("{{.*}}split-input-file.mlir":[[# @LINE + 1]]:1)
func.func @first() { return }

// -----

// ERR: split-input-file.mlir:[[# @LINE + 4]]:30: error: use of undeclared SSA value name
// ERR-NEXT: func.func @second() { return %x : i32 }
// ERR-NEXT: {{^}}                             ^
// STDIN: <stdin>:[[# @LINE + 1]]:30: error: use of undeclared SSA value name
func.func @second() { return %x : i32 }

// -----

// CHECK: // -----
// CHECK: // -----
// CHECK: func.func @third
// CHECK: func.func @fourth
func.func @third() { return }
func.func @fourth() { return }
