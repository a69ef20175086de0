// RUN: hipgraft-opt %s --verify-diagnostics

// What follows from the declaration of an op: counts, types and attributes.

func.func @unknown_op() {
  // expected-error @below {{'hipdnn.conv' op is not an op of the hipdnn dialect}}
  "hipdnn.conv"() : () -> ()
  return
}

func.func @missing_attribute(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op requires attribute 'mode'}}
  %0 = "hipdnn.pointwise"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @unknown_attribute(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op has no attribute 'alpha'}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp", alpha = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @kind_of_attribute(%a: tensor<4x4xf32>) {
  // expected-error @below {{'hipdnn.matmul' op expected attribute 'compute_type' to be type, but found "f32"}}
  %0 = "hipdnn.matmul"(%a, %a) {compute_type = "f32"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

func.func @width_of_integer(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected attribute 'axis' to be i64, but found 0 : i32}}
  %0 = "hipdnn.pointwise"(%a) {mode = "gen_index", axis = 0 : i32} : (tensor<4xf32>) -> tensor<4xi32>
  return
}

func.func @missing_operand(%a: tensor<4x4xf32>) {
  // expected-error @below {{'hipdnn.matmul' op expected 2 operands, but found 1}}
  // expected-note @below {{requires operand 'b'}}
  %0 = "hipdnn.matmul"(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

func.func @surplus_operand(%a: tensor<4x4xf32>) {
  // expected-error @below {{'hipdnn.matmul' op expected 2 operands, but found 3}}
  %0 = "hipdnn.matmul"(%a, %a, %a) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

func.func @missing_result(%a: tensor<4x4xf32>) {
  // expected-error @below {{'hipdnn.matmul' op expected 1 results, but found 0}}
  // expected-note @below {{requires result 'c'}}
  "hipdnn.matmul"(%a, %a) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  return
}

func.func @segments_kind(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected attribute 'operandSegmentSizes' to be array<i32>, but found array<i64: 1, 0, 0>}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp", operandSegmentSizes = array<i64: 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @segments_count(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 3 values in 'operandSegmentSizes', but found 2}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp", operandSegmentSizes = array<i32: 1, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @segments_sum(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 2 operands by 'operandSegmentSizes', but found 1}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp", operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @segments_of_optional(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected at most one operand 'in_1', but found 2}}
  %0 = "hipdnn.pointwise"(%a, %a, %a) {mode = "exp", operandSegmentSizes = array<i32: 1, 2, 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @segments_negative(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected values of at least 0 in 'operandSegmentSizes'}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp", operandSegmentSizes = array<i32: 1, 1, -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @no_tensor(%a: f32) {
  // expected-error @below {{'hipdnn.pointwise' op expected 'in_0' to be a tensor of static shape, but found f32}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp"} : (f32) -> tensor<4xf32>
  return
}

func.func @torch_tensor(%a: !torch.vtensor<[4],f32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 'in_0' to be a tensor of static shape, but found !torch.vtensor<[4],f32>}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp"} : (!torch.vtensor<[4],f32>) -> tensor<4xf32>
  return
}

func.func @dynamic_shape(%a: tensor<?xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 'in_0' to be a tensor of static shape, but found tensor<?xf32>}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp"} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

func.func @empty_tensor(%a: tensor<0xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 'in_0' to have elements, but found tensor<0xf32>}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp"} : (tensor<0xf32>) -> tensor<0xf32>
  return
}

func.func @element_type(%a: tensor<4xindex>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 'in_0' to hold integers or floats, but found tensor<4xindex>}}
  %0 = "hipdnn.pointwise"(%a) {mode = "exp"} : (tensor<4xindex>) -> tensor<4xf32>
  return
}

func.func @region(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 0 regions, but found 1}}
  %0 = "hipdnn.pointwise"(%a) ({
  }) {mode = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
