// RUN: hipgraft-opt %s | FileCheck %s
// RUN: cat %s | hipgraft-opt | FileCheck %s
// RUN: cat %s | hipgraft-opt - --no-implicit-module | FileCheck %s
// RUN: hipgraft-opt %s | iree-opt --allow-unregistered-dialect | FileCheck %s

// What torch-mlir's and IREE's tools print is read: their dialects, types and attributes.

// CHECK-LABEL: func.func @torch_ops
// CHECK: torch.aten.relu
// CHECK: torch.operator "onnx.Relu"
// CHECK: tm_tensor.scan
// CHECK-LABEL: func.func @iree_ops
// CHECK: iree_linalg_ext.topk
// CHECK: iree_tensor_ext.dispatch.tensor.load
// CHECK-LABEL: util.func public @util_function
// CHECK: flow.tensor.splat
// CHECK: hal.tensor.export
// CHECK-LABEL: func.func @stablehlo_ops
// CHECK-LABEL: llvm.func @native
// CHECK-LABEL: func.func @dialect_in_python
// CHECK: "hipdnn.pointwise"
module {
  func.func @torch_ops(%x: !torch.vtensor<[2,3],f32>, %t: tensor<4xf32>, %a: tensor<f32>) -> !torch.vtensor<[2,3],f32> {
    %0 = torch.aten.relu %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
    %1 = torch.operator "onnx.Relu"(%0) : (!torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32>
    %2:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%t : tensor<4xf32>) outs(%t, %a : tensor<4xf32>, tensor<f32>) {
    ^bb0(%y: f32, %z: f32):
      %s = arith.addf %y, %z : f32
      tm_tensor.yield %s : f32
    } -> tensor<4xf32>, tensor<f32>
    return %1 : !torch.vtensor<[2,3],f32>
  }
  func.func @iree_ops(%x: tensor<2x3xf32>, %v: tensor<2x2xf32>, %i: tensor<2x2xi32>, %d: !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>>) -> tensor<2x3xf32> {
    %0:2 = iree_linalg_ext.topk dimension(1) ins(%x : tensor<2x3xf32>) outs(%v, %i : tensor<2x2xf32>, tensor<2x2xi32>) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.cmpf ogt, %a, %b : f32
      iree_linalg_ext.yield %c : i1
    } -> tensor<2x2xf32>, tensor<2x2xi32>
    %1 = iree_tensor_ext.dispatch.tensor.load %d, offsets = [0], sizes = [4], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<4xf32>> -> tensor<4xf32>
    return %x : tensor<2x3xf32>
  }
  util.func public @util_function(%c: f32) -> !hal.buffer_view {
    %0 = flow.tensor.splat %c : tensor<4xf32>
    %1 = hal.tensor.export %0 : tensor<4xf32> -> !hal.buffer_view
    util.return %1 : !hal.buffer_view
  }
  func.func @stablehlo_ops(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %x, %x : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
  llvm.func @native(%x: i32) -> i32 {
    llvm.return %x : i32
  }
  func.func @dialect_in_python(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "hipdnn.pointwise"(%x) {mode = "relu_fwd"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
