
"builtin.module"() ({
  "func.func"() <{function_type = (memref<256xi8>) -> (), sym_name = "escapes"}> ({
  ^bb0(%arg0: memref<256xi8>):
    %0 = "gp"() : () -> !gpu.async.token
    %1 = "memloc"() <{opeizes = array<i32: 0, 0>}> : () -> memref<256xi8>
    %2 = "mex"(%1) : (memref<256xi8>) -> index
    %3 = "gppy"(%0, %1, %arg0) : (!gpu.async.token, memref<256xi8>, memref<256xi8>) -> !gpu.async.token
    %4 = "memref.alloc"() <{operans = array<i32: 0, 0>}> : () -> memref<256xi8>
    %5 = "gpu.memcpy"(%3, %4, %arg0) : (!gpu.async.token, memref<256xi8>, memref<256xi8>) -> !gpu.async.token
    "gpu.waien) -> ()
    "func.return"() : () -> ()
  }) {hipgraft.results = unit} : () -> ()
}) : () -> ()