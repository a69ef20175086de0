// RUN: hipgraft-opt %s --split-input-file --convert-torch-to-hipdnn | FileCheck %s
// Training graphs: gradients, statistics of the batch, pooling.

// A gradient that nothing reads is not computed.

// CHECK-LABEL: func.func @convolution_backward
// CHECK-SAME:    (%[[DY:.*]]: tensor<2x4x6x6xf16>, %[[X:.*]]: tensor<2x8x6x6xf16>, %[[W:.*]]: tensor<4x8x3x3xf16>)
// CHECK:         %[[DW:.*]] = "hipdnn.conv_wgrad"(%[[X]], %[[DY]])
// CHECK-SAME:      pre_padding = array<i64: 1, 1>
// CHECK:         %[[DB:.*]] = "hipdnn.reduction"(%[[DY]]) {mode = "ADD"} : (tensor<2x4x6x6xf16>) -> tensor<1x4x1x1xf16>
// CHECK-NOT:     hipdnn.conv_dgrad
func.func @convolution_backward(%dy: !torch.vtensor<[2,4,6,6],f16>, %x: !torch.vtensor<[2,8,6,6],f16>, %w: !torch.vtensor<[4,8,3,3],f16>) -> (!torch.vtensor<[4,8,3,3],f16>, !torch.vtensor<[4],f16>) {
  %int1 = torch.constant.int 1
  %int4 = torch.constant.int 4
  %false = torch.constant.bool false
  %true = torch.constant.bool true
  %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %bias = torch.prim.ListConstruct %int4 : (!torch.int) -> !torch.list<int>
  %none = torch.prim.ListConstruct  : () -> !torch.list<int>
  %mask = torch.prim.ListConstruct %true, %true, %true : (!torch.bool, !torch.bool, !torch.bool) -> !torch.list<bool>
  %dx, %dw, %db = torch.aten.convolution_backward %dy, %x, %w, %bias, %one, %one, %one, %false, %none, %int1, %mask : !torch.vtensor<[2,4,6,6],f16>, !torch.vtensor<[2,8,6,6],f16>, !torch.vtensor<[4,8,3,3],f16>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int, !torch.list<bool> -> !torch.vtensor<[2,8,6,6],f16>, !torch.vtensor<[4,8,3,3],f16>, !torch.vtensor<[4],f16>
  return %dw, %db : !torch.vtensor<[4,8,3,3],f16>, !torch.vtensor<[4],f16>
}

// -----

// CHECK-LABEL: func.func @transposed_convolution
// CHECK:         "hipdnn.conv_dgrad"({{.*}}stride = array<i64: 2, 2>{{.*}} -> tensor<1x6x8x8xf32>
func.func @transposed_convolution(%x: !torch.vtensor<[1,4,4,4],f32>, %w: !torch.vtensor<[4,6,2,2],f32>) -> !torch.vtensor<[1,6,8,8],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %true = torch.constant.bool true
  %bias = torch.constant.none
  %zero = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %two = torch.prim.ListConstruct %int2, %int2 : (!torch.int, !torch.int) -> !torch.list<int>
  %y = torch.aten.convolution %x, %w, %bias, %two, %zero, %one, %true, %zero, %int1 : !torch.vtensor<[1,4,4,4],f32>, !torch.vtensor<[4,6,2,2],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,6,8,8],f32>
  return %y : !torch.vtensor<[1,6,8,8],f32>
}

// -----

