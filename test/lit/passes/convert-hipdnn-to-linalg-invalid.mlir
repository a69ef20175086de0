// RUN: hipgraft-opt %s --convert-hipdnn-to-linalg=target=gfx942 --verify-diagnostics
// RUN: not hipgraft-opt %s --convert-hipdnn-to-linalg=target=vax 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not hipgraft-opt %s --convert-hipdnn-to-linalg="target=gfx942 plan=hipdnn.sdpa" 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not hipgraft-opt %s --convert-hipdnn-to-linalg 2>&1 | FileCheck %s --check-prefix=MISSING

// What cannot be lowered is an error at the container.

// TARGET: error: {{.*}}'vax'
// PLAN: error: expected 'default' or 'op=alternative,...' as a plan, found 'hipdnn.sdpa'
// MISSING: error: {{.*}}target
func.func @six_bits(%x: tensor<8xf6E2M3FN>) -> tensor<8xf32> {
  // expected-error @below {{reads or writes f6E2M3FN, which IREE has no buffers of}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<8xf6E2M3FN>):
    %r = "hipdnn.pointwise"(%g) {mode = "identity"} : (tensor<8xf6E2M3FN>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "widen"} : (tensor<8xf6E2M3FN>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
