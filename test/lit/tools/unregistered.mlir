// RUN: not hipgraft-opt %s 2>&1 | FileCheck %s
// RUN: hipgraft-opt %s --allow-unregistered-dialect | FileCheck %s --check-prefix=ALLOWED

// An op of a dialect that neither MLIR nor hipgraft knows is an error unless it is allowed.

// CHECK: unregistered.mlir:[[# @LINE + 3]]:3: error: 'unknown.op' op created with unregistered dialect. If this is intended, please use --allow-unregistered-dialect
// ALLOWED: "unknown.op"() : () -> ()
func.func @f() {
  "unknown.op"() : () -> ()
  return
}
