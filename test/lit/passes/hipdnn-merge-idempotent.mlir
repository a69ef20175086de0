// RUN: hipgraft-opt %s --hipdnn-merge > %t.once
// RUN: hipgraft-opt %s --hipdnn-merge --hipdnn-merge > %t.twice
// RUN: diff %t.once %t.twice
// RUN: iree-opt %t.once | FileCheck %s
// A merged program stays as it is, and plain upstream tools read it.

// CHECK: gpu.launch_func async
func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) attributes {hipgraft.results = 1 : i64} {
  "hipdnn.execute"(%x, %y) {callee = @a} : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], binaries = [{
  target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 32 : i64, access = "read"},
                 {buffer = 1 : i64, offset = 0 : i64, length = 32 : i64, access = "write"}],
     constants = array<i32>}]}]} : () -> ()
