// RUN: hipgraft-opt %s --split-input-file --hipgraft-select-variants | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipgraft-select-variants > %t.once
// RUN: hipgraft-opt %s --split-input-file --hipgraft-select-variants \
// RUN:   --hipgraft-select-variants > %t.twice
// RUN: diff %t.once %t.twice
// One function for the variants of each set of targets calls the one that the extents fit.

// CHECK:       func.func @main_batch_1
// CHECK:       func.func @main_batch_8
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:.*]]: memref<?x2xf16>, %[[W:.*]]: memref<2xf16>, %[[Y:.*]]: memref<?xf16, strided<[2]>>)
// CHECK-SAME:    hipgraft.constants = ["w"]
// CHECK-SAME:    hipgraft.results = 1
// CHECK-SAME:    hipgraft.targets = ["gfx942"]
// CHECK-SAME:    hipgraft.variants = ["main_batch_1", "main_batch_8"]
// CHECK:         %[[EXTENT:.*]] = memref.dim %[[X]]
// CHECK:         %[[FITS:.*]] = arith.cmpi eq, %[[EXTENT]]
// CHECK:         scf.if %[[FITS]]
// CHECK:           %[[X1:.*]] = memref.cast %[[X]] : memref<?x2xf16> to memref<1x2xf16>
// CHECK:           %[[Y1:.*]] = memref.cast %[[Y]] : {{.*}} to memref<1xf16, strided<[2]>>
// CHECK:           func.call @main_batch_1(%[[X1]], %[[Y1]])
// CHECK:         else
// CHECK:           func.call @main_batch_8(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK:           else
// CHECK:             cf.assert
func.func @main_batch_1(%x: memref<1x2xf16>, %y: memref<1xf16, strided<[2]>>) attributes {
    hipgraft.dims = {batch = 1 : i64}, hipgraft.variant_of = "main",
    hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]} {
  return
}
func.func @main_batch_8(%x: memref<8x2xf16>, %w: memref<2xf16>, %y: memref<8xf16, strided<[2]>>)
    attributes {
    hipgraft.constants = ["w"], hipgraft.dims = {batch = 8 : i64}, hipgraft.variant_of = "main",
    hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]} {
  return
}

// -----

// Targets that share no function have one each; those that share all have one together.

// CHECK:       func.func @main(
// CHECK-SAME:    hipgraft.targets = ["gfx942", "gfx950"]
// CHECK-SAME:    hipgraft.variants = ["main_1", "main_2"]
// CHECK:       func.func @main_gfx1100(
// CHECK-SAME:    hipgraft.targets = ["gfx1100"]
// CHECK-SAME:    hipgraft.variants = ["main_1_gfx1100", "main_2"]
func.func @main_1(%x: memref<1xf16>) attributes {hipgraft.variant_of = "main",
    hipgraft.results = 0 : i64, hipgraft.targets = ["gfx942", "gfx950"]} {
  return
}
func.func @main_1_gfx1100(%x: memref<1xf16>) attributes {hipgraft.variant_of = "main",
    hipgraft.results = 0 : i64, hipgraft.targets = ["gfx1100"]} {
  return
}
func.func @main_2(%x: memref<2xf16>) attributes {hipgraft.variant_of = "main",
    hipgraft.results = 0 : i64, hipgraft.targets = ["gfx942", "gfx950", "gfx1100"]} {
  return
}

// -----

// A program without variants is its own entry.

// CHECK-LABEL: func.func @plain
// CHECK-NOT:   func.func
func.func @plain(%x: memref<1xf16>)
    attributes {hipgraft.results = 0 : i64, hipgraft.targets = ["gfx942"]} {
  return
}
