// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s

// Reductions start from the neutral value. The largest of floats is found among unsigned integers in
// the same order, as IREE masks signed ones wrongly.

// CHECK-LABEL: module @add_gfx942
// CHECK:         %[[ZERO:.*]] = arith.constant 0.0
// CHECK:         linalg.fill ins(%[[ZERO]] : f32)
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK:         arith.addf
func.func @add(%x: tensor<8x128xf32>) -> tensor<8x1xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<8x128xf32>):
    %r = "hipdnn.reduction"(%gx) {mode = "ADD"} : (tensor<8x128xf32>) -> tensor<8x1xf32>
    "hipdnn.yield"(%r) : (tensor<8x1xf32>) -> ()
  }) {name = "add"} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  return %0 : tensor<8x1xf32>
}

// -----

// CHECK-LABEL: module @max_gfx942
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK:         arith.maxui
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel"]
func.func @max(%x: tensor<8x128xf32>) -> tensor<8x1xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<8x128xf32>):
    %r = "hipdnn.reduction"(%gx) {mode = "MAX"} : (tensor<8x128xf32>) -> tensor<8x1xf32>
    "hipdnn.yield"(%r) : (tensor<8x1xf32>) -> ()
  }) {name = "max"} : (tensor<8x128xf32>) -> tensor<8x1xf32>
  return %0 : tensor<8x1xf32>
}
