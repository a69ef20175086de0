// RUN: hipgraft-opt %s --split-input-file --torch-simplify | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --torch-simplify --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNT

// COUNT: inferences

// A shape that the program does not tell.

// CHECK-LABEL: func.func @extent
// CHECK: torch.aten.relu {{.*}} -> !torch.vtensor<[4,3],f32>
func.func @extent(%x: !torch.vtensor<[4,3],f32>) -> !torch.vtensor<[4,3],f32> {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4,3],f32> -> !torch.vtensor<[?,3],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[?,3],f32> -> !torch.vtensor<[?,3],f32>
  %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[?,3],f32> to !torch.vtensor<[4,3],f32>
  return %2 : !torch.vtensor<[4,3],f32>
}

// -----

// A tensor of unknown rank, and one without an element type.

// CHECK-LABEL: func.func @rank
// CHECK: torch.aten.tanh {{.*}} -> !torch.vtensor<[4],f32>
// CHECK: torch.aten.relu {{.*}} -> !torch.vtensor<[4],f32>
func.func @rank(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor {
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<*,f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<*,f32> -> !torch.vtensor<[4],unk>
  %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],unk> to !torch.vtensor
  return %2 : !torch.vtensor
}
