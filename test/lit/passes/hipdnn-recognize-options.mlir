// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(hipdnn-recognize{drop-roundings=false})' --remarks 2>&1 | FileCheck %s
// Where roundings have to stay, arithmetic in f16 does, and a scale after a rounding is no part of
// the node.

// CHECK: 'hipdnn.pointwise' op is not recognised: 'hipdnn.pointwise' rounds an intermediate to its type
// CHECK-LABEL: func.func @roundings
// CHECK:         mode = "sigmoid_fwd"
// CHECK:         %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<1x64xf16>
// CHECK:         %[[N:.*]] = "hipdnn.rmsnorm"(%{{.*}}, %[[ONES]], %{{.*}}) {{.*}} -> tensor<2x64xf16>
// CHECK:         "hipdnn.pointwise"(%{{.*}}, %[[N]]) {mode = "mul"}
func.func @roundings(%x: tensor<2x64xf16>, %w: tensor<1x64xf16>) -> tensor<2x64xf16> {
  %a = "hipdnn.pointwise"(%x) {mode = "sigmoid_fwd"} : (tensor<2x64xf16>) -> tensor<2x64xf16>
  %b = "hipdnn.pointwise"(%a, %x) {mode = "mul"} : (tensor<2x64xf16>, tensor<2x64xf16>) -> tensor<2x64xf16>
  %0 = "hipdnn.pointwise"(%b) {mode = "identity"} : (tensor<2x64xf16>) -> tensor<2x64xf32>
  %1 = "hipdnn.pointwise"(%0, %0) {mode = "mul"} : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %2 = "hipdnn.reduction"(%1) {mode = "AVG"} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  %eps = arith.constant dense<1.0e-6> : tensor<1x1xf32>
  %3 = "hipdnn.pointwise"(%2, %eps) {mode = "add"} : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %4 = "hipdnn.pointwise"(%3) {mode = "rsqrt"} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %5 = "hipdnn.pointwise"(%0, %4) {mode = "mul"} : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %6 = "hipdnn.pointwise"(%5) {mode = "identity"} : (tensor<2x64xf32>) -> tensor<2x64xf16>
  %7 = "hipdnn.pointwise"(%w, %6) {mode = "mul"} : (tensor<1x64xf16>, tensor<2x64xf16>) -> tensor<2x64xf16>
  return %7 : tensor<2x64xf16>
}
