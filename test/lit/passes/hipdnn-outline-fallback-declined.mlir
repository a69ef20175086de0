// RUN: hipgraft-opt %s --hipdnn-outline --hipdnn-outline-fallback | FileCheck %s
// RUN: hipgraft-opt %s --hipdnn-outline --hipdnn-outline-fallback --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --hipdnn-outline --hipdnn-outline-fallback=fuse=false | FileCheck %s --check-prefix=APART
// Each fallback is a remark; graphs are not touched. Without fusing, each op is a container.

// REMARK:        {{[0-9]+}} ops as fallback 'cumsum_0'
// CHECK-LABEL: func.func @graph_between
// CHECK-COUNT-2: "hipdnn.fallback"
// APART-LABEL: func.func @graph_between
// APART-COUNT-2: "hipdnn.fallback"
func.func @graph_between(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %int0 = torch.constant.int 0
  %none = torch.constant.none
  %0 = torch_c.from_builtin_tensor %x : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
  %1 = torch.aten.cumsum %0, %int0, %none : !torch.vtensor<[4,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[4,4],f32>
  %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[4,4],f32> -> tensor<4x4xf32>
  %3 = "hipdnn.matmul"(%2, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = torch_c.from_builtin_tensor %3 : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
  %5 = torch.aten.cumsum %4, %int0, %none : !torch.vtensor<[4,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[4,4],f32>
  %6 = torch_c.to_builtin_tensor %5 : !torch.vtensor<[4,4],f32> -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}
