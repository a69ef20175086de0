// RUN: hipgraft-opt %s --hipdnn-recognize=families=norms | FileCheck %s --check-prefixes=CHECK,NORMS
// RUN: hipgraft-opt %s --hipdnn-recognize=families=activations | FileCheck %s --check-prefixes=CHECK,ACT
// RUN: hipgraft-opt %s --hipdnn-recognize=families=attention | FileCheck %s --check-prefixes=CHECK,NEITHER
// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(hipdnn-recognize{families=activations,norms})' | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: hipgraft-opt %s --hipdnn-recognize=families=norms --hipdnn-recognize=families=activations | FileCheck %s --check-prefixes=CHECK,BOTH
// RUN: not hipgraft-opt %s --hipdnn-recognize=families=swish 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// Only the chosen families are recognised.

// UNKNOWN: unknown family 'swish'; expected one of 'attention', 'norms', 'activations', 'convolutions', 'adapters'

// CHECK-LABEL:  func.func @swish_of_norm
// NORMS:          "hipdnn.rmsnorm"
// NORMS:          mode = "sigmoid_fwd"
// ACT-NOT:        "hipdnn.rmsnorm"
// ACT:            mode = "swish_fwd"
// NEITHER-NOT:    "hipdnn.rmsnorm"
// NEITHER:        mode = "sigmoid_fwd"
// BOTH:           "hipdnn.rmsnorm"
// BOTH:           mode = "swish_fwd"
func.func @swish_of_norm(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %0 = "hipdnn.pointwise"(%x, %x) {mode = "mul"} : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %1 = "hipdnn.reduction"(%0) {mode = "AVG"} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  %eps = arith.constant dense<1.0e-6> : tensor<1x1xf32>
  %2 = "hipdnn.pointwise"(%1, %eps) {mode = "add"} : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %3 = "hipdnn.pointwise"(%2) {mode = "rsqrt"} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = "hipdnn.pointwise"(%x, %3) {mode = "mul"} : (tensor<2x64xf32>, tensor<2x1xf32>) -> tensor<2x64xf32>
  %5 = "hipdnn.pointwise"(%4) {mode = "sigmoid_fwd"} : (tensor<2x64xf32>) -> tensor<2x64xf32>
  %6 = "hipdnn.pointwise"(%4, %5) {mode = "mul"} : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  return %6 : tensor<2x64xf32>
}
