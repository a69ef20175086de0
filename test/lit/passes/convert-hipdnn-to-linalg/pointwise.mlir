// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s

// Pointwise ops are one loop over the result; operands of extent 1 are read again.

// CHECK-LABEL: module @gelu_gfx942
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK:         math.erf
func.func @gelu(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<8x128xf32>):
    %r = "hipdnn.pointwise"(%gx) {mode = "gelu_fwd"} : (tensor<8x128xf32>) -> tensor<8x128xf32>
    "hipdnn.yield"(%r) : (tensor<8x128xf32>) -> ()
  }) {name = "gelu"} : (tensor<8x128xf32>) -> tensor<8x128xf32>
  return %0 : tensor<8x128xf32>
}

// -----

// CHECK-LABEL: module @broadcast_gfx942
// CHECK:         linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<8x128xf32>, tensor<1x128xf32>)
// CHECK:         arith.mulf
func.func @broadcast(%x: tensor<8x128xf32>, %y: tensor<1x128xf32>) -> tensor<8x128xf32> {
  %0 = "hipdnn.graph"(%x, %y) ({
  ^bb0(%gx: tensor<8x128xf32>, %gy: tensor<1x128xf32>):
    %r = "hipdnn.pointwise"(%gx, %gy) {mode = "mul"} : (tensor<8x128xf32>, tensor<1x128xf32>) -> tensor<8x128xf32>
    "hipdnn.yield"(%r) : (tensor<8x128xf32>) -> ()
  }) {name = "broadcast"} : (tensor<8x128xf32>, tensor<1x128xf32>) -> tensor<8x128xf32>
  return %0 : tensor<8x128xf32>
}

// -----

// CHECK-LABEL: module @select_gfx942
// CHECK:         linalg.generic
// CHECK:         arith.select
func.func @select(%c: tensor<8x128xi1>, %x: tensor<8x128xf32>, %y: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %0 = "hipdnn.graph"(%c, %x, %y) ({
  ^bb0(%gc: tensor<8x128xi1>, %gx: tensor<8x128xf32>, %gy: tensor<8x128xf32>):
    %r = "hipdnn.pointwise"(%gc, %gx, %gy) {mode = "binary_select"} : (tensor<8x128xi1>, tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
    "hipdnn.yield"(%r) : (tensor<8x128xf32>) -> ()
  }) {name = "select"} : (tensor<8x128xi1>, tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
  return %0 : tensor<8x128xf32>
}

// -----

// Ops of one shape are one loop if IREE would not fuse them: a sum is stored and read further.

// CHECK-LABEL: module @stored_gfx942
// CHECK:         %[[J:.*]]:2 = linalg.generic
// CHECK:           arith.truncf
// CHECK:           linalg.yield %{{.*}}, %{{.*}} : f16, f32
// CHECK:         -> (tensor<8x128xf16>, tensor<8x128xf32>)
// CHECK-NOT:     linalg.generic
// CHECK:         return %[[J]]#0, %[[J]]#1
func.func @stored(%x: tensor<8x128xf16>, %y: tensor<8x128xf16>) -> (tensor<8x128xf16>, tensor<8x128xf32>) {
  %0:2 = "hipdnn.graph"(%x, %y) ({
  ^bb0(%gx: tensor<8x128xf16>, %gy: tensor<8x128xf16>):
    %s = "hipdnn.pointwise"(%gx, %gy) {mode = "add"} : (tensor<8x128xf16>, tensor<8x128xf16>) -> tensor<8x128xf16>
    %r = "hipdnn.pointwise"(%s) {mode = "exp"} : (tensor<8x128xf16>) -> tensor<8x128xf32>
    "hipdnn.yield"(%s, %r) : (tensor<8x128xf16>, tensor<8x128xf32>) -> ()
  }) {name = "stored"} : (tensor<8x128xf16>, tensor<8x128xf16>) -> (tensor<8x128xf16>, tensor<8x128xf32>)
  return %0#0, %0#1 : tensor<8x128xf16>, tensor<8x128xf32>
}
