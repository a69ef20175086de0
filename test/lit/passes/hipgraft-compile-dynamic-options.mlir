// REQUIRES: slow
// RUN: hipgraft-opt %s \
// RUN:   --pass-pipeline='builtin.module(hipgraft-compile-dynamic{target=gfx942,gfx1100 extra-flags=--iree-opt-level=O1})' \
// RUN:   | FileCheck %s
// RUN: not hipgraft-opt %s --hipgraft-compile-dynamic='target=gfx942 extra-flags=--none' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FLAG
// Each target has a function and kernels of its own; the first keeps the name.

// CHECK:       gpu.binary @main_kernels
// CHECK-SAME:    chip = "gfx942"
// CHECK:       func.func @main({{.*}}hipgraft.targets = ["gfx942"]
// CHECK:       gpu.binary @main_gfx1100_kernels
// CHECK-SAME:    chip = "gfx1100"
// CHECK:       func.func @main_gfx1100({{.*}}hipgraft.targets = ["gfx1100"]
// FLAG: error: invalid compiler flags: {{.*}}none
func.func @main(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}