// CHECK-LABEL: func.func @batch_norm_and_gradient
// CHECK-SAME:    (%[[X:.*]]: tensor<2x4x6x6xf32>, %[[DY:.*]]: tensor<2x4x6x6xf32>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>)
// CHECK:         %[[N:.*]]:3 = "hipdnn.batchnorm"(%[[X]], %{{.*}}, %{{.*}}, %{{.*}}) {{.*}} -> (tensor<2x4x6x6xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>)
// CHECK:         %{{.*}}:3 = "hipdnn.batchnorm_backward"(%[[DY]], %[[X]], %{{.*}}, %{{.*}}, %{{.*}}) {{.*}} -> (tensor<2x4x6x6xf32>, tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>)
func.func @batch_norm_and_gradient(%x: !torch.vtensor<[2,4,6,6],f32>, %dy: !torch.vtensor<[2,4,6,6],f32>, %w: !torch.vtensor<[4],f32>, %b: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[2,4,6,6],f32>, !torch.vtensor<[2,4,6,6],f32>, !torch.vtensor<[4],f32>) {
  %none = torch.constant.none
  %true = torch.constant.bool true
  %eps = torch.constant.float 1.0e-5
  %mask = torch.prim.ListConstruct %true, %true, %true : (!torch.bool, !torch.bool, !torch.bool) -> !torch.list<bool>
  %y, %mean, %deviation = torch.aten.native_batch_norm %x, %w, %b, %none, %none, %true, %eps, %eps : !torch.vtensor<[2,4,6,6],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.none, !torch.none, !torch.bool, !torch.float, !torch.float -> !torch.vtensor<[2,4,6,6],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
  %dx, %dw, %db = torch.operator "torch.aten.native_batch_norm_backward"(%dy, %x, %w, %none, %none, %mean, %deviation, %true, %eps, %mask) : (!torch.vtensor<[2,4,6,6],f32>, !torch.vtensor<[2,4,6,6],f32>, !torch.vtensor<[4],f32>, !torch.none, !torch.none, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.bool, !torch.float, !torch.list<bool>) -> (!torch.vtensor<[2,4,6,6],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
  return %y, %dx, %dw : !torch.vtensor<[2,4,6,6],f32>, !torch.vtensor<[2,4,6,6],f32>, !torch.vtensor<[4],f32>
}

// -----

// CHECK-LABEL: func.func @layer_norm_and_gradient
// CHECK:         %{{.*}}:3 = "hipdnn.layernorm"({{.*}}) {forward_phase = "TRAINING", normalized_dim_count = 1 : i64}
// CHECK-SAME:      -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
// CHECK:         %{{.*}}:3 = "hipdnn.layernorm_backward"({{.*}}) {normalized_dim_count = 1 : i64}
// CHECK-SAME:      -> (tensor<4x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
func.func @layer_norm_and_gradient(%x: !torch.vtensor<[4,8],f32>, %dy: !torch.vtensor<[4,8],f32>, %w: !torch.vtensor<[8],f32>, %b: !torch.vtensor<[8],f32>) -> (!torch.vtensor<[4,8],f32>, !torch.vtensor<[4,8],f32>, !torch.vtensor<[8],f32>) {
  %int8 = torch.constant.int 8
  %true = torch.constant.bool true
  %eps = torch.constant.float 1.0e-5
  %shape = torch.prim.ListConstruct %int8 : (!torch.int) -> !torch.list<int>
  %mask = torch.prim.ListConstruct %true, %true, %true : (!torch.bool, !torch.bool, !torch.bool) -> !torch.list<bool>
  %y, %mean, %deviation = torch.aten.native_layer_norm %x, %shape, %w, %b, %eps : !torch.vtensor<[4,8],f32>, !torch.list<int>, !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>, !torch.float -> !torch.vtensor<[4,8],f32>, !torch.vtensor<[4,1],f32>, !torch.vtensor<[4,1],f32>
  %dx, %dw, %db = torch.operator "torch.aten.native_layer_norm_backward"(%dy, %x, %shape, %mean, %deviation, %w, %b, %mask) : (!torch.vtensor<[4,8],f32>, !torch.vtensor<[4,8],f32>, !torch.list<int>, !torch.vtensor<[4,1],f32>, !torch.vtensor<[4,1],f32>, !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>, !torch.list<bool>) -> (!torch.vtensor<[4,8],f32>, !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>)
  return %y, %dx, %db : !torch.vtensor<[4,8],f32>, !torch.vtensor<[4,8],f32>, !torch.vtensor<[8],f32>
}

// -----

// In ceil mode the last window reads further past the end.

// CHECK-LABEL: func.func @pooling
// CHECK:         "hipdnn.resample_fwd"(%{{.*}}) {padding_mode = "NEG_INF_PAD", post_padding = array<i64: 1, 1>, pre_padding = array<i64: 0, 0>, resample_mode = "MAXPOOL", stride = array<i64: 2, 2>, window = array<i64: 3, 3>}
// CHECK:         "hipdnn.reduction"(%{{.*}}) {mode = "AVG"} : (tensor<1x4x3x3xf32>) -> tensor<1x4x1x1xf32>
func.func @pooling(%x: !torch.vtensor<[1,4,6,6],f32>) -> !torch.vtensor<[1,4,1,1],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %true = torch.constant.bool true
  %none = torch.constant.none
  %zero = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %two = torch.prim.ListConstruct %int2, %int2 : (!torch.int, !torch.int) -> !torch.list<int>
  %three = torch.prim.ListConstruct %int3, %int3 : (!torch.int, !torch.int) -> !torch.list<int>
  %y = torch.aten.max_pool2d %x, %three, %two, %zero, %one, %true : !torch.vtensor<[1,4,6,6],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,4,3,3],f32>
  %z = torch.aten.avg_pool2d %y, %three, %one, %zero, %true, %true, %none : !torch.vtensor<[1,4,3,3],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[1,4,1,1],f32>
  return %z : !torch.vtensor<[1,4,1,1],f32>
}

// -----

// Pooling with positions: hipDNN counts them in 32 bits, torch in 64.

// CHECK-LABEL: func.func @max_pool
// CHECK:         %[[P:.*]]:2 = "hipdnn.resample_fwd"({{.*}}generate_index = true{{.*}} -> (tensor<1x2x3x3xf32>, tensor<1x2x3x3xi32>)
// CHECK:         "hipdnn.pointwise"(%[[P]]#1) {mode = "identity"} : (tensor<1x2x3x3xi32>) -> tensor<1x2x3x3xi64>
// CHECK:         "hipdnn.resample_bwd"({{.*}} -> tensor<1x2x6x6xf32>
func.func @max_pool(%x: !torch.vtensor<[1,2,6,6],f32>, %dy: !torch.vtensor<[1,2,3,3],f32>) -> (!torch.vtensor<[1,2,3,3],f32>, !torch.vtensor<[1,2,6,6],f32>) {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %false = torch.constant.bool false
  %twos = torch.prim.ListConstruct %2, %2 : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %0, %0 : (!torch.int, !torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %1, %1 : (!torch.int, !torch.int) -> !torch.list<int>
  %y, %at = torch.aten.max_pool2d_with_indices %x, %twos, %twos, %zeros, %ones, %false : !torch.vtensor<[1,2,6,6],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,2,3,3],f32>, !torch.vtensor<[1,2,3,3],si64>
  %dx = torch.aten.max_pool2d_with_indices_backward %dy, %x, %twos, %twos, %zeros, %ones, %false, %at : !torch.vtensor<[1,2,3,3],f32>, !torch.vtensor<[1,2,6,6],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.vtensor<[1,2,3,3],si64> -> !torch.vtensor<[1,2,6,6],f32>
  return %y, %dx : !torch.vtensor<[1,2,3,3],f32>, !torch.vtensor<[1,2,6,6],f32>
}
