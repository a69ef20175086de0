// RUN: hipgraft-opt %s --split-input-file --convert-hipdnnep-to-hipdnn --verify-contracts | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnnep-to-hipdnn --convert-hipdnnep-to-hipdnn | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnnep-to-hipdnn --remarks --verify-diagnostics
// Each graph of ATen ops becomes a graph of hipDNN's ops.

// CHECK-LABEL: func.func @matmul
// CHECK-SAME:    (%[[A:.*]]: tensor<2x3xf16>, %[[B:.*]]: tensor<3x4xf16>) -> tensor<2x4xf16>
// CHECK-NEXT:    %[[G:.*]] = "hipdnn.graph"(%[[A]], %[[B]]) ({
// CHECK-NEXT:    ^bb0(%[[GA:.*]]: tensor<2x3xf16>, %[[GB:.*]]: tensor<3x4xf16>):
// CHECK-NEXT:      %[[C:.*]] = "hipdnn.matmul"(%[[GA]], %[[GB]]) : {{.*}} -> tensor<2x4xf16>
// CHECK-NEXT:      "hipdnn.yield"(%[[C]])
// CHECK-NEXT:    }) {name = "matmul_0"}
// CHECK-NEXT:    return %[[G]]
func.func @matmul(%a: !torch.vtensor<[2,3],f16>, %b: !torch.vtensor<[3,4],f16>) -> !torch.vtensor<[2,4],f16> {
  %0 = torch.operator "hipdnn.graph"(%a, %b) : (!torch.vtensor<[2,3],f16>, !torch.vtensor<[3,4],f16>) -> !torch.vtensor<[2,4],f16> {
  ^bb0(%ga: !torch.vtensor<[2,3],f16>, %gb: !torch.vtensor<[3,4],f16>):
    %1 = torch.aten.matmul %ga, %gb : !torch.vtensor<[2,3],f16>, !torch.vtensor<[3,4],f16> -> !torch.vtensor<[2,4],f16>
    torch.operator_terminator %1 : !torch.vtensor<[2,4],f16>
  }
  return %0 : !torch.vtensor<[2,4],f16>
}

// -----

// Two graphs: a convolution with bias, whose view is outside, and its sigmoid. Lists and constants
// may be in the function.

// CHECK-LABEL: func.func @convolution
// CHECK:         %[[BIAS:.*]] = "hipdnn.view"(%{{.*}}) {{.*}} : (tensor<4xf32>) -> tensor<1x4x1x1xf32>
// CHECK:         %[[Y:.*]] = "hipdnn.graph"(%{{.*}}, %{{.*}}, %[[BIAS]]) ({
// CHECK:           "hipdnn.conv_fprop"
// CHECK:           mode = "add"
// CHECK:         }) {name = "conv_fprop_add_0"}
// CHECK:         "hipdnn.graph"(%[[Y]]) ({
// CHECK:           mode = "sigmoid_fwd"
// CHECK:         }) {name = "sigmoid_fwd_1"}
func.func @convolution(%x: !torch.vtensor<[1,3,6,6],f32>, %w: !torch.vtensor<[4,3,3,3],f32>, %b: !torch.vtensor<[4],f32>) -> !torch.vtensor<[1,4,4,4],f32> {
  %int1 = torch.constant.int 1
  %int0 = torch.constant.int 0
  %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.operator "hipdnn.graph"(%x, %w, %b) : (!torch.vtensor<[1,3,6,6],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.vtensor<[4],f32>) -> !torch.vtensor<[1,4,4,4],f32> {
  ^bb0(%gx: !torch.vtensor<[1,3,6,6],f32>, %gw: !torch.vtensor<[4,3,3,3],f32>, %gb: !torch.vtensor<[4],f32>):
    %zero = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
    %1 = torch.aten.conv2d %gx, %gw, %gb, %one, %zero, %one, %int1 : !torch.vtensor<[1,3,6,6],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.vtensor<[4],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[1,4,4,4],f32>
    torch.operator_terminator %1 : !torch.vtensor<[1,4,4,4],f32>
  }
  %2 = torch.operator "hipdnn.graph"(%0) : (!torch.vtensor<[1,4,4,4],f32>) -> !torch.vtensor<[1,4,4,4],f32> {
  ^bb0(%gy: !torch.vtensor<[1,4,4,4],f32>):
    %3 = torch.aten.sigmoid %gy : !torch.vtensor<[1,4,4,4],f32> -> !torch.vtensor<[1,4,4,4],f32>
    torch.operator_terminator %3 : !torch.vtensor<[1,4,4,4],f32>
  }
  return %2 : !torch.vtensor<[1,4,4,4],f32>
}

// -----

// A graph of two results; what is outside of graphs stays outside.

