// RUN: hipgraft-opt %s --split-input-file --hipgraft-externalize-constants | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipgraft-externalize-constants > %t.once
// RUN: hipgraft-opt %s --split-input-file --hipgraft-externalize-constants \
// RUN:   --hipgraft-externalize-constants > %t.twice
// RUN: diff %t.once %t.twice
// Constants in resources become arguments in front of the results; small ones stay.

// CHECK-NOT:   memref.global {{.*}}@w
// CHECK:       memref.global {{.*}}@small
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: memref<2xf16>, %[[W:.*]]: memref<2xf16>, %[[Y:.*]]: memref<2xf16>)
// CHECK-SAME:    hipgraft.constants = ["w"]
// CHECK:         gpu.memcpy {{.*}} %[[Y]], %[[W]]
// CHECK:         %[[SMALL:.*]] = memref.get_global @small
// CHECK:         gpu.memcpy {{.*}} %[[Y]], %[[SMALL]]
memref.global "private" constant @w : memref<2xf16> = dense_resource<w>
memref.global "private" constant @small : memref<2xf16> = dense<1.0>
func.func @main(%x: memref<2xf16>, %y: memref<2xf16>) attributes {hipgraft.results = 1 : i64} {
  %t0 = gpu.wait async
  %w = memref.get_global @w : memref<2xf16>
  %t1 = gpu.memcpy async [%t0] %y, %w : memref<2xf16>, memref<2xf16>
  %small = memref.get_global @small : memref<2xf16>
  %t2 = gpu.memcpy async [%t1] %y, %small : memref<2xf16>, memref<2xf16>
  gpu.wait [%t2]
  return
}
{-# dialect_resources: { builtin: { w: "0x02000000003C0040" } } #-}
