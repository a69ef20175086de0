// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(hipgraft-select-variants)'
func.func @f1(%x: memref<2xf32>, %y: memref<2xf32>) attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"], hipgraft.variant_of = "f", hipgraft.dims = {n = 2 : i64}} {
  return
}
func.func @f2(%x: memref<2x2xf32>, %y: memref<2xf32>) attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"], hipgraft.variant_of = "f", hipgraft.dims = {n = 3 : i64}} {
  return
}