// CHECK-LABEL: func.func @two_results
// CHECK:         %[[G:.*]]:2 = "hipdnn.graph"
// CHECK:           %[[C:.*]] = "hipdnn.matmul"
// CHECK:           %[[D:.*]] = "hipdnn.pointwise"(%[[C]], %{{.*}}) {mode = "add"}
// CHECK:           %[[E:.*]] = "hipdnn.pointwise"(%[[D]]) {mode = "relu_fwd"}
// CHECK:           "hipdnn.yield"(%[[D]], %[[E]])
// CHECK:         %[[S:.*]] = "hipdnn.pointwise"(%[[G]]#0) {mode = "tanh_fwd"}
// CHECK:         return %[[S]], %[[G]]#1
func.func @two_results(%c: !torch.vtensor<[4],f32>, %a: !torch.vtensor<[3,5],f32>, %b: !torch.vtensor<[5,4],f32>) -> (!torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],f32>) {
  %0:2 = torch.operator "hipdnn.graph"(%c, %a, %b) : (!torch.vtensor<[4],f32>, !torch.vtensor<[3,5],f32>, !torch.vtensor<[5,4],f32>) -> (!torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],f32>) {
  ^bb0(%gc: !torch.vtensor<[4],f32>, %ga: !torch.vtensor<[3,5],f32>, %gb: !torch.vtensor<[5,4],f32>):
    %int1 = torch.constant.int 1
    %1 = torch.aten.addmm %gc, %ga, %gb, %int1, %int1 : !torch.vtensor<[4],f32>, !torch.vtensor<[3,5],f32>, !torch.vtensor<[5,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,4],f32>
    %2 = torch.aten.relu %1 : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
    torch.operator_terminator %1, %2 : !torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],f32>
  }
  %3 = torch.aten.tanh %0#0 : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
  return %3, %0#1 : !torch.vtensor<[3,4],f32>, !torch.vtensor<[3,4],f32>
}

// -----

// A graph is dissolved if hipDNN has no op for all of it, or a view is between its ops.

// CHECK-LABEL: func.func @dissolved
// CHECK-NOT:     "hipdnn.graph"
// CHECK:         torch.aten.atan
// CHECK:         "hipdnn.pointwise"(%{{.*}}) {mode = "relu_fwd"}
// CHECK:         "hipdnn.matmul"
// CHECK:         "hipdnn.view"
// CHECK:         "hipdnn.matmul"
// CHECK-NOT:     torch.operator
func.func @dissolved(%a: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  // expected-remark @below {{the graph is dissolved: hipDNN has no op for 'torch.aten.atan'}}
  %0 = torch.operator "hipdnn.graph"(%a) : (!torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  ^bb0(%ga: !torch.vtensor<[4,4],f32>):
    // expected-remark @below {{'torch.aten.atan' stays: hipDNN has no mode for it}}
    %1 = torch.aten.atan %ga : !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
    %2 = torch.aten.relu %1 : !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
    torch.operator_terminator %2 : !torch.vtensor<[4,4],f32>
  }
  // expected-remark @below {{the graph is dissolved: hipDNN's graphs hold no views of what they compute}}
  %3 = torch.operator "hipdnn.graph"(%0) : (!torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  ^bb0(%gb: !torch.vtensor<[4,4],f32>):
    %4 = torch.aten.mm %gb, %gb : !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
    %5 = torch.aten.t %4 : !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
    %6 = torch.aten.mm %5, %gb : !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
    torch.operator_terminator %6 : !torch.vtensor<[4,4],f32>
  }
  return %3 : !torch.vtensor<[4,4],f32>
}

// -----

// Other graphs that are dissolved: of separate parts, and of nothing but views.

// CHECK-LABEL: func.func @parts
// CHECK-NOT:     "hipdnn.graph"
// CHECK:         return
func.func @parts(%a: !torch.vtensor<[4,4],f32>) -> (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) {
  // expected-remark @below {{the graph is dissolved: hipDNN's graphs are connected, but it has 2 parts}}
  %0:2 = torch.operator "hipdnn.graph"(%a) : (!torch.vtensor<[4,4],f32>) -> (!torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>) {
  ^bb0(%ga: !torch.vtensor<[4,4],f32>):
    %1 = torch.aten.relu %ga : !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
    %2 = torch.aten.tanh %ga : !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
    torch.operator_terminator %1, %2 : !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>
  }
  // expected-remark @below {{the graph is dissolved: no hipDNN op is left of it}}
  %3 = torch.operator "hipdnn.graph"(%0#1) : (!torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  ^bb0(%gb: !torch.vtensor<[4,4],f32>):
    %4 = torch.aten.t %gb : !torch.vtensor<[4,4],f32> -> !torch.vtensor<[4,4],f32>
    torch.operator_terminator %4 : !torch.vtensor<[4,4],f32>
  }
  return %0#0, %0#1, %3 : !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>
}

// -----

// A path between two ops of a graph leads through an op that stays in torch.

// CHECK-LABEL: func.func @around
// CHECK-NOT:     "hipdnn.graph"
// CHECK:         mode = "relu_fwd"
// CHECK:         torch.operator "torch.prims.unknown"
// CHECK:         mode = "add"
func.func @around(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-remark @below {{the graph is dissolved: hipDNN has no op for 'torch.prims.unknown'}}
  %0 = torch.operator "hipdnn.graph"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  ^bb0(%gx: !torch.vtensor<[4],f32>):
    %int1 = torch.constant.int 1
    %1 = torch.aten.relu %gx : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    // expected-remark @below {{'torch.prims.unknown' stays: hipDNN has no op for it}}
    %2 = torch.operator "torch.prims.unknown"(%1) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
    %3 = torch.aten.add.Tensor %1, %2, %int1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
    torch.operator_terminator %3 : !torch.vtensor<[4],f32>
  }
  return %0 : !torch.vtensor<[4],f32>
}
