// RUN: hipgraft-opt %s --split-input-file --test-check-stage -o %t
// RUN: hipgraft-opt %s --split-input-file --test-check-stage --verify-contracts --verify-diagnostics

// What a pass requires and ensures of the module's stage is checked when that is asked for.

func.func @empty() { return }

// -----

// expected-error @below {{'func.func' op takes and returns static builtin tensors, found 'i32' at stage 'hipdnn-ops', which 'test-check-stage' requires}}
func.func @signature(%x: i32) { return }

// -----

func.func @wrong_op(%x: tensor<4xf32>) {
  // expected-error @below {{'arith.addf' op is not allowed in a function at stage 'hipdnn-ops', which 'test-check-stage' requires}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  return
}

// -----

func.func @compute_left(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op is not allowed in a function at stage 'hipdnn-graphs', which 'test-check-stage' ensures}}
  %0 = "hipdnn.pointwise"(%x) {mode = "relu_fwd"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @returns_argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{operand #0 is not the result of a container at stage 'hipdnn-graphs'}}
  return %x : tensor<4xf32>
}

// -----

func.func @returns_one_result_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4xf32>) -> tensor<4xf32>
    "hipdnn.yield"(%1) : (tensor<4xf32>) -> ()
  }) {engine = "iree", name = "relu"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 2, 1>} : (tensor<4xf32>) -> tensor<2x2xf32>
  // expected-error @below {{operand #1 is returned twice at stage 'hipdnn-graphs'}}
  return %0, %2 : tensor<4xf32>, tensor<2x2xf32>
}
