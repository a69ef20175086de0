// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx950 | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s --check-prefix=WIDE

// Matrix instructions multiply floats of 8 bits where they have the type; else f16 is multiplied.

// CHECK-LABEL: module @many_rows_gfx950
// CHECK:         linalg.matmul ins(%{{.*}} : tensor<16x64xf8E4M3FN>, tensor<64x48xf8E4M3FN>)
// WIDE-LABEL: module @many_rows_gfx942
// WIDE:         linalg.matmul ins(%{{.*}} : tensor<16x64xf16>, tensor<64x48xf16>)
func.func @main(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x48xf8E4M3FN>) -> tensor<16x48xf32> {
  %0 = "hipdnn.graph"(%a, %b) ({
  ^bb0(%x: tensor<16x64xf8E4M3FN>, %w: tensor<64x48xf8E4M3FN>):
    %y = "hipdnn.matmul"(%x, %w) : (tensor<16x64xf8E4M3FN>, tensor<64x48xf8E4M3FN>) -> tensor<16x48xf32>
    "hipdnn.yield"(%y) : (tensor<16x48xf32>) -> ()
  }) {name = "many_rows"} : (tensor<16x64xf8E4M3FN>, tensor<64x48xf8E4M3FN>) -> tensor<16x48xf32>
  return %0 : tensor<16x48xf32>
}

// -----

// CHECK-LABEL: module @few_rows_gfx950
// CHECK:         linalg.matmul ins(%{{.*}} : tensor<15x64xf16>, tensor<64x48xf16>)
func.func @main(%a: tensor<15x64xf8E4M3FN>, %b: tensor<64x48xf8E4M3FN>) -> tensor<15x48xf32> {
  %0 = "hipdnn.graph"(%a, %b) ({
  ^bb0(%x: tensor<15x64xf8E4M3FN>, %w: tensor<64x48xf8E4M3FN>):
    %y = "hipdnn.matmul"(%x, %w) : (tensor<15x64xf8E4M3FN>, tensor<64x48xf8E4M3FN>) -> tensor<15x48xf32>
    "hipdnn.yield"(%y) : (tensor<15x48xf32>) -> ()
  }) {name = "few_rows"} : (tensor<15x64xf8E4M3FN>, tensor<64x48xf8E4M3FN>) -> tensor<15x48xf32>
  return %0 : tensor<15x48xf32>
}
