// REQUIRES: slow
// RUN: rm -rf %t.dir && mkdir %t.dir
// RUN: not hipgraft-opt %s --cse --test-fail=op=arith.addi --mlir-pass-pipeline-crash-reproducer=%t.dir/fail.mlir 2>&1 | FileCheck %s --check-prefix=FAIL
// RUN: FileCheck %s --check-prefix=FILE --input-file=%t.dir/fail.mlir
// RUN: not hipgraft-opt %t.dir/fail.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: not hipgraft-opt %s --cse --iree-verify-input-legality --symbol-dce --mlir-pass-pipeline-crash-reproducer=%t.dir/native.mlir 2>&1 | FileCheck %s --check-prefix=NATIVE
// RUN: FileCheck %s --check-prefix=NATIVE-FILE --input-file=%t.dir/native.mlir
// RUN: not hipgraft-opt %s --test-emit-error --mlir-pass-pipeline-crash-reproducer=%t.dir/emit.mlir 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: not hipgraft-opt %s --test-raise --mlir-pass-pipeline-crash-reproducer=%t.dir/raise.mlir 2>&1 | FileCheck %s --check-prefix=RAISE
// RUN: not hipgraft-opt %t.dir/raise.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=RAISE-AGAIN
// RUN: hipgraft-opt %s --cse --mlir-pass-pipeline-crash-reproducer=%t.dir/none.mlir -o %t
// RUN: not cat %t.dir/none.mlir
// RUN: iree-opt %t.dir/fail.mlir | FileCheck %s --check-prefix=IREE
// RUN: not iree-opt %t.dir/fail.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=IREE-FAIL
// RUN: not iree-opt %t.dir/native.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=IREE-NATIVE
// RUN: not hipgraft-opt %t --run-reproducer 2>&1 | FileCheck %s --check-prefix=NO-REPRODUCER

// A failure leaves the module as it was before the failed pass, with the command that shows the
// failure again in the first line. A run that succeeds leaves nothing.

// FAIL: reproducer.mlir:[[# @LINE + 33]]:8: error: 'arith.addi' op is not wanted
// FAIL: note: the test says so
// FAIL: note: reproducer left in {{.*}}fail.mlir

// FILE: {{^// RUN}}: hipgraft-opt %s --pass-pipeline='builtin.module(test-fail{op=arith.addi})'
// FILE: arith.addi
// FILE-NOT: arith.addi
// FILE: mlir_reproducer

// AGAIN: reproducer.mlir:{{[0-9]+}}:8: error: 'arith.addi' op is not wanted

// NATIVE: error: {{.*}}illegal op still exists
// NATIVE-FILE: {{^// RUN}}: hipgraft-opt %s --pass-pipeline='builtin.module(iree-verify-input-legality)'
// NATIVE-FILE: arith.addi
// NATIVE-FILE-NOT: arith.addi
// NATIVE-FILE: mlir_reproducer

// EMIT: error: test error
// EMIT: note: reproducer left in {{.*}}emit.mlir

// RAISE: KeyError: 'a bug'
// RAISE-NEXT: reproducer left in {{.*}}raise.mlir
// RAISE-AGAIN: KeyError: 'a bug'

// IREE: func.func @f

// MLIR's tools run the native passes of a reproducer, and fail where they do not know a pass.
// IREE-FAIL: error: {{.*}}'test-fail' does not refer to a registered pass
// IREE-NATIVE: error: {{.*}}illegal op still exists

// NO-REPRODUCER: error: no reproducer: expected a '{{.*}}' line with '--pass-pipeline='
func.func @f(%x: tensor<4xf32>, %i: i32) -> (tensor<4xf32>, i32, i32) {
  %t = tosa.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %0 = arith.addi %i, %i : i32
  %1 = arith.addi %i, %i : i32
  return %t, %0, %1 : tensor<4xf32>, i32, i32
}
