// RUN: hipgraft-opt %s --split-input-file --torch-functionalize-in-place | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --torch-functionalize-in-place \
// RUN:   --torch-functionalize-in-place | FileCheck %s

// In-place ops on value tensors get their value form; what reads the operand later reads the result.

// CHECK-LABEL: func.func @reads_before_and_after
// CHECK-SAME:    (%[[X:.+]]: !torch.vtensor<[4],f32>)
// CHECK:         %[[SUM:.+]] = torch.aten.tanh %[[X]]
// CHECK:         %[[BEFORE:.+]] = torch.aten.neg %[[SUM]]
// CHECK:         %[[RELU:.+]] = torch.aten.relu %[[SUM]]
// CHECK:         %[[AFTER:.+]] = torch.aten.neg %[[RELU]]
// CHECK:         return %[[BEFORE]], %[[AFTER]], %[[RELU]]
func.func @reads_before_and_after(%x: !torch.vtensor<[4],f32>)
    -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.neg %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %2 = torch.operator "torch.aten.relu_"(%0) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  %3 = torch.aten.neg %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %1, %3, %2 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
}

// -----

// The overload's name stays, the trailing underscore goes.

// CHECK-LABEL: func.func @overload
// CHECK:         %[[T:.+]] = torch.aten.tanh
// CHECK:         torch.aten.add.Tensor %[[T]], %{{.+}}, %{{.+}}
// CHECK-NOT:     torch.operator
func.func @overload(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %int1 = torch.constant.int 1
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.operator "torch.aten.add_.Tensor"(%0, %x, %int1)
    : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int) -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// -----

// A view that is written through but whose base nobody reads any more is no alias.

// CHECK-LABEL: func.func @view_of_a_dead_base
// CHECK:         %[[V:.+]] = torch.aten.unsqueeze
// CHECK:         %[[R:.+]] = torch.aten.relu %[[V]]
// CHECK:         return %[[R]]
func.func @view_of_a_dead_base(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[1,4],f32> {
  %int0 = torch.constant.int 0
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.unsqueeze %0, %int0 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[1,4],f32>
  %2 = torch.operator "torch.aten.relu_"(%1)
    : (!torch.vtensor<[1,4],f32>) -> !torch.vtensor<[1,4],f32>
  return %1 : !torch.vtensor<[1,4],f32>
}

// -----

// Names with underscores that are no in-place ops stay.

// CHECK-LABEL: func.func @dunder
// CHECK:         torch.aten.__and__.Tensor
func.func @dunder(%x: !torch.vtensor<[4],i1>) -> !torch.vtensor<[4],i1> {
  %0 = torch.aten.__and__.Tensor %x, %x
    : !torch.vtensor<[4],i1>, !torch.vtensor<[4],i1> -> !torch.vtensor<[4],i1>
  return %0 : !torch.vtensor<[4],i1>
}
