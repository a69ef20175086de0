// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline=policy=cost --remarks -o %t 2> %t.remarks
// RUN: FileCheck %s --check-prefix=COST < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline=policy=greedy | FileCheck %s --check-prefix=GREEDY
// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline=policy=migraphx | FileCheck %s --check-prefix=MIGRAPHX
// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline=policy=single-op | FileCheck %s --check-prefix=SINGLE
// Each policy groups the ops in its own way.

// The sum reads the first product before the second is computed. By cost it is in the graph of the
// second one; greedily, it is in one of its own.

// COST-LABEL: func.func @crossing
// COST:         name = "matmul_0"
// COST:         name = "matmul_exp_add_add_1"
// GREEDY-LABEL: func.func @crossing
// GREEDY:         name = "matmul_0"
// GREEDY:         name = "matmul_1"
// GREEDY:         name = "exp_add_add_2"
// REMARK: remark: graph 'matmul_exp_add_add_1' takes {{[0-9.]+}} us, as 4 kernels {{[0-9.]+}} us, bound by launch
func.func @crossing(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = "hipdnn.matmul"(%p, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "hipdnn.pointwise"(%a) {mode = "exp"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %x = "hipdnn.pointwise"(%p, %r) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = "hipdnn.pointwise"(%x, %q) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Greedily, what feeds a reduction is in the graph of a product unless that graph stores its operand
// anyway.

// GREEDY-LABEL: func.func @before_a_norm
// GREEDY:         name = "matmul_exp_0"
// GREEDY:         name = "rmsnorm_1"
// GREEDY-LABEL: func.func @stored_before_a_norm
// GREEDY:         name = "matmul_2"
// GREEDY:         name = "exp_rmsnorm_3"
func.func @before_a_norm(%a: tensor<4x4xf32>, %w: tensor<1x4xf32>) -> tensor<4x4xf32> {
  %epsilon = arith.constant dense<1.0e-5> : tensor<1xf32>
  %p = "hipdnn.matmul"(%a, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = "hipdnn.pointwise"(%p) {mode = "exp"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = "hipdnn.rmsnorm"(%e, %w, %epsilon) {forward_phase = "INFERENCE"} : (tensor<4x4xf32>, tensor<1x4xf32>, tensor<1xf32>) -> tensor<4x4xf32>
  return %n : tensor<4x4xf32>
}
func.func @stored_before_a_norm(%a: tensor<4x4xf32>, %w: tensor<1x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %epsilon = arith.constant dense<1.0e-5> : tensor<1xf32>
  %p = "hipdnn.matmul"(%a, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = "hipdnn.pointwise"(%p) {mode = "exp"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = "hipdnn.rmsnorm"(%e, %w, %epsilon) {forward_phase = "INFERENCE"} : (tensor<4x4xf32>, tensor<1x4xf32>, tensor<1xf32>) -> tensor<4x4xf32>
  return %p, %n : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// MIGraphX does not fuse what reads a tensor that others read.

// COST-LABEL: func.func @tap
// COST:         name = "matmul_add_relu_fwd_0"
// GREEDY-LABEL: func.func @tap
// GREEDY:         name = "matmul_add_relu_fwd_0"
// MIGRAPHX-LABEL: func.func @tap
// MIGRAPHX:         name = "matmul_add_0"
// MIGRAPHX:         name = "relu_fwd_1"
// SINGLE-LABEL: func.func @tap
// SINGLE:         name = "matmul_0"
// SINGLE:         name = "add_1"
// SINGLE:         name = "relu_fwd_2"
func.func @tap(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = "hipdnn.pointwise"(%p, %b) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "hipdnn.pointwise"(%s) {mode = "relu_fwd"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s, %r : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// The two workgroups of the norm evaluate what its graph holds. While they wait for memory they have
// time for one logarithm, but all four would take longer than a launch.

// COST-LABEL: func.func @slower
// COST:         name = "log_log_log_0"
// COST:         name = "log_rmsnorm_1"
// GREEDY-LABEL: func.func @slower
// GREEDY:         name = "log_log_log_log_0"
// GREEDY-NOT:     hipdnn.graph
func.func @slower(%x: tensor<2x1000000xf32>, %scale: tensor<1x1000000xf32>) -> tensor<2x1000000xf32> {
  %epsilon = arith.constant dense<1.0e-5> : tensor<1xf32>
  %0 = "hipdnn.pointwise"(%x) {mode = "log"} : (tensor<2x1000000xf32>) -> tensor<2x1000000xf32>
  %1 = "hipdnn.pointwise"(%0) {mode = "log"} : (tensor<2x1000000xf32>) -> tensor<2x1000000xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "log"} : (tensor<2x1000000xf32>) -> tensor<2x1000000xf32>
  %3 = "hipdnn.pointwise"(%2) {mode = "log"} : (tensor<2x1000000xf32>) -> tensor<2x1000000xf32>
  %y = "hipdnn.rmsnorm"(%3, %scale, %epsilon) {forward_phase = "INFERENCE"} : (tensor<2x1000000xf32>, tensor<1x1000000xf32>, tensor<1xf32>) -> tensor<2x1000000xf32>
  return %y : tensor<2x1000000xf32>
}
