
"builtin.module"() <{sym_name = "merged"}> ({
  "func.func"() <{function_type = (!migraphx.shaped<64x8xf32, 8x1>, !migraphx.shaped<7xf32, 1>, !migraphx.shaped<64x8xf32, 8x1>) -> !migraphx.shaped<64x8xf32, 8x1>, sym_name = "sub"}> ({
  ^bb0(%arg8: !migraphx.shaped<64x8xf32, 8x1>, %arg9: !migraphx.shaped<7xf32, 1>, %arg10: !migraphx.shaped<64x8xf32, 8x1>):
    %7 = "migraphx.sub"(%arg10, %arg8) : (!migraphx.shaped<64x8xf32, 8x1>, !migraphx.shaped<64x8xf32, 8x1>) -> !migraphx.shaped<64x8xf32, 8x1>
    "func.return"(%7) : (!migraphx.shaped<64x8xf32, 8x1>) -> ()
  }) {rock.arch = "gfx1100", rock.kernel = "mixr"} : () -> ()
  "gpu.binary"() <{objects = [#gpu.object<#rocdl.target<O = 3, chip = "gfx1100">, kernels = <[#gpu.kernel_metadata<"sub", (memref<512xf32>, memref<7xf32>, memref<512xf32>, memref<512xf32>) -> (), metadata = {block_size = unit, grid_size = 2 : i32}>]>, bin = "rocMLIR's">], offloadingHandler = #gpu.select_object, sym_name = "kernels"}> : () -> ()
  "gpu.binary"() <{objects = [#gpu.object<#rocdl.target<chip = "gfx1100">, kernels = <[#gpu.kernel_metadata<"other", !llvm.func<void (ptr)>, metadata = {}>]>, bin = "untouched">], offloadingHandler = #gpu.select_object, sym_name = "others"}> : () -> ()
  "func.func"() <{function_type = (memref<512xf32>, memref<7xf32>, memref<512xf32>, memref<512xf32>) -> (), sym_name = "host"}> ({
  ^bb0(%arg4: memref<512xf32>, %arg5: memref<7xf32>, %arg6: memref<512xf32>, %arg7: memref<512xf32>):
    %1 = "arith.constant"() <{value = 1 : index}> : () -> index
    %2 = "arith.constant"() <{value = 2 : index}> : () -> index
    %3 = "arith.constant"() <{value = 256 : index}> : () -> index
    %4 = "test.value"() : () -> i32
    "gpu.launch_func"(%2, %1, %1, %3, %1, %1, %4, %arg4, %arg5, %arg6, %arg7) <{kernel = @kernels::@sub, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 4, 0>}> : (index, index, index, index, index, index, i32, memref<512xf32>, memref<7xf32>, memref<512xf32>, memref<512xf32>) -> ()
    %5 = "gpu.wait"() : () -> !gpu.async.token
    %6 = "gpu.launch_func"(%5, %2, %1, %1, %3, %1, %1, %arg4, %arg5, %arg6, %arg7) <{kernel = @kernels::@sub, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 4, 0>}> : (!gpu.async.token, index, index, index, index, index, index, memref<512xf32>, memref<7xf32>, memref<512xf32>, memref<512xf32>) -> !gpu.async.token
    "gpu.wait"(%6) : (!gpu.async.token) -> ()
    "gpu.launch_func"(%2, %1, %1, %3, %1, %1, %arg4) <{kernel = @others::@other, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0>}> : (index, index, index, index, index, index, memref<512xf32>) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
  "llvm.func"() <{CConv = #llvm.cconv<ccc>, function_type = !llvm.func<void (ptr, ptr, ptr, ptr)>, linkage = #llvm.linkage<external>, sym_name = "lowered", unnamed_addr = 0 : i64, visibility_ = 0 : i64}> ({
  ^bb0(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: !llvm.ptr):
    %0 = "llvm.mlir.constant"() <{value = 1 : i64}> : () -> i64
    "gpu.launch_func"(%0, %0, %0, %0, %0, %0, %arg0, %arg1, %arg2, %arg3) <{kernel = @kernels::@sub, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 4, 0>}> : (i64, i64, i64, i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    "llvm.return"() : () -> ()
  }) : () -> ()
}) {gpu.container_module} : () -> ()
