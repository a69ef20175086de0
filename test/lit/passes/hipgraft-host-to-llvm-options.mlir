// RUN: hipgraft-opt %s --hipgraft-host-to-llvm=target=gfx1100 | FileCheck %s
// RUN: not hipgraft-opt %s --hipgraft-host-to-llvm=target=gfx90a 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OTHER
// The target chooses the function.

// CHECK: llvm.func @main_gfx1100
// OTHER: error: the program has no public function for 'gfx90a'; the program is for gfx1100, gfx942
func.func @main(%x: memref<4xf32>)
    attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]} {
  return
}
func.func @main_gfx1100(%x: memref<4xf32>)
    attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx1100"]} {
  return
}
