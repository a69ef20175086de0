// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-outline --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// An elementwise op that cannot join its producer starts a graph, and a remark tells why.

// REMARK: 'hipdnn.pointwise' starts a graph: shape [4, 8] is not one that its producer's kernel walks
// CHECK-LABEL: func.func @broadcast_up
// CHECK-COUNT-2: "hipdnn.graph"
func.func @broadcast_up(%a: tensor<1x4xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<1x4xf32>, tensor<4x8xf32>) -> tensor<1x8xf32>
  %s = "hipdnn.pointwise"(%p, %c) {mode = "add"} : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}

// -----

// The sum reads the product and, through a torch op, depends on it once more.

// REMARK: 'hipdnn.pointwise' starts a graph: an operand depends on the graph through another one
// CHECK-LABEL: func.func @cycle
// CHECK-COUNT-2: "hipdnn.graph"
func.func @cycle(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = torch_c.from_builtin_tensor %p : tensor<4x4xf32> -> !torch.vtensor<[4,4],f32>
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %u = torch.aten.cumsum %t, %int1, %none : !torch.vtensor<[4,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[4,4],f32>
  %q = torch_c.to_builtin_tensor %u : !torch.vtensor<[4,4],f32> -> tensor<4x4xf32>
  %s = "hipdnn.pointwise"(%p, %q) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
