// RUN: hipgraft-opt %s --cse --test-rename-functions=keep=kept --mlir-timing -o %t 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: hipgraft-opt %s --cse --test-rename-functions=keep=kept --mlir-pass-statistics -o %t 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: hipgraft-opt %s --test-rename-functions=keep=kept --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --test-rename-functions=keep=kept --remarks=%t.yaml -o %t
// RUN: FileCheck %s --check-prefix=YAML --input-file=%t.yaml
// RUN: hipgraft-opt %s --test-rename-functions=keep=kept -o %t 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
// RUN: hipgraft-opt %s --test-rename-functions --debug-only=test-rename-functions -o %t 2>&1 | FileCheck %s --check-prefix=DEBUG
// RUN: hipgraft-opt %s --test-rename-functions --debug-only=test-fail -o %t 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty

// Time, statistics, remarks and messages for developers are shown when they are asked for.

// TIME: ... Execution time report ...
// TIME: Total Execution Time: {{[0-9.]+}} seconds
// TIME: ----Wall Time----  ----Name----
// TIME: %)  Parser
// TIME: %)  cse
// TIME: %)  test-rename-functions
// TIME: %)  Output
// TIME: (100.0%)  Total

// COUNT: ... Pass statistics report ...
// COUNT: CSEPass
// COUNT-NEXT: (S) 1 num-cse'd - Number of operations CSE'd
// COUNT: test-rename-functions
// COUNT-NEXT: (S) 1 functions

// REMARK: reports.mlir:[[# @LINE + 26]]:1: remark: renamed 'f' [passed=test-rename-functions:renamed]
// REMARK-NEXT: func.func @f
// REMARK-NEXT: ^
// REMARK: reports.mlir:{{[0-9]+}}:1: remark: 'kept' is to be kept [missed=test-rename-functions:kept]

// YAML: --- !Passed
// YAML-NEXT: Pass: {{ *}}test-rename-functions
// YAML-NEXT: Name: {{ *}}renamed
// YAML-NEXT: DebugLoc: {{ *}}{ File: "{{.*}}reports.mlir", Line: [[# @LINE + 18]], Column: 1 }
// YAML-NEXT: Function: {{ *}}f
// YAML-NEXT: Args:
// YAML-NEXT: - String: "renamed 'f'"
// YAML-NEXT: - to: new_f
// YAML-NEXT: ...
// YAML-NEXT: --- !Missed
// YAML: Function: {{ *}}kept

// QUIET-NOT: {{.}}

// DEBUG: [test-rename-functions] rename f to new_f
// DEBUG: [test-rename-functions] {{.*}}reports.mlir:{{.*}}: 'func.func' op passed: renamed 'f'
// DEBUG: [test-rename-functions] ran {{.*}} ms, {{[0-9]+}} functions

// Native passes tell their time.
// RUN: hipgraft-opt %s --cse --canonicalize --debug-only=cse -o %t 2>&1 | FileCheck %s --check-prefix=NATIVE
// NATIVE: [cse,canonicalize] ran {{.*}} ms
func.func @f(%x: i32) -> (i32, i32) {
  %0 = arith.addi %x, %x : i32
  %1 = arith.addi %x, %x : i32
  return %0, %1 : i32, i32
}
func.func @kept() { return }
