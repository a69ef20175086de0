// RUN: hipgraft-opt %s --hipdnn-outline=wide-virtuals=false | FileCheck %s
// Without wide virtuals each op rounds to the type that the program gives it.

// CHECK: "hipdnn.matmul"(%{{.*}}, %{{.*}}) {{.*}} -> tensor<8x6xf16>
func.func @narrow(%a: tensor<8x4xf16>, %b: tensor<4x6xf16>) -> tensor<8x6xf16> {
  %c = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
  %r = "hipdnn.pointwise"(%c) {mode = "relu_fwd"} : (tensor<8x6xf16>) -> tensor<8x6xf16>
  return %r : tensor<8x6xf16>
}
