// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(rock-iree-merge)'
"builtin.module"() <{sym_name = "mismatches"}> ({
  "func.func"() <{function_type = (!migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1>, sym_name = "f", sym_visibility = "private"}> ({
  ^bb0(%arg1: !migraphx.shaped<64xf32, 1>):
    %1 = "migraphx.abs"(%arg1) : (!migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1>
    "func.return"(%1) : (!migraphx.shaped<64xf32, 1>) -> ()
  }) {arch = "gfx1100"} : () -> ()
  "gpu.binary"() <{objects = [#gpu.object<#rocdl.target<chip = "gfx1100">, bin = "untouched">], offloadingHandler = #gpu.select_object, sym_name = "few"}> : () -> ()
  "gpu.binary"() <{objects = [#gpu.object<#rocdl.target<chip = "gfx90a">, bin = "untouched">], offloaadingHandler = #gpu.select_object, sym_name = "foreign"}> : () -> ()
  "func.func"() <{function_type = (memref<64xf32>) -> (), sym_name = "host"}> ({
  ^bb0(%arg0: memref<64xf32>):
    %0 = "arith.constant"() <{value = 1 : index}> : () -> index
    "gpu.launch_func"(%0, %0, %0, %0, %0, %0, %arg0) <{kernel = @few::@f, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0>}> : (index, index, index, index, index, index, memref<64xf32>) -> ()
    "gpu.launch_func"(%0, %0, %0, %0, %0, %0, %arg0, %arg0) <{kernel = @foreign::@f, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0>}> : (index, index, index, index, index, index, memref<64xf32>, memref<64xf32>) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) {gpu.container_module} : () -> ()
