
"builtin.module"() ({
  "func.func"() <{function_type = (memref<256xi8>) -> (), sym_name = "chain"}> ({
  ^bb0(%arg0: memref<256xi8>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %2 = "gpu.wait"() : () -> !gpu.async.token
    %3 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<512xi8>
    %4 = "memref.view"(%3, %0) : (memref<512xi8>, index) -> memref<9223372036854775807xi32>
    %5 = "gpu.memset"(%2, %4, %1) : (!gpu.async.token, memref<9223372036854775807xi32>, i32) -> !gpu.async.token
    %6 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<256xi8>
    %7 = "memref.view"(%3, %0) : (memref<512xi8>, index) -> memref<256xi8>
    %8 = "gpu.memcpy"(%5, %6, %7) : (!gpu.async.token, memref<256xi8>, memref<256xi8>) -> !gpu.async.token
    %9 = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<256xi8>
    %10 = "gpu.memcpy"(%8, %9, %6) : (!gpu.async.token, memref<256xi8>, memref<256xi8>) -> !gpu.async.token
    %11 = "gpu.memcpy"(%10, %arg0, %9) : (!gpu.async.token, memref<256xi8>, memref<256xi8>) -> !gpu.async.token
    "gpu.wait"(%11) : (!gpu.async.token) -> ()
    "func.return"() : () -> ()
  }) {hipgraft.results = 1 : i64} : () -> ()
}) : () -> ()
