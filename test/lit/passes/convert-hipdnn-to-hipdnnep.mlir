// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-hipdnnep | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-hipdnnep --convert-hipdnn-to-hipdnnep | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-hipdnnep --convert-hipdnnep-to-hipdnn --verify-contracts | FileCheck %s --check-prefix=BACK
// Graphs become graphs of ATen ops, and come back as they were.

// A transposed operand is a view of the function. The matmul rounds once, as the graph's does.

// CHECK-LABEL: func.func @transposed
// CHECK:         %[[T:.*]] = torch.aten.as_strided %arg1, {{.*}} : !torch.vtensor<[6,4],f16>, {{.*}} -> !torch.vtensor<[4,6],f16>
// CHECK:         %[[G:.*]] = torch.operator "hipdnn.graph"(%arg0, %[[T]])
// CHECK-NEXT:    ^bb0(%[[A:.*]]: !torch.vtensor<[8,4],f16>, %[[B:.*]]: !torch.vtensor<[4,6],f16>):
// CHECK-NEXT:      %[[C:.*]] = torch.aten.matmul %[[A]], %[[B]] : {{.*}} -> !torch.vtensor<[8,6],f16>
// CHECK-NEXT:      torch.operator_terminator %[[C]]
// CHECK:         return %[[G]]
// BACK-LABEL:  func.func @transposed
// BACK:          %[[T:.*]] = "hipdnn.view"(%arg1) {offset = 0 : i64, strides = array<i64: 1, 4>}
// BACK:          "hipdnn.graph"(%arg0, %[[T]])
// BACK:            "hipdnn.matmul"(%{{.*}}, %{{.*}}) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
// BACK:          }) {arg_strides = [unit, array<i64: 1, 4>], name = "matmul_0"}
func.func @transposed(%a: tensor<8x4xf16>, %b: tensor<6x4xf16>) -> tensor<8x6xf16> {
  %t = "hipdnn.view"(%b) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<6x4xf16>) -> tensor<4x6xf16>
  %0 = "hipdnn.graph"(%a, %t) ({
  ^bb0(%ga: tensor<8x4xf16>, %gb: tensor<4x6xf16>):
    %1 = "hipdnn.matmul"(%ga, %gb) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
    "hipdnn.yield"(%1) : (tensor<8x6xf16>) -> ()
  }) {arg_strides = [unit, array<i64: 1, 4>]} : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
  return %0 : tensor<8x6xf16>
}

// -----

// What a graph rounds only at its end is f32 between casts. Constants are in the body.

// CHECK-LABEL: func.func @rounded_at_the_end
// CHECK:         torch.operator "hipdnn.graph"(%arg0)
// CHECK:           torch.vtensor.literal(dense<2.000000e+00> : tensor<4xf32>)
// CHECK:           %[[W:.*]] = torch.aten.to.dtype %{{.*}} -> !torch.vtensor<[4],f32>
// CHECK:           %[[M:.*]] = torch.aten.mul.Tensor %[[W]], %{{.*}} -> !torch.vtensor<[4],f32>
// CHECK:           %[[S:.*]] = torch.aten.sigmoid %[[M]] {{.*}} -> !torch.vtensor<[4],f32>
// CHECK:           torch.aten.to.dtype %[[S]], {{.*}} -> !torch.vtensor<[4],f16>
// BACK-LABEL:  func.func @rounded_at_the_end
// BACK:          "hipdnn.graph"(%arg0)
// BACK:            mode = "mul"} : {{.*}} -> tensor<4xf32>
// BACK:            mode = "sigmoid_fwd"} : (tensor<4xf32>) -> tensor<4xf32>
func.func @rounded_at_the_end(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<4xf16>):
    %two = arith.constant dense<2.0> : tensor<4xf32>
    %1 = "hipdnn.pointwise"(%gx, %two) {mode = "mul"} : (tensor<4xf16>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "hipdnn.pointwise"(%1) {mode = "sigmoid_fwd"} : (tensor<4xf32>) -> tensor<4xf16>
    "hipdnn.yield"(%2) : (tensor<4xf16>) -> ()
  }) : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// A view may start after the first element of its storage.

// CHECK-LABEL: func.func @window
// CHECK:         %[[O:.*]] = torch.constant.int 5
// CHECK:         %[[W:.*]] = torch.aten.as_strided %arg0, %{{.*}}, %{{.*}}, %[[O]] : {{.*}} -> !torch.vtensor<[2,3],f32>
// CHECK:         torch.operator "hipdnn.graph"(%[[W]])
// BACK-LABEL:  func.func @window
// BACK:          %[[W:.*]] = "hipdnn.view"(%arg0) {offset = 5 : i64, strides = array<i64: 4, 1>}
// BACK:          "hipdnn.graph"(%[[W]])
func.func @window(%x: tensor<3x4xf32>) -> tensor<2x3xf32> {
  %v = "hipdnn.view"(%x) {offset = 5 : i64, strides = array<i64: 4, 1>} : (tensor<3x4xf32>) -> tensor<2x3xf32>
  %0 = "hipdnn.graph"(%v) ({
  ^bb0(%gv: tensor<2x3xf32>):
    %1 = "hipdnn.pointwise"(%gv) {mode = "relu_fwd"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "hipdnn.yield"(%1) : (tensor<2x3xf32>) -> ()
  }) {arg_offsets = array<i64: 5>, arg_strides = [array<i64: 4, 1>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// A view of a result in another order first reads it in the order of its storage. Fallbacks become
// ops of the function.

// CHECK-LABEL: func.func @view_of_storage
// CHECK:         %[[G:.*]] = torch.operator "hipdnn.graph"(%arg0)
// CHECK:         %[[P:.*]] = torch.aten.permute %[[G]], {{.*}} -> !torch.vtensor<[3,2],f32>
// CHECK:         %[[L:.*]] = torch.aten.flatten.using_ints %[[P]], {{.*}} -> !torch.vtensor<[6],f32>
// CHECK:         %[[V:.*]] = torch.aten.as_strided %[[L]], {{.*}} -> !torch.vtensor<[6],f32>
// CHECK-NEXT:    torch.aten.atan %[[V]]
// BACK-LABEL:  func.func @view_of_storage
// BACK:          torch.aten.atan
func.func @view_of_storage(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<2x3xf32>):
    %1 = "hipdnn.pointwise"(%gx) {mode = "relu_fwd"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    "hipdnn.yield"(%1) : (tensor<2x3xf32>) -> ()
  }) {result_strides = [array<i64: 1, 2>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %v = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = "hipdnn.fallback"(%v) ({
  ^bb0(%gv: tensor<6xf32>):
    %3 = torch_c.from_builtin_tensor %gv : tensor<6xf32> -> !torch.vtensor<[6],f32>
    %4 = torch.aten.atan %3 : !torch.vtensor<[6],f32> -> !torch.vtensor<[6],f32>
    %5 = torch_c.to_builtin_tensor %4 : !torch.vtensor<[6],f32> -> tensor<6xf32>
    "hipdnn.yield"(%5) : (tensor<6xf32>) -> ()
  }) : (tensor<6xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}

// -----

// Integers are signed in torch.

// CHECK-LABEL: func.func @integers
// CHECK:         torch.vtensor.literal(dense<[1, -2]> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
// BACK-LABEL:  func.func @integers
// BACK:          arith.constant dense<[1, -2]> : tensor<2xi64>
func.func @integers() -> tensor<2xi64> {
  %0 = arith.constant dense<[1, -2]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
