
"builtin.module"() ({
  "memref.global"() <{constant, initial_value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>, sym_name = "w", sym_visibility = "private", type = memref<4xf32>}> : () -> ()
  "func.func"() <{function_type = (memref<4xf32>, memref<4xf32>, memref<6xi16>) -> (), sym_name = "main"}> ({
  ^bb0(%arg0: memref<4xf32>, %arg1: memref<4xf32>, %arg2: memref<6xi16>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = -7 : i16}> : () -> i16
    %2 = "gpu.wait"() : () -> !gpu.async.token
    %3:2 = "gpu.alloc"(%2) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!gpu.async.token) -> (memref<64xi8>, !gpu.async.token)
    %4 = "memref.view"(%3#0, %0) : (memref<64xi8>, index) -> memref<4xf32>
    %5 = "memref.get_global"() <{name = @w}> : () -> memref<4xf32>
    %6 = "gpu.memset"(%3#1, %4, %5) : (!gpu.async.token, memref<4xf32>, memref<4xf32>) -> !gpu.async.token
    %7 = "gpu.memcpy"(%6, %arg1, %4) : (!gpu.async.token, memref<4xf32>, memref<4xf32>) -> !gpu.async.token
    %8 = "gpu.memset"(%7, %arg2, %1) : (!gpu.async.token, memref<6xi16>, i16) -> !gpu.async.token
    %9 = "gpu.dealloc"(%8, %3#0) : (!gpu.async.token, memref<64xi8>) -> !gpu.async.token
    "gpu.wait"(%9) : (!gpu.async.token) -> ()
    "func.return"() : () -> ()
  }) {hipgraft.results = 2 : i64, hipgraft.targets = ["gfx942"]} : () -> ()
}) : () -> ()
