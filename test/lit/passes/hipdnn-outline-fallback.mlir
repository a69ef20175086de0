// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline --hipdnn-outline-fallback | FileCheck %s
// Torch ops that stayed become kernels of their own; lists, constants and casts are copied.

// CHECK-LABEL: func.func @connected
// CHECK:         %[[F:.*]] = "hipdnn.fallback"(%{{.*}}, %{{.*}}) ({
// CHECK:         ^bb0(%[[A:.*]]: tensor<2x3xi64>, %[[B:.*]]: tensor<2x3xi64>):
// CHECK:           torch.aten.cumsum
// CHECK:           torch.prim.ListConstruct
// CHECK:           torch.aten.cat
// CHECK:           "hipdnn.yield"(%{{.*}}) : (tensor<4x3xi64>) -> ()
// CHECK:         name = "cumsum_cat_0"
// CHECK:         return %[[F]]
func.func @connected(%a: tensor<2x3xi64>, %b: tensor<2x3xi64>) -> tensor<4x3xi64> {
  %int0 = torch.constant.int 0
  %none = torch.constant.none
  %0 = torch_c.from_builtin_tensor %a : tensor<2x3xi64> -> !torch.vtensor<[2,3],si64>
  %1 = torch_c.from_builtin_tensor %b : tensor<2x3xi64> -> !torch.vtensor<[2,3],si64>
  %2 = torch.aten.cumsum %0, %int0, %none : !torch.vtensor<[2,3],si64>, !torch.int, !torch.none -> !torch.vtensor<[2,3],si64>
  %3 = torch.prim.ListConstruct %2, %1 : (!torch.vtensor<[2,3],si64>, !torch.vtensor<[2,3],si64>) -> !torch.list<vtensor>
  %4 = torch.aten.cat %3, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[4,3],si64>
  %5 = torch_c.to_builtin_tensor %4 : !torch.vtensor<[4,3],si64> -> tensor<4x3xi64>
  return %5 : tensor<4x3xi64>
}

// -----

// An elementwise op that only torch ops read is part of their kernel.

