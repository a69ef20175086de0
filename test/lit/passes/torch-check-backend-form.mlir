// RUN: hipgraft-opt %s --torch-check-backend-form | FileCheck %s
// RUN: hipgraft-opt %s --torch-check-backend-form --torch-check-backend-form | FileCheck %s

// A program of torch ops with static shapes passes as it is.

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    torch.aten.relu
// CHECK-NEXT:    return
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
