// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg="target=gfx942 plan=hipdnn.sdpa=decomposed" | FileCheck %s --check-prefix=DECOMPOSED

// Attention is one op of IREE where its matrix instructions fit; decomposed, two products around a
// softmax in f32.

// CHECK-LABEL: module @sdpa_gfx942
// CHECK:         iree_linalg_ext.attention
// CHECK-NOT:     linalg.batch_matmul
// DECOMPOSED-LABEL: module @sdpa_gfx942
// DECOMPOSED:    linalg.batch_matmul
// DECOMPOSED:    math.exp
// DECOMPOSED:    linalg.batch_matmul
// DECOMPOSED-NOT: iree_linalg_ext.attention
func.func @sdpa(%q: tensor<1x4x32x64xf16>, %k: tensor<1x4x32x64xf16>, %v: tensor<1x4x32x64xf16>) -> tensor<1x4x32x64xf16> {
  %0 = "hipdnn.graph"(%q, %k, %v) ({
  ^bb0(%gq: tensor<1x4x32x64xf16>, %gk: tensor<1x4x32x64xf16>, %gv: tensor<1x4x32x64xf16>):
    %r = "hipdnn.sdpa"(%gq, %gk, %gv) : (tensor<1x4x32x64xf16>, tensor<1x4x32x64xf16>, tensor<1x4x32x64xf16>) -> tensor<1x4x32x64xf16>
    "hipdnn.yield"(%r) : (tensor<1x4x32x64xf16>) -> ()
  }) {name = "sdpa"} : (tensor<1x4x32x64xf16>, tensor<1x4x32x64xf16>, tensor<1x4x32x64xf16>) -> tensor<1x4x32x64xf16>
  return %0 : tensor<1x4x32x64xf16>
}
