// RUN: hipgraft-opt %s --split-input-file --hipgraft-host-to-llvm=target=gfx942 | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipgraft-host-to-llvm=target=gfx942 > %t.once
// RUN: hipgraft-opt %s --split-input-file --hipgraft-host-to-llvm=target=gfx942 \
// RUN:   --hipgraft-host-to-llvm=target=gfx942 > %t.twice
// RUN: diff %t.once %t.twice
// The host program becomes calls of MLIR's GPU runtime; constants become arguments.

// CHECK-LABEL: llvm.func @main
// CHECK-SAME:    hipgraft.constants = ["w"]
// CHECK-SAME:    llvm.emit_c_interface
// CHECK:         %[[STREAM:.*]] = llvm.call @mgpuStreamCreate()
// CHECK:         llvm.call @mgpuMemAlloc({{.*}}, %[[STREAM]], {{.*}})
// CHECK:         llvm.call @mgpuMemcpy({{.*}}, %[[STREAM]])
// CHECK:         llvm.call @mgpuMemset16({{.*}}, %[[STREAM]])
// CHECK:         llvm.call @mgpuMemFree({{.*}}, %[[STREAM]])
// CHECK:         llvm.call @mgpuStreamSynchronize(%[[STREAM]])
// CHECK:         llvm.call @mgpuStreamDestroy(%[[STREAM]])
// CHECK-LABEL: llvm.func @_mlir_ciface_main
// CHECK-NOT:   llvm.mlir.global {{.*}}@w
memref.global "private" constant @w : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @main(%x: memref<4xf32>, %z: memref<4xf32>, %h: memref<6xi16>)
    attributes {hipgraft.results = 2 : i64, hipgraft.targets = ["gfx942"]} {
  %c0 = arith.constant 0 : index
  %seven = arith.constant -7 : i16
  %t0 = gpu.wait async
  %a, %t1 = gpu.alloc async [%t0] () : memref<64xi8>
  %v = memref.view %a[%c0][] : memref<64xi8> to memref<4xf32>
  %w = memref.get_global @w : memref<4xf32>
  %t2 = gpu.memcpy async [%t1] %v, %w : memref<4xf32>, memref<4xf32>
  %t3 = gpu.memcpy async [%t2] %z, %v : memref<4xf32>, memref<4xf32>
  %t4 = gpu.memset async [%t3] %h, %seven : memref<6xi16>, i16
  %t5 = gpu.dealloc async [%t4] %a : memref<64xi8>
  gpu.wait [%t5]
  return
}

// -----

// What is for another architecture is left out.

// CHECK:       gpu.binary @k
// CHECK-SAME:    [#gpu.object<#rocdl.target<chip = "gfx942">, bin = "b">]
// CHECK-NOT:   gpu.binary @unused
// CHECK-LABEL: llvm.func @main(
// CHECK:         gpu.launch_func {{.*}} @k::@f
// CHECK-NOT:   llvm.func @main_gfx1100
module attributes {gpu.container_module} {
  gpu.binary @k [#gpu.object<#rocdl.target<chip = "gfx1100">, bin = "a">,
                 #gpu.object<#rocdl.target<chip = "gfx942">, bin = "b">]
  gpu.binary @unused [#gpu.object<#rocdl.target<chip = "gfx1100">, bin = "a">]
  func.func @main(%x: memref<4xf32>)
      attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]} {
    %c1 = arith.constant 1 : index
    %t0 = gpu.wait async
    %t1 = gpu.launch_func async [%t0] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%x : memref<4xf32>)
    gpu.wait [%t1]
    return
  }
  func.func @main_gfx1100(%x: memref<4xf32>)
      attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx1100"]} {
    return
  }
}
