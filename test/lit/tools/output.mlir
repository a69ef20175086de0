// REQUIRES: slow
// RUN: hipgraft-opt %s -o %t.mlir
// RUN: hipgraft-opt %t.mlir | FileCheck %s
// RUN: hipgraft-opt %s --emit-bytecode -o %t.mlirbc
// RUN: hipgraft-opt %t.mlirbc | FileCheck %s
// RUN: cat %t.mlirbc | hipgraft-opt - | FileCheck %s
// RUN: iree-opt %t.mlirbc | FileCheck %s
// RUN: hipgraft-opt %s --mlir-elide-elementsattrs-if-larger=2 --mlir-elide-resource-strings-if-larger=4 | FileCheck %s --check-prefix=ELIDE
// RUN: hipgraft-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: hipgraft-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=DEBUG
// RUN: hipgraft-opt %s --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOCAL
// RUN: not hipgraft-opt %s -o %t.no/such/folder.mlir 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: not hipgraft-opt %s -o %S 2>&1 | FileCheck %s --check-prefix=UNWRITABLE-FOLDER
// RUN: not hipgraft-opt %s --cse --mlir-print-ir-after-all --mlir-print-ir-tree-dir=/dev/null/x 2>&1 | FileCheck %s --check-prefix=UNWRITABLE-TREE
// RUN: not hipgraft-opt %s --cse --mlir-pass-pipeline-crash-reproducer=%t.no/such/file 2>&1 | FileCheck %s --check-prefix=UNWRITABLE-FILE
// RUN: echo before > %t.kept
// RUN: not hipgraft-opt %s --test-fail -o %t.kept
// RUN: FileCheck %s --check-prefix=KEPT --input-file=%t.kept
// RUN: hipgraft-opt %s -o /dev/null

// Output is text or bytecode, and replaces a file only when it is complete.

// CHECK-LABEL: func.func @f
// CHECK: arith.constant dense<[1, 2, 3]>
// CHECK: arith.constant dense_resource<numbers>
// CHECK: numbers: "0x04000000

// ELIDE-LABEL: func.func @f
// ELIDE: dense_resource<__elided__> : tensor<3xi32>
// ELIDE-NOT: 0x04000000

// GENERIC: "func.func"()
// DEBUG: arith.constant {{.*}} loc(#loc{{[0-9]+}})
// LOCAL: arith.constant {{.*}} loc("{{.*}}output.mlir":{{[0-9]+}}:{{[0-9]+}})

// UNWRITABLE: error: cannot open output file '{{.*}}folder.mlir': No such file or directory
// UNWRITABLE-FOLDER: error: cannot open output file '{{.*}}': Is a directory
// UNWRITABLE-TREE: error: cannot open output file '/dev/null/x{{.*}}': Not a directory
// UNWRITABLE-FILE: error: cannot open output file '{{.*}}no/such/file': No such file or directory
// KEPT: before
func.func @f() -> (tensor<3xi32>, tensor<2xi32>) {
  %0 = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %1 = arith.constant dense_resource<numbers> : tensor<2xi32>
  return %0, %1 : tensor<3xi32>, tensor<2xi32>
}

{-#
  dialect_resources: {
    builtin: {
      numbers: "0x040000000100000002000000"
    }
  }
#-}
