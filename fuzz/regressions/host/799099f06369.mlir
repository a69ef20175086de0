
"builtin.module"() ({
  "func.func"() <{function_type = (memref<8xf32>, memref<4xf32>) -> (), sym_name = "parts"}> ({
  ^bb0(%arg0: memref<8xf32>, %arg1: memref<4xf32>):
    %0 = "arith.constant"() <{value = 64 : index}> : () -> index
    %1 = "memref.alloc"() <{operanizes = array<i32: 0, 0>}> : () -> memref<128xi8>
    %2 = "hipdnn.execute"(%1, %0) : (memref<128xi8>, index) -> memref<8xf32>
    "hipde"(%arg0, %2, %arg1) {callee = @a} : (memref<8xf32>, memref<8xf32>, memref<4xf32>) -> ()
    "func.return"() : () -> ()
  }) {hipgraft.results = 1 : i64} : () -> ()
  "hipdnn.executable"() {operand_types = [tensor<8xf32>, tensor<8xf32>], result_types = [tensor<4xf32>], sym_name = "a", variants = [{bjects = ["\7FELF"], steps = [{length = 16 : i64, op = "copy", source = 0 : i64, source_offset = 2 : i64, target_offset = 0 : i64}, {bindings = [{access = "read", buffer =0 : i64}], block = 4, grid = array<i64: 1, 1, 1>, kernel = "k0", object = 0 : i64, op = "dispatch"}], target = "gfx942", workspace_size = 0 : i64}]} : () -> ()
}) : () -> ()