// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s

// Pooling reduces the windows of each position; a maximum starts from minus infinity and keeps NaN.

// CHECK-LABEL: module @max_pool_gfx942
// CHECK:         %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         linalg.fill ins(%[[LOWEST]] : f32)
// CHECK:         linalg.generic {{.*}}"reduction", "reduction"]
// CHECK:         arith.cmpf une
func.func @max_pool(%x: tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<1x8x8x8xf32>):
    %r = "hipdnn.resample_fwd"(%gx) {resample_mode = "MAXPOOL", padding_mode = "NEG_INF_PAD", pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32>
    "hipdnn.yield"(%r) : (tensor<1x8x4x4xf32>) -> ()
  }) {name = "max_pool"} : (tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32>
  return %0 : tensor<1x8x4x4xf32>
}
