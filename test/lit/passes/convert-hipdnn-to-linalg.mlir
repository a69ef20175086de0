// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 --verify-contracts | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 --convert-hipdnn-to-linalg=target=gfx942 --remarks 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942,cpu | FileCheck %s --check-prefix=TWO

// Each container gets the compiler's input for it as a module of its own; equal ones share it.

// AGAIN: remark: it names its lowered modules already

// CHECK-LABEL: module @relu_gfx942 attributes {hipdnn.lowered_for = "gfx942", hipdnn.plan = "default"} {
// CHECK:         func.func @main(%[[X:.*]]: tensor<8xf32>) -> tensor<8xf32>
// CHECK:           %[[Y:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<8xf32>)
// CHECK:           return %[[Y]] : tensor<8xf32>
// CHECK-NOT:   module @
// CHECK-LABEL: func.func @shared
// CHECK:         {hipdnn.inputs = [@relu_gfx942], name = "relu"}
// CHECK:         {hipdnn.inputs = [@relu_gfx942], name = "relu"}

// TWO-LABEL: module @relu_gfx942
// TWO-LABEL: module @relu_cpu
// TWO:       {hipdnn.inputs = [@relu_gfx942, @relu_cpu], name = "relu"}
func.func @shared(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd"} : (tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "relu"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "hipdnn.graph"(%0) ({
  ^bb0(%g: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd"} : (tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "relu"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A symbol that is taken gets a number.

// CHECK-LABEL: module @relu_gfx942_1
// CHECK-LABEL: func.func @relu_gfx942
func.func @relu_gfx942(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd"} : (tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "relu"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A fallback keeps the ops that IREE lowers itself.

// CHECK-LABEL: module @sort_gfx942
// CHECK:         torch_c.from_builtin_tensor
// CHECK:         torch.aten.flip
// CHECK-LABEL: func.func @fallback
// CHECK:         "hipdnn.fallback"
// CHECK:         {hipdnn.inputs = [@sort_gfx942], name = "sort"}
func.func @fallback(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "hipdnn.fallback"(%x) ({
  ^bb0(%g: tensor<8xf32>):
    %a = torch_c.from_builtin_tensor %g : tensor<8xf32> -> !torch.vtensor<[8],f32>
    %i = torch.constant.int 0
    %l = torch.prim.ListConstruct %i : (!torch.int) -> !torch.list<int>
    %b = torch.aten.flip %a, %l : !torch.vtensor<[8],f32>, !torch.list<int> -> !torch.vtensor<[8],f32>
    %c = torch_c.to_builtin_tensor %b : !torch.vtensor<[8],f32> -> tensor<8xf32>
    "hipdnn.yield"(%c) : (tensor<8xf32>) -> ()
  }) {name = "sort"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
