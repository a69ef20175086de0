// RUN: not hipgraft-opt %s --test-break-ir -o %t.out 2>&1 | FileCheck %s
// RUN: not cat %t.out
// RUN: hipgraft-opt %s --verify-each=0 --test-break-ir --mlir-print-op-generic | FileCheck %s --check-prefix=UNVERIFIED

// The module is verified after each pass unless that is switched off.

// CHECK: error: {{.*}}
// CHECK-NOT: module
// UNVERIFIED: "func.func"
// UNVERIFIED-NOT: func.return
func.func @f() {
  return
}
