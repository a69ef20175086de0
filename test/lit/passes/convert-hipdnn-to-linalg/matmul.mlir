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
