// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(torch-check-backend-form)'
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<8xf32>, tensor<8xf32>) -> (), sym_name = "main"}> ({
  ^bb0(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>):
    "hipdnn.execute"(%arg0, %arg1) {callee = @a} : (tensor<8xf32>, tensor<8xf32>) -> ()
    "func.return"() : () -> ()
  }) {hipgraft.results = 1 : i64} : () -> ()
  "hipdnn.executable"() {binaries = [{format = loc("x":1:2), objects = ["\7FELF"], steps = [], target = "gfx1100", workspace_size = 0 : i64}], operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], sym_name = "a"} : () -> ()
}) : () -> ()
