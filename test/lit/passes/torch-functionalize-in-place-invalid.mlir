// RUN: hipgraft-opt %s --split-input-file --torch-functionalize-in-place --verify-diagnostics

// Value tensors cannot say what else an in-place op changes.

func.func @argument(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error @below {{in-place op 'aten.relu_' on a function argument}}
  %0 = torch.operator "torch.aten.relu_"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----

func.func @view_of_a_live_base(%x: !torch.vtensor<[4],f32>)
    -> (!torch.vtensor<[1,4],f32>, !torch.vtensor<[4],f32>) {
  %int0 = torch.constant.int 0
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.unsqueeze %0, %int0 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[1,4],f32>
  // expected-error @below {{in-place op 'aten.relu_' on a view of a tensor used later}}
  %2 = torch.operator "torch.aten.relu_"(%1)
    : (!torch.vtensor<[1,4],f32>) -> !torch.vtensor<[1,4],f32>
  return %2, %0 : !torch.vtensor<[1,4],f32>, !torch.vtensor<[4],f32>
}

// -----

func.func @tensor_with_views(%x: !torch.vtensor<[4],f32>)
    -> (!torch.vtensor<[1,4],f32>, !torch.vtensor<[4],f32>) {
  %int0 = torch.constant.int 0
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.unsqueeze %0, %int0 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[1,4],f32>
  // expected-error @below {{in-place op 'aten.relu_' on a tensor with views}}
  %2 = torch.operator "torch.aten.relu_"(%0) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %1, %2 : !torch.vtensor<[1,4],f32>, !torch.vtensor<[4],f32>
}

// -----

func.func @unknown(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // expected-error @below {{in-place op 'aten.frobnicate_' has no value form}}
  %1 = torch.operator "torch.aten.frobnicate_"(%0)
    : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// -----

func.func @no_operand() {
  // expected-error @below {{expected in-place op 'aten.relu_' to have operands and one result}}
  %0 = torch.operator "torch.aten.relu_"() : () -> !torch.vtensor<[1],f32>
  return
}
