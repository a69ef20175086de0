// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(hipgraft-externalize-constants)'
"builtin.module"() ({
  "func.func"() <{function_type = (memref<8xf32>, memref<8xf32>) -> (), sym_name = "workspace"}> ({
  ^bb0(%arg0: memref<8xf32>, %arg1: memref<8xf32>):
    "hipdnn.execute"(%arg0, %arg1) {callee = @a} : (memref<8xf32>, memref<8xf32>) -> ()
    "func.return"() : () -> ()
  }) {hipgraft.results = 1 : i64} : () -> ()
  "hipdnn.executable"() {binaries = [{format = "hsaco", objects = ["\7FELF"], steps = [{buffer = 2 : i64, length = 64 : i64, offset = 128 : i64, op = "fill", pattern = 0 : i64, pattern_length = 1 : i64}, {length = loc("x":1:2), op = "copy", source = 0 : i64, source_offset = 0 : i64, target = 2 : i64, target_offset = 0 : i64}, {bindings = [{access = "read", buffer = 2 : i64, length = 32 : i64, offset = 0 : i64}, {access = "read", buffer = 2 : i64, length = 128 : i64, offset = 64 : i64}, {access = "read", buffer = 2 : i64, length = 64 : i64, offset = 128 : i64}, {access = "write", buffer = 1 : i64, length = 32 : i64, offset = 0 : i64}], block = array<i64: 64, 1, 1>, constants = array<i32>, dynamic_shared_memory = 1024 : i64, grid = array<i64: 1, 1, 1>, kernel = "k0", object = 0 : i64, op = "dispatch"}], target = "gfx942", workspace_size = 192 : i64}], operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], sym_name = "a"} : () -> ()
}) : () -> ()
