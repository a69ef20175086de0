// RUN: hipgraft-opt %s --hipdnn-check-engine --verify-diagnostics
// RUN: not hipgraft-opt %s --hipdnn-check-engine=engines=iree,miopen 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not hipgraft-opt %S/hipdnn-check-engine.mlir --hipdnn-check-engine=engines=%t.none.yaml 2>&1 | FileCheck %s --check-prefix=MISSING
// The runner verifies what the pass is given; engines have to exist.

// UNKNOWN: error: 'hipdnn-check-engine': unknown engine 'miopen': expected iree, ASM_SDPA_ENGINE,
// MISSING: error: cannot open engine file '{{.*}}.none.yaml': No such file or directory

func.func @bad_shape(%a: tensor<8x4xf32>, %b: tensor<5x6xf32>) -> tensor<8x6xf32> {
  // expected-error @below {{'hipdnn.matmul' op}}
  %c = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<5x6xf32>) -> tensor<8x6xf32>
  return %c : tensor<8x6xf32>
}
