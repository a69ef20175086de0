// RUN: hipgraft-opt %s --hipdnn-merge | FileCheck %s
// RUN: hipgraft-opt %s --hipdnn-merge=target=gfx1100 | FileCheck %s --check-prefix=ONE
// Architectures share what agrees: a binary where names and block sizes do, a function where all does.

// CHECK:       gpu.binary @same [#gpu.object<#rocdl.target<chip = "gfx942">{{.*}}, #gpu.object<#rocdl.target<chip = "gfx950">{{.*}}, #gpu.object<#rocdl.target<chip = "gfx1100">
// CHECK:       gpu.binary @other [#gpu.object<#rocdl.target<chip = "gfx942">{{.*}}, #gpu.object<#rocdl.target<chip = "gfx950">
// CHECK:       gpu.binary @other_gfx1100 [#gpu.object<#rocdl.target<chip = "gfx1100">
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    hipgraft.targets = ["gfx942", "gfx950"]
// CHECK:         gpu.launch_func async {{.*}} @same::@k0
// CHECK:         gpu.launch_func async {{.*}} @other::@k0
// CHECK-LABEL: func.func @main_gfx1100(
// CHECK-SAME:    hipgraft.targets = ["gfx1100"]
// CHECK:         gpu.launch_func async {{.*}} @same::@k0
// CHECK:         gpu.launch_func async {{.*}} @other_gfx1100::@k0

// ONE-NOT:     gfx942
// ONE:         gpu.binary @other [#gpu.object<#rocdl.target<chip = "gfx1100">
// ONE:         func.func @main(
// ONE-SAME:      hipgraft.targets = ["gfx1100"]
// ONE-NOT:     func.func

func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) attributes {hipgraft.results = 1 : i64} {
  "hipdnn.execute"(%x, %y) {callee = @same} : (memref<8xf32>, memref<8xf32>) -> ()
  "hipdnn.execute"(%x, %y) {callee = @other} : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
"hipdnn.executable"() {sym_name = "same", operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], binaries = [
  {target = "gfx942", format = "hsaco", objects = ["\7FELF1"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 32 : i64, access = "read"}], constants = array<i32>}]},
  {target = "gfx950", format = "hsaco", objects = ["\7FELF2"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 32 : i64, access = "read"}], constants = array<i32>}]},
  {target = "gfx1100", format = "hsaco", objects = ["\7FELF3"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 32 : i64, access = "read"}], constants = array<i32>}]}
  ]} : () -> ()
"hipdnn.executable"() {sym_name = "other", operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], binaries = [
  {target = "gfx942", format = "hsaco", objects = ["\7FELF4"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 32 : i64, access = "read"}], constants = array<i32>}]},
  {target = "gfx950", format = "hsaco", objects = ["\7FELF5"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 32 : i64, access = "read"}], constants = array<i32>}]},
  {target = "gfx1100", format = "hsaco", objects = ["\7FELF6"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 2, 1, 1>, block = array<i64: 32, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 32 : i64, access = "read"}], constants = array<i32>}]}
  ]} : () -> ()
