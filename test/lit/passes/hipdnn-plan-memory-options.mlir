// RUN: hipgraft-opt %s --hipdnn-plan-memory=alignment=256 | FileCheck %s
// RUN: hipgraft-opt %s --hipdnn-plan-memory --hipdnn-plan-memory > %t.twice
// RUN: hipgraft-opt %s --hipdnn-plan-memory > %t.once
// RUN: diff %t.once %t.twice
// RUN: hipgraft-opt %s --hipdnn-plan-memory --remarks -o %t.mlir 2>&1 | FileCheck %s --check-prefix=REMARK
// Buffers start at multiples of the alignment; a planned function has nothing left to plan.

// REMARK: 128 bytes for 2 buffers of 128 bytes together; at least 80 are live at once

// CHECK-LABEL: func.func @main
// CHECK:         gpu.alloc async {{.*}} : memref<512xi8>
// CHECK:         arith.constant 256 : index
func.func @main(%y: memref<40xi8>) attributes {hipgraft.results = 1 : i64} {
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<40xi8>
  %t1 = gpu.memcpy async [%t0] %a, %y : memref<40xi8>, memref<40xi8>
  %b = memref.alloc() : memref<40xi8>
  %t2 = gpu.memcpy async [%t1] %b, %a : memref<40xi8>, memref<40xi8>
  %again = gpu.memcpy async [%t2] %y, %a : memref<40xi8>, memref<40xi8>
  gpu.wait [%again]
  return
}