// CHECK-LABEL: func.func @absorbs
// CHECK-NOT:     "hipdnn.graph"
// CHECK:         "hipdnn.fallback"
// CHECK:           "hipdnn.pointwise"
// CHECK:           torch.aten.cumsum
func.func @absorbs(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %int0 = torch.constant.int 0
  %none = torch.constant.none
  %n = "hipdnn.pointwise"(%x) {mode = "neg"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = torch_c.from_builtin_tensor %n : tensor<2x3xf32> -> !torch.vtensor<[2,3],f32>
  %1 = torch.aten.cumsum %0, %int0, %none : !torch.vtensor<[2,3],f32>, !torch.int, !torch.none -> !torch.vtensor<[2,3],f32>
  %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[2,3],f32> -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// A returned argument, a value returned twice and a window are copied; a reshape is not.

// CHECK-LABEL: func.func @results
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>)
// CHECK:         %[[G:.*]] = "hipdnn.graph"(%[[X]])
// CHECK:         %[[V:.*]] = "hipdnn.view"(%[[G]]) {{.*}} -> tensor<32xf32>
// CHECK:         %[[C1:.*]] = "hipdnn.graph"(%[[G]])
// CHECK:         name = "copy_result_1"
// CHECK:         %[[C2:.*]] = "hipdnn.graph"(%[[X]])
// CHECK:         name = "copy_result_2"
// CHECK:         return %[[V]], %[[C1]], %[[C2]]
func.func @results(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %g = "hipdnn.pointwise"(%x) {mode = "neg"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %v = "hipdnn.view"(%g) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<32xf32>
  return %v, %g, %x : tensor<32xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @window
// CHECK:         %[[G:.*]] = "hipdnn.graph"
// CHECK:         %[[W:.*]] = "hipdnn.view"(%[[G]])
// CHECK:         %[[C:.*]] = "hipdnn.graph"(%[[W]])
// CHECK:         name = "copy_result_0"
// CHECK:         return %[[C]]
func.func @window(%x: tensor<4x8xf32>) -> tensor<2x8xf32> {
  %g = "hipdnn.pointwise"(%x) {mode = "neg"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %w = "hipdnn.view"(%g) {offset = 8 : i64, strides = array<i64: 8, 1>} : (tensor<4x8xf32>) -> tensor<2x8xf32>
  return %w : tensor<2x8xf32>
}

// -----

// Two large lookups by the same indices are apart from the sort and from each other, so that each
// can run right before its reader; both have the arithmetic of the indices.

// CHECK-LABEL: func.func @lookups_of_two_tables
// CHECK:         "hipdnn.fallback"
// CHECK:           torch.aten.sort
// CHECK-NOT:       torch.aten.index_select
// CHECK:           "hipdnn.yield"(%{{.*}}) : (tensor<8xi64>) -> ()
// CHECK:         "hipdnn.fallback"
// CHECK:           torch.aten.add.Scalar
// CHECK:           torch.aten.index_select
// CHECK:           "hipdnn.yield"(%{{.*}}) : (tensor<8x1024xf32>) -> ()
// CHECK:         "hipdnn.fallback"
// CHECK:           torch.aten.add.Scalar
// CHECK:           torch.aten.index_select
// CHECK:           "hipdnn.yield"(%{{.*}}) : (tensor<8x1024xf32>) -> ()
func.func @lookups_of_two_tables(%s: tensor<8xf32>, %a: tensor<9x1024xf32>, %b: tensor<9x1024xf32>) -> (tensor<8x1024xf32>, tensor<8x1024xf32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %true = torch.constant.bool true
  %0 = torch_c.from_builtin_tensor %s : tensor<8xf32> -> !torch.vtensor<[8],f32>
  %values, %indices = torch.aten.sort %0, %int0, %true : !torch.vtensor<[8],f32>, !torch.int, !torch.bool -> !torch.vtensor<[8],f32>, !torch.vtensor<[8],si64>
  %1 = torch.aten.add.Scalar %indices, %int1, %int1 : !torch.vtensor<[8],si64>, !torch.int, !torch.int -> !torch.vtensor<[8],si64>
  %2 = torch_c.from_builtin_tensor %a : tensor<9x1024xf32> -> !torch.vtensor<[9,1024],f32>
  %3 = torch.aten.index_select %2, %int0, %1 : !torch.vtensor<[9,1024],f32>, !torch.int, !torch.vtensor<[8],si64> -> !torch.vtensor<[8,1024],f32>
  %4 = torch_c.to_builtin_tensor %3 : !torch.vtensor<[8,1024],f32> -> tensor<8x1024xf32>
  %5 = torch_c.from_builtin_tensor %b : tensor<9x1024xf32> -> !torch.vtensor<[9,1024],f32>
  %6 = torch.aten.index_select %5, %int0, %1 : !torch.vtensor<[9,1024],f32>, !torch.int, !torch.vtensor<[8],si64> -> !torch.vtensor<[8,1024],f32>
  %7 = torch_c.to_builtin_tensor %6 : !torch.vtensor<[8,1024],f32> -> tensor<8x1024xf32>
  return %4, %7 : tensor<8x1024xf32>, tensor<8x1024xf32>
}

// -----

// A norm iterates over the rows that a lookup returns, in another shape: all is one container.

// CHECK-LABEL: func.func @norm_of_rows
// CHECK:         "hipdnn.fallback"
// CHECK:           torch.aten.index_select
// CHECK:           %[[ROWS:.*]] = torch_c.to_builtin_tensor
// CHECK:           %[[VIEW:.*]] = "hipdnn.view"(%[[ROWS]])
// CHECK:           "hipdnn.pointwise"(%[[VIEW]],
// CHECK:           "hipdnn.layernorm"
// CHECK-NOT:     "hipdnn.fallback"
// CHECK-NOT:     "hipdnn.graph"
func.func @norm_of_rows(%t: tensor<9x4096xf32>, %i: tensor<8xi64>, %b: tensor<1x8x4096xf32>, %s: tensor<1x1x4096xf32>) -> tensor<1x8x4096xf32> {
  %e = arith.constant dense<1.0e-05> : tensor<1xf32>
  %int0 = torch.constant.int 0
  %0 = torch_c.from_builtin_tensor %t : tensor<9x4096xf32> -> !torch.vtensor<[9,4096],f32>
  %1 = torch_c.from_builtin_tensor %i : tensor<8xi64> -> !torch.vtensor<[8],si64>
  %2 = torch.aten.index_select %0, %int0, %1 : !torch.vtensor<[9,4096],f32>, !torch.int, !torch.vtensor<[8],si64> -> !torch.vtensor<[8,4096],f32>
  %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[8,4096],f32> -> tensor<8x4096xf32>
  %4 = "hipdnn.view"(%3) {offset = 0 : i64, strides = array<i64: 0, 4096, 1>} : (tensor<8x4096xf32>) -> tensor<1x8x4096xf32>
  %5 = "hipdnn.pointwise"(%4, %b) {mode = "add"} : (tensor<1x8x4096xf32>, tensor<1x8x4096xf32>) -> tensor<1x8x4096xf32>
  %6 = "hipdnn.layernorm"(%5, %s, %s, %e) {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64} : (tensor<1x8x4096xf32>, tensor<1x1x4096xf32>, tensor<1x1x4096xf32>, tensor<1xf32>) -> tensor<1x8x4096xf32>
  return %6 : tensor<1x8x4096xf32>
}

// -----

// A graph reads the view, too, so it stays outside.

// CHECK-LABEL: func.func @shared_view
// CHECK:         "hipdnn.fallback"
// CHECK:         %[[VIEW:.*]] = "hipdnn.view"
// CHECK:         "hipdnn.graph"(%[[VIEW]],
func.func @shared_view(%t: tensor<9x64xf32>, %i: tensor<8xi64>, %w: tensor<1x64x64xf32>) -> (tensor<1x8x64xf32>, tensor<1x8x64xf32>) {
  %int0 = torch.constant.int 0
  %0 = torch_c.from_builtin_tensor %t : tensor<9x64xf32> -> !torch.vtensor<[9,64],f32>
  %1 = torch_c.from_builtin_tensor %i : tensor<8xi64> -> !torch.vtensor<[8],si64>
  %2 = torch.aten.index_select %0, %int0, %1 : !torch.vtensor<[9,64],f32>, !torch.int, !torch.vtensor<[8],si64> -> !torch.vtensor<[8,64],f32>
  %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[8,64],f32> -> tensor<8x64xf32>
  %4 = "hipdnn.view"(%3) {offset = 0 : i64, strides = array<i64: 0, 64, 1>} : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
  %5 = "hipdnn.pointwise"(%4) {mode = "neg"} : (tensor<1x8x64xf32>) -> tensor<1x8x64xf32>
  %7 = "hipdnn.matmul"(%4, %w) : (tensor<1x8x64xf32>, tensor<1x64x64xf32>) -> tensor<1x8x64xf32>
  return %5, %7 : tensor<1x8x64xf32>, tensor<1x8x64xf32>
}
