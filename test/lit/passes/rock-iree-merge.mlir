// REQUIRES: slow
// RUN: hipgraft-opt %s --split-input-file --migraphx-iree-gen --rock-iree-merge --rock-iree-merge \
// RUN:   --mlir-print-local-scope | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --migraphx-iree-gen --rock-iree-merge \
// RUN:   | iree-opt --split-input-file --allow-unregistered-dialect
// RUN: hipgraft-opt %s --split-input-file --migraphx-iree-gen --rock-iree-merge=iree-disable \
// RUN:   | FileCheck %s --check-prefix=OFF
// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics --remarks \
// RUN:   --pass-pipeline='builtin.module(migraphx-iree-gen,rock-iree-merge)'

// rocMLIR's binaries and launches become IREE's where there is a result.

// CHECK-LABEL: module @merged
// CHECK-NOT: iree.export
// CHECK: gpu.binary @kernels [#gpu.object<#rocdl.target<O = 3, chip = "gfx1100">, kernels = <[#gpu.kernel_metadata<"[[K:.*]]", (memref<512xf32>, memref<512xf32>, memref<512xf32>) -> (), metadata = {block_size = {{[0-9]+}} : i32, grid_size = {{[0-9]+}} : i32, lds_size = 0 : i64, original_func = @sub, workgroup_count = array<i64: {{.*}}>, workgroup_sizes = array<i64: {{.*}}>}>]>, bin = "\7FELF
// CHECK: gpu.binary @others [{{.*}}bin = "untouched">]
// OFF: iree.export
// OFF: bin = "rocMLIR's"
module @merged attributes {gpu.container_module} {
  // expected-remark @+1 {{'@sub' became 1 launches}}
  func.func @sub(%y: !migraphx.shaped<64x8xf32, 8x1>, %unused: !migraphx.shaped<7xf32, 1>, %x: !migraphx.shaped<64x8xf32, 8x1>) -> !migraphx.shaped<64x8xf32, 8x1>
      attributes {rock.kernel = "mixr", rock.arch = "gfx1100"} {
    %0 = migraphx.sub %x, %y : <64x8xf32, 8x1>, <64x8xf32, 8x1> -> <64x8xf32, 8x1>
    return %0 : !migraphx.shaped<64x8xf32, 8x1>
  }
  // expected-remark @+1 {{kernel 'sub' is IREE's}}
  gpu.binary @kernels [#gpu.object<#rocdl.target<O = 3, chip = "gfx1100">, kernels = <[#gpu.kernel_metadata<"sub", (memref<512xf32>, memref<7xf32>, memref<512xf32>, memref<512xf32>) -> (), metadata = {block_size = 256 : i32, grid_size = 2 : i32}>]>, bin = "rocMLIR's">]
  // expected-remark @+1 {{'gpu.binary' op stays: there is no result for its kernels}}
  gpu.binary @others [#gpu.object<#rocdl.target<chip = "gfx1100">, kernels = <[#gpu.kernel_metadata<"other", !llvm.func<void (ptr)>, metadata = {}>]>, bin = "untouched">]

  // CHECK-LABEL: func.func @host
  // CHECK-SAME: (%[[Y:.*]]: memref<512xf32>, %[[U:.*]]: memref<7xf32>, %[[X:.*]]: memref<512xf32>, %[[O:.*]]: memref<512xf32>)
  func.func @host(%y: memref<512xf32>, %u: memref<7xf32>, %x: memref<512xf32>, %out: memref<512xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c256 = arith.constant 256 : index
    %lds = arith.constant 8192 : i32
    // CHECK: gpu.launch_func @kernels::@[[K]] blocks in (%{{.*}}, %{{.*}}, %{{.*}}) threads in (%{{.*}}, %{{.*}}, %{{.*}}) args(%[[X]] : memref<512xf32>, %[[Y]] : memref<512xf32>, %[[O]] : memref<512xf32>)
    gpu.launch_func @kernels::@sub blocks in (%c2, %c1, %c1) threads in (%c256, %c1, %c1) dynamic_shared_memory_size %lds args(%y : memref<512xf32>, %u : memref<7xf32>, %x : memref<512xf32>, %out : memref<512xf32>)
    // CHECK: %[[T:.*]] = gpu.launch_func async [%{{.*}}] @kernels::@[[K]]
    // CHECK: gpu.wait [%[[T]]]
    %t = gpu.wait async
    %t1 = gpu.launch_func async [%t] @kernels::@sub blocks in (%c2, %c1, %c1) threads in (%c256, %c1, %c1) args(%y : memref<512xf32>, %u : memref<7xf32>, %x : memref<512xf32>, %out : memref<512xf32>)
    gpu.wait [%t1]
    // CHECK: gpu.launch_func @others::@other
    gpu.launch_func @others::@other blocks in (%c2, %c1, %c1) threads in (%c256, %c1, %c1) args(%y : memref<512xf32>)
    return
  }

  // Constants of LLVM's integers stay such.
  // CHECK-LABEL: llvm.func @lowered
  llvm.func @lowered(%y: !llvm.ptr, %u: !llvm.ptr, %x: !llvm.ptr, %out: !llvm.ptr) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    // CHECK: llvm.mlir.constant({{[0-9]+}} : i64) : i64
    // CHECK: gpu.launch_func @kernels::@[[K]] blocks in (%{{.*}}) threads in (%{{.*}}) : i64 args(%arg2 : !llvm.ptr, %arg0 : !llvm.ptr, %arg3 : !llvm.ptr)
    gpu.launch_func @kernels::@sub blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64 args(%y : !llvm.ptr, %u : !llvm.ptr, %x : !llvm.ptr, %out : !llvm.ptr)
    llvm.return
  }
}

// -----

// A launch on a stream stays on it, and so do several: a token that is the stream, for
// `gpu-to-llvm`, and no wait.

// CHECK-LABEL: module @streams
// CHECK-NOT: untouched
// CHECK-LABEL: llvm.func @host
// CHECK-SAME: %[[STREAM:[a-z0-9]*]]: !llvm.ptr) {
// CHECK: gpu.launch_func <%[[STREAM]] : !llvm.ptr> @{{.*}} args(%{{.*}} : !llvm.ptr, %{{.*}} : !llvm.ptr)
// CHECK: %[[TOKEN:.*]] = builtin.unrealized_conversion_cast %[[STREAM]] : !llvm.ptr to !gpu.async.token
// CHECK: %{{.*}}, %[[ALLOC:.*]] = gpu.alloc async [%[[TOKEN]]]
// CHECK: %[[FIRST:.*]] = gpu.launch_func async [%[[ALLOC]]]
// CHECK: %[[SECOND:.*]] = gpu.launch_func async [%[[FIRST]]]
// CHECK: gpu.dealloc async [%[[SECOND]]]
// CHECK-NOT: gpu.wait
// CHECK: llvm.return
module @streams attributes {gpu.container_module} {
  // expected-remark @+1 {{'@abs' became 1 launches}}
  func.func private @abs(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> attributes {arch = "gfx1100"} {
    %0 = migraphx.abs %x : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
  // expected-remark @+1 {{'@products' became 2 launches}}
  func.func private @products(%x: !migraphx.shaped<8x8xf32, 8x1>) -> !migraphx.shaped<8x8xf32, 8x1> attributes {arch = "gfx1100"} {
    %0 = migraphx.dot %x, %x : <8x8xf32, 8x1>, <8x8xf32, 8x1> -> <8x8xf32, 8x1>
    %1 = migraphx.dot %0, %x : <8x8xf32, 8x1>, <8x8xf32, 8x1> -> <8x8xf32, 8x1>
    return %1 : !migraphx.shaped<8x8xf32, 8x1>
  }
  // expected-remark @+2 {{kernel 'abs' is IREE's}}
  // expected-remark @+1 {{kernel 'products' is IREE's}}
  gpu.binary @kernels [#gpu.object<#rocdl.target<O = 3, chip = "gfx1100">, bin = "untouched">]
  llvm.func @host(%x: !llvm.ptr, %out: !llvm.ptr, %stream: !llvm.ptr) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@abs blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64 args(%x : !llvm.ptr, %out : !llvm.ptr)
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@products blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) : i64 args(%x : !llvm.ptr, %out : !llvm.ptr)
    llvm.return
  }
}

// -----

// What does not fit stays, with its reason.

// CHECK-LABEL: module @mismatches
// CHECK: gpu.binary @few [{{.*}}bin = "untouched">]
// CHECK: gpu.binary @foreign [{{.*}}bin = "untouched">]
module @mismatches attributes {gpu.container_module} {
  // expected-remark @+1 {{'@f' became 1 launches}}
  func.func private @f(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> attributes {arch = "gfx1100"} {
    %0 = migraphx.abs %x : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
  // expected-remark @+1 {{kernel 'f' stays: a launch passes 1 arguments, expected 2}}
  gpu.binary @few [#gpu.object<#rocdl.target<chip = "gfx1100">, bin = "untouched">]
  // expected-remark @+1 {{kernel 'f' stays: its object is for 'gfx90a', its result for 'gfx1100'}}
  gpu.binary @foreign [#gpu.object<#rocdl.target<chip = "gfx90a">, bin = "untouched">]
  func.func @host(%x: memref<64xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @few::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<64xf32>)
    gpu.launch_func @foreign::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<64xf32>, %x : memref<64xf32>)
    return
  }
}

// -----

// Several modules of a file.

// CHECK-LABEL: module @first attributes {gpu.container_module}
// CHECK: gpu.binary @f_module
// CHECK-LABEL: module @second attributes {gpu.container_module}
// CHECK: gpu.binary @f_module
module @first {
  // expected-remark @+1 {{'@f' became 1 launches}}
  func.func @f(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> attributes {arch = "gfx1100"} {
    %0 = migraphx.abs %x : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
}
module @second {
  // expected-remark @+1 {{'@f' became 1 launches}}
  func.func @f(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> attributes {arch = "gfx942"} {
    %0 = migraphx.neg %x : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
}

// -----

// Without binaries, the function itself becomes the one that launches.

// CHECK-LABEL: module @alone
// CHECK: gpu.binary @f_module
// CHECK: func.func @f(%[[X:.*]]: memref<64xf32>, %[[Y:.*]]: memref<64xf32>) attributes
// CHECK: %[[T:.*]] = gpu.wait async
// CHECK: gpu.launch_func async [%[[T]]] @f_module::@{{.*}} args(%[[X]] : memref<64xf32>, %[[Y]] : memref<64xf32>)
module @alone {
  // expected-remark @+1 {{'@f' became 1 launches}}
  func.func private @f(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> attributes {arch = "gfx1100"} {
    %0 = migraphx.abs %x : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
}

// -----

// What became a kernel is no longer in the attribute; the reason of a failure stays there.

// CHECK-LABEL: module @partly attributes
// CHECK-SAME: iree.export = {bad = "[iree-error]: 'migraphx.code_object' op is a compiled kernel, which the module does not hold"}
// CHECK: gpu.binary @abs_module
// expected-remark @+1 {{a kernel has no result: 'migraphx.code_object' op is a compiled kernel, which the module does not hold}}
module @partly attributes {rock.arch = "amdgcn-amd-amdhsa:gfx1100"} {
  // expected-remark @+1 {{'@abs' became 1 launches}}
  func.func private @abs(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> {
    %0 = migraphx.abs %x : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
  // expected-remark @+1 {{'@bad' has no kernel: 'migraphx.code_object' op is a compiled kernel, which the module does not hold}}
  func.func private @bad(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> {
    %0 = migraphx.code_object %x {kernel = "relu", globalSize = 64 : i64, localSize = 64 : i64} : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
}
