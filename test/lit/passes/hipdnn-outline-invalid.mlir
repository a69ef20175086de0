// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline --verify-diagnostics
// RUN: not hipgraft-opt %s --split-input-file --hipdnn-outline=policy=best 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not hipgraft-opt %s --split-input-file --hipdnn-outline=gpu=mi1 2>&1 | FileCheck %s --check-prefix=GPU
// POLICY: unknown policy 'best'; expected one of 'cost', 'greedy', 'single-op', 'migraphx'
// GPU: unknown GPU 'mi1'; expected one of mi250x, mi300x
// The runner verifies what the pass is given.

func.func @bad_shape(%a: tensor<8x4xf32>, %b: tensor<5x6xf32>) -> tensor<8x6xf32> {
  // expected-error @below {{'hipdnn.matmul' op}}
  %c = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf32>, tensor<5x6xf32>) -> tensor<8x6xf32>
  return %c : tensor<8x6xf32>
}
