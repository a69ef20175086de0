// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s

// Norms reduce each row and scale it in a loop of its own; statistics are f32.

// CHECK-LABEL: module @rms_gfx942
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK:         math.rsqrt
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
func.func @rms(%x: tensor<8x128xf32>, %s: tensor<1x128xf32>) -> tensor<8x128xf32> {
  %0 = "hipdnn.graph"(%x, %s) ({
  ^bb0(%gx: tensor<8x128xf32>, %gs: tensor<1x128xf32>):
    %e = arith.constant dense<1.0e-05> : tensor<1xf32>
    %r = "hipdnn.rmsnorm"(%gx, %gs, %e) {forward_phase = "INFERENCE"} : (tensor<8x128xf32>, tensor<1x128xf32>, tensor<1xf32>) -> tensor<8x128xf32>
    "hipdnn.yield"(%r) : (tensor<8x128xf32>) -> ()
  }) {name = "rms"} : (tensor<8x128xf32>, tensor<1x128xf32>) -> tensor<8x128xf32>
  return %0 : tensor<8x128xf32>
}

// -----

// CHECK-LABEL: module @layer_gfx942
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK:         arith.subf
// CHECK:         math.rsqrt
func.func @layer(%x: tensor<8x128xf32>, %s: tensor<1x128xf32>, %b: tensor<1x128xf32>) -> tensor<8x128xf32> {
  %0 = "hipdnn.graph"(%x, %s, %b) ({
  ^bb0(%gx: tensor<8x128xf32>, %gs: tensor<1x128xf32>, %gb: tensor<1x128xf32>):
    %e = arith.constant dense<1.0e-05> : tensor<1xf32>
    %r = "hipdnn.layernorm"(%gx, %gs, %gb, %e) {normalized_dim_count = 1 : i64, forward_phase = "INFERENCE"} : (tensor<8x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1xf32>) -> tensor<8x128xf32>
    "hipdnn.yield"(%r) : (tensor<8x128xf32>) -> ()
  }) {name = "layer"} : (tensor<8x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>) -> tensor<8x128xf32>
  return %0 : tensor<8x128xf32>
}
