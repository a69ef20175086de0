// REQUIRES: slow
// RUN: hipgraft-opt %s --hipgraft-compile-dynamic=target=gfx942 | tee %t.once | FileCheck %s
// RUN: hipgraft-opt %t.once --hipgraft-compile-dynamic=target=gfx942 > %t.twice
// RUN: diff %t.once %t.twice
// Extents are read, and workgroup counts, scratch memory and kernel constants computed, on the host.

// CHECK-LABEL: func.func private @normalize_extents
// CHECK-SAME:    %[[X:.*]]: memref<?x?x8xf32>) -> (index, index, index)
// CHECK-DAG:     %[[B:.*]] = memref.dim %[[X]], %c0
// CHECK-DAG:     %[[S:.*]] = memref.dim %[[X]], %c1
// CHECK:         return %[[B]], %[[S]], %c2
// CHECK:       gpu.binary @normalize_kernels
// CHECK-SAME:    chip = "gfx942"
// CHECK-LABEL: func.func @normalize(
// CHECK-SAME:    %[[X:.*]]: memref<?x?x8xf32>, %[[Y:.*]]: memref<?x?x2xf32>)
// CHECK-SAME:    hipgraft.extents = "normalize_extents"
// CHECK-SAME:    hipgraft.results = 1
// CHECK-SAME:    hipgraft.targets = ["gfx942"]
// CHECK:         %[[W:.*]] = memref.get_global @constant_0
// CHECK:         %[[B:.*]] = memref.dim %[[X]], %c0
// CHECK:         %[[S:.*]] = memref.dim %[[X]], %c1
// CHECK:         %[[ROWS:.*]] = arith.muli %[[B]], %[[S]]
// CHECK:         %[[WORD:.*]] = arith.index_castui %[[ROWS]] : index to i32
// CHECK:         %[[SCRATCH:.*]], %{{.*}} = gpu.alloc async {{.*}} : memref<?xi8>
// CHECK:         %[[GRID:.*]] = affine.min {{.*}}[%[[ROWS]]]
// CHECK:         gpu.launch_func {{.*}} @normalize_kernels::{{.*}} blocks in (%[[GRID]]
// CHECK-SAME:      args(%[[X]] : memref<?x?x8xf32>, %[[W]] : memref<8x2xf32>
// CHECK-SAME:      %[[SCRATCH]] : memref<?xi8>, %[[WORD]] : i32
// CHECK:         gpu.launch_func
// CHECK-SAME:      %[[Y]] : memref<?x?x2xf32>
// CHECK:         gpu.dealloc async
// CHECK:         gpu.wait
func.func @normalize(%x: !torch.vtensor<[?,?,8],f32>) -> !torch.vtensor<[?,?,2],f32> {
  %w = torch.vtensor.literal(dense<[[0.5, 1.0], [1.5, 2.0], [0.5, 1.0], [1.5, 2.0], [0.5, 1.0], [1.5, 2.0], [0.5, 1.0], [1.5, 2.0]]> : tensor<8x2xf32>) : !torch.vtensor<[8,2],f32>
  %int2 = torch.constant.int 2
  %none = torch.constant.none
  %0 = torch.aten.matmul %x, %w : !torch.vtensor<[?,?,8],f32>, !torch.vtensor<[8,2],f32>
      -> !torch.vtensor<[?,?,2],f32>
  %1 = torch.aten.softmax.int %0, %int2, %none : !torch.vtensor<[?,?,2],f32>, !torch.int,
      !torch.none -> !torch.vtensor<[?,?,2],f32>
  return %1 : !torch.vtensor<[?,?,2],f32>
}

// The host asserts that extents which meet are equal, before it launches a kernel.

// CHECK-LABEL: func.func private @add_extents
// CHECK-SAME:    %[[X:.*]]: memref<?x4xf32>, %[[Y:.*]]: memref<?x4xf32>)
// CHECK-DAG:     %[[N:.*]] = memref.dim %[[X]]
// CHECK-DAG:     %[[M:.*]] = memref.dim %[[Y]]
// CHECK:         %[[EQUAL:.*]] = arith.cmpi eq, %[[N]], %[[M]]
// CHECK:         cf.assert %[[EQUAL]], "'linalg.generic' op expects dimension 0 of operand #0 and dimension 0 of operand #1 to be equal"
// CHECK-LABEL: func.func @add(
// CHECK:         cf.assert
// CHECK-NOT:     cf.assert
// CHECK:         gpu.launch_func
func.func @add(%x: !torch.vtensor<[?,4],f32>, %y: !torch.vtensor<[?,4],f32>)
    -> !torch.vtensor<[?,4],f32> {
  %int1 = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %y, %int1 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>,
      !torch.int -> !torch.vtensor<[?,4],f32>
  return %0 : !torch.vtensor<[?,4],f32>
}

// Static functions are for other passes.

// CHECK-LABEL: func.func @static
// CHECK:         torch.aten.relu
func.func @static(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
