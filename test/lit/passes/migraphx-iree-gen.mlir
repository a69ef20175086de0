// RUN: hipgraft-opt %s --split-input-file --migraphx-iree-gen --migraphx-iree-gen | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --migraphx-iree-gen=iree-disable \
// RUN:   | FileCheck %s --check-prefix=OFF
// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics --remarks --migraphx-iree-gen

// The result of a kernel is an attribute of its module, in the prototype's form.

// CHECK-LABEL: module @one attributes
// CHECK-SAME: iree.export = #gpu.object<#rocdl.target<O = 3, chip = "gfx90a", features = "+sramecc,-xnack">,
// The kernel reads the second argument first and the unused one not at all.
// CHECK-SAME: arguments = array<i64: 2, 0, 3>, function = "sub", inputs = 3 : i64, kernel = "{{[^"]+}}", results = 1 : i64, workgroup_count = array<i64: {{.*}}>, workgroup_memory = {{.*}} : i64, workgroup_sizes = array<i64: {{.*}}>}, bin = "\7FELF
// CHECK: func.func @sub(%{{.*}}: !migraphx.shaped<64x8xf32, 8x1>
// OFF-NOT: iree.export
module @one {
  // expected-remark @+1 {{'@sub' became 1 launches}}
  func.func @sub(%y: !migraphx.shaped<64x8xf32, 8x1>, %unused: !migraphx.shaped<7xf32, 1>, %x: !migraphx.shaped<64x8xf32, 8x1>) -> !migraphx.shaped<64x8xf32, 8x1>
      attributes {kernel = "mixr", arch = "gfx90a:sramecc+:xnack-"} {
    %0 = migraphx.sub %x, %y : <64x8xf32, 8x1>, <64x8xf32, 8x1> -> <64x8xf32, 8x1>
    return %0 : !migraphx.shaped<64x8xf32, 8x1>
  }
}

// -----

// Several functions make a dictionary; a failure is its reason. The architecture is the module's.

// CHECK-LABEL: module @two attributes
// CHECK-SAME: iree.export = {bad = "[iree-error]: 'migraphx.code_object' op is a compiled kernel, which the module does not hold", good = #gpu.object<
module @two attributes {rock.arch = "amdgcn-amd-amdhsa:gfx1100"} {
  // expected-remark @+1 {{'@good' became 1 launches}}
  func.func @good(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> {
    %0 = migraphx.abs %x : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
  // expected-remark @+1 {{'@bad' has no kernel: 'migraphx.code_object' op is a compiled kernel, which the module does not hold}}
  func.func @bad(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> {
    %0 = migraphx.code_object %x {kernel = "relu", globalSize = 64 : i64, localSize = 64 : i64} : <64xf32, 1> -> <64xf32, 1>
    return %0 : !migraphx.shaped<64xf32, 1>
  }
}
