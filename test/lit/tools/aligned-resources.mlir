// RUN: hipgraft-opt %s --emit-bytecode -o %t.mlirbc
// RUN: hipgraft-opt %t.mlirbc | FileCheck %s
// RUN: cat %t.mlirbc | hipgraft-opt | FileCheck %s
// RUN: head -c 300 %t.mlirbc > %t.cut.mlirbc
// RUN: not hipgraft-opt %t.cut.mlirbc 2>&1 | FileCheck %s --check-prefix=CUT
// Bytecode is read from small files and pipes whatever its resources' alignment, here 64 as PyTorch
// writes it: MLIR itself refuses what does not lie at such an address.

// CHECK: dense_resource<w> : tensor<4xi32>
// CHECK: w: "0x4000000001000000020000000300000004000000"
// CUT: aligned-resources{{.*}}.cut.mlirbc:0:0: error: attempting to parse
func.func @main() -> tensor<4xi32> {
  %0 = arith.constant dense_resource<w> : tensor<4xi32>
  return %0 : tensor<4xi32>
}
{-# dialect_resources: { builtin: { w: "0x4000000001000000020000000300000004000000" } } #-}
