// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg="target=gfx942 plan=hipdnn.matmul=swapped" | FileCheck %s --check-prefix=SWAPPED

// Products are named ops, accumulated in f32. Swapped, M and N change places, and the result is
// transposed back.

// CHECK-LABEL: module @product_gfx942
// CHECK:         linalg.matmul ins(%arg0, %arg1 : tensor<32x64xf16>, tensor<64x48xf16>) outs({{.*}}tensor<32x48xf32>)
// CHECK:         arith.truncf
// SWAPPED-LABEL: module @product_gfx942
// SWAPPED:       linalg.matmul indexing_maps = {{.*}} ins(%arg1, %arg0 : {{.*}}) outs({{.*}}tensor<48x32xf32>)
// SWAPPED:       linalg.transpose {{.*}} permutation = [1, 0]
func.func @product(%a: tensor<32x64xf16>, %b: tensor<64x48xf16>) -> tensor<32x48xf16> {
  %0 = "hipdnn.graph"(%a, %b) ({
  ^bb0(%ga: tensor<32x64xf16>, %gb: tensor<64x48xf16>):
    %r = "hipdnn.matmul"(%ga, %gb) : (tensor<32x64xf16>, tensor<64x48xf16>) -> tensor<32x48xf16>
    "hipdnn.yield"(%r) : (tensor<32x48xf16>) -> ()
  }) {name = "product"} : (tensor<32x64xf16>, tensor<64x48xf16>) -> tensor<32x48xf16>
  return %0 : tensor<32x48xf16>
}

// -----

// CHECK-LABEL: module @batched_gfx942
// CHECK:         linalg.batch_matmul ins(%arg0, %arg1
// SWAPPED-LABEL: module @batched_gfx942
// SWAPPED:       linalg.batch_matmul indexing_maps = {{.*}} ins(%arg1, %arg0
func.func @batched(%a: tensor<4x32x64xf16>, %b: tensor<4x64x48xf16>) -> tensor<4x32x48xf16> {
  %0 = "hipdnn.graph"(%a, %b) ({
  ^bb0(%ga: tensor<4x32x64xf16>, %gb: tensor<4x64x48xf16>):
    %r = "hipdnn.matmul"(%ga, %gb) : (tensor<4x32x64xf16>, tensor<4x64x48xf16>) -> tensor<4x32x48xf16>
    "hipdnn.yield"(%r) : (tensor<4x32x48xf16>) -> ()
  }) {name = "batched"} : (tensor<4x32x64xf16>, tensor<4x64x48xf16>) -> tensor<4x32x48xf16>
  return %0 : tensor<4x32x48xf16>
}

// -----

// The sums of one row are split where the rows of the right matrix are contiguous, into parts of half
// a wavefront.

// CHECK-LABEL: module @row_gfx942
// CHECK:         linalg.batch_matmul {{.*}}tensor<32x1x32xf16>, tensor<32x32x96xf16>{{.*}} outs({{.*}}tensor<32x1x96xf32>)
// CHECK:         linalg.generic {{.*}} iterator_types = [{{.*}}"reduction"
// CHECK-LABEL: module @transposed_row_gfx942
// CHECK:         linalg.matmul {{.*}} outs({{.*}}tensor<1x96xf32>)
func.func @row(%a: tensor<1x1024xf16>, %b: tensor<1024x96xf16>) -> tensor<1x96xf16> {
  %0 = "hipdnn.graph"(%a, %b) ({
  ^bb0(%ga: tensor<1x1024xf16>, %gb: tensor<1024x96xf16>):
    %r = "hipdnn.matmul"(%ga, %gb) : (tensor<1x1024xf16>, tensor<1024x96xf16>) -> tensor<1x96xf16>
    "hipdnn.yield"(%r) : (tensor<1x96xf16>) -> ()
  }) {name = "row"} : (tensor<1x1024xf16>, tensor<1024x96xf16>) -> tensor<1x96xf16>
  return %0 : tensor<1x96xf16>
}

// -----

func.func @transposed_row(%a: tensor<1x1024xf16>, %b: tensor<96x1024xf16>) -> tensor<1x96xf16> {
  %v = "hipdnn.view"(%b) {offset = 0 : i64, strides = array<i64: 1, 1024>} : (tensor<96x1024xf16>) -> tensor<1024x96xf16>
  %0 = "hipdnn.graph"(%a, %v) ({
  ^bb0(%ga: tensor<1x1024xf16>, %gb: tensor<1024x96xf16>):
    %r = "hipdnn.matmul"(%ga, %gb) : (tensor<1x1024xf16>, tensor<1024x96xf16>) -> tensor<1x96xf16>
    "hipdnn.yield"(%r) : (tensor<1x96xf16>) -> ()
  }) {name = "transposed_row", arg_strides = [unit, array<i64: 1, 1024>], arg_offsets = array<i64: 0, 0>} : (tensor<1x1024xf16>, tensor<1024x96xf16>) -> tensor<1x96xf16>
  return %0 : tensor<1x96xf16>
}
