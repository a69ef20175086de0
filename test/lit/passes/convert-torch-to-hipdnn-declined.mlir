// RUN: hipgraft-opt %s --split-input-file --convert-torch-to-hipdnn | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-torch-to-hipdnn --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// What does not convert stays in torch form between casts, and a remark tells why.

// REMARK: 'torch.aten.cumsum' stays: hipDNN has no op for it
// CHECK-LABEL: func.func @no_op
// CHECK:         %[[T:.*]] = torch_c.from_builtin_tensor
// CHECK:         %[[C:.*]] = torch.aten.cumsum %[[T]]
// CHECK:         torch_c.to_builtin_tensor %[[C]]
func.func @no_op(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> {
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %y = torch.aten.cumsum %x, %int1, %none : !torch.vtensor<[4,8],f32>, !torch.int, !torch.none -> !torch.vtensor<[4,8],f32>
  return %y : !torch.vtensor<[4,8],f32>
}

// -----

// REMARK: 'torch.aten.add.Tensor' stays: operand 0 has integer elements
// CHECK-LABEL: func.func @integers
// CHECK:         torch.aten.add.Tensor
func.func @integers(%x: !torch.vtensor<[4],si64>) -> !torch.vtensor<[4],si64> {
  %int1 = torch.constant.int 1
  %y = torch.aten.add.Tensor %x, %x, %int1 : !torch.vtensor<[4],si64>, !torch.vtensor<[4],si64>, !torch.int -> !torch.vtensor<[4],si64>
  return %y : !torch.vtensor<[4],si64>
}

// -----

// REMARK: 'torch.aten.mul.Scalar' stays: operand 0 has integer elements
// CHECK-LABEL: func.func @fraction_of_integers
// CHECK:         torch.aten.mul.Scalar
func.func @fraction_of_integers(%x: !torch.vtensor<[4],si32>) -> !torch.vtensor<[4],si32> {
  %half = torch.constant.float 5.000000e-01
  %y = torch.aten.mul.Scalar %x, %half : !torch.vtensor<[4],si32>, !torch.float -> !torch.vtensor<[4],si32>
  return %y : !torch.vtensor<[4],si32>
}

// -----

// REMARK: 'torch.aten.view' stays: the result does not fit strides and needs a copy
// CHECK-LABEL: func.func @needs_copy
// CHECK:         %[[W:.*]] = "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 1, 8>}
// CHECK:         %[[T:.*]] = torch_c.from_builtin_tensor %[[W]]
// CHECK:         torch.aten.view %[[T]]
func.func @needs_copy(%x: !torch.vtensor<[4,8],si64>) -> !torch.vtensor<[32],si64> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int32 = torch.constant.int 32
  %t = torch.aten.transpose.int %x, %int0, %int1 : !torch.vtensor<[4,8],si64>, !torch.int, !torch.int -> !torch.vtensor<[8,4],si64>
  %shape = torch.prim.ListConstruct %int32 : (!torch.int) -> !torch.list<int>
  %v = torch.aten.view %t, %shape : !torch.vtensor<[8,4],si64>, !torch.list<int> -> !torch.vtensor<[32],si64>
  return %v : !torch.vtensor<[32],si64>
}

// -----

// REMARK: 'torch.aten.max.dim' stays: hipDNN's reductions give no index
// CHECK-LABEL: func.func @index_used
// CHECK:         torch.aten.max.dim
func.func @index_used(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4],si64> {
  %int1 = torch.constant.int 1
  %false = torch.constant.bool false
  %v, %i = torch.aten.max.dim %x, %int1, %false : !torch.vtensor<[4,8],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],f32>, !torch.vtensor<[4],si64>
  return %i : !torch.vtensor<[4],si64>
}

// -----

// REMARK: 'torch.aten.atan' stays: hipDNN has no mode for it
// REMARK: 'torch.aten.log1p' stays: hipDNN's exponential and logarithm lose all digits near 0
// CHECK-LABEL: func.func @no_mode
func.func @no_mode(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> {
  %y = torch.aten.atan %x : !torch.vtensor<[4,8],f32> -> !torch.vtensor<[4,8],f32>
  %z = torch.aten.log1p %y : !torch.vtensor<[4,8],f32> -> !torch.vtensor<[4,8],f32>
  return %z : !torch.vtensor<[4,8],f32>
}

// -----

// REMARK: 'torch.aten.max_pool2d' stays: hipDNN's windows have no dilation
// CHECK-LABEL: func.func @dilated_pooling
func.func @dilated_pooling(%x: !torch.vtensor<[1,4,6,6],f32>) -> !torch.vtensor<[1,4,4,4],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %false = torch.constant.bool false
  %zero = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %two = torch.prim.ListConstruct %int2, %int2 : (!torch.int, !torch.int) -> !torch.list<int>
  %y = torch.aten.max_pool2d %x, %two, %one, %zero, %two, %false : !torch.vtensor<[1,4,6,6],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,4,4,4],f32>
  return %y : !torch.vtensor<[1,4,4,4],f32>
}

// -----

// REMARK: 'torch.aten.constant_pad_nd' stays: hipDNN pads only what a convolution reads with zeros, or a pooling
// CHECK-LABEL: func.func @padding_with_other_readers
// CHECK:         torch.aten.constant_pad_nd
// CHECK:         "hipdnn.conv_fprop"
// CHECK-SAME:      post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>
func.func @padding_with_other_readers(%x: !torch.vtensor<[1,3,9,9],f32>, %w: !torch.vtensor<[4,3,3,3],f32>) -> (!torch.vtensor<[1,4,5,5],f32>, !torch.vtensor<[1,3,11,11],f32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %float0 = torch.constant.float 0.0
  %false = torch.constant.bool false
  %none = torch.constant.none
  %pads = torch.prim.ListConstruct %int0, %int2, %int1, %int1 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %p = torch.aten.constant_pad_nd %x, %pads, %float0 : !torch.vtensor<[1,3,9,9],f32>, !torch.list<int>, !torch.float -> !torch.vtensor<[1,3,11,11],f32>
  %s = torch.prim.ListConstruct %int2, %int2 : (!torch.int, !torch.int) -> !torch.list<int>
  %z = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %d = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %e = torch.prim.ListConstruct : () -> !torch.list<int>
  %y = torch.aten.convolution %p, %w, %none, %s, %z, %d, %false, %e, %int1 : !torch.vtensor<[1,3,11,11],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,4,5,5],f32>
  return %y, %p : !torch.vtensor<[1,4,5,5],f32>, !torch.vtensor<[1,3,11,11],f32>
}

// -----

// The torch dialect does not check what follows: constants out of range, and results that do not
// have the shape that the operands give them.

// REMARK: 'torch.aten.transpose.int' stays: dimensions [-4096] are out of range of rank 2
// CHECK-LABEL: func.func @no_such_dimension
// CHECK:         torch.aten.transpose.int
func.func @no_such_dimension(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[8,4],f32> {
  %int0 = torch.constant.int 0
  %int-4096 = torch.constant.int -4096
  %y = torch.aten.transpose.int %x, %int0, %int-4096 : !torch.vtensor<[4,8],f32>, !torch.int, !torch.int -> !torch.vtensor<[8,4],f32>
  return %y : !torch.vtensor<[8,4],f32>
}

// -----

// REMARK: 'torch.aten.sum.dim_IntList' stays: dimensions [1, 1] are not distinct
// CHECK-LABEL: func.func @same_dimension
// CHECK:         torch.aten.sum.dim_IntList
func.func @same_dimension(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4],f32> {
  %int1 = torch.constant.int 1
  %false = torch.constant.bool false
  %none = torch.constant.none
  %dims = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %y = torch.aten.sum.dim_IntList %x, %dims, %false, %none : !torch.vtensor<[4,8],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[4],f32>
  return %y : !torch.vtensor<[4],f32>
}

// -----

// REMARK: 'torch.aten.select.int' stays: index 4 is out of range of extent 4
// CHECK-LABEL: func.func @no_such_index
// CHECK:         torch.aten.select.int
func.func @no_such_index(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[8],f32> {
  %int0 = torch.constant.int 0
  %int4 = torch.constant.int 4
  %y = torch.aten.select.int %x, %int0, %int4 : !torch.vtensor<[4,8],f32>, !torch.int, !torch.int -> !torch.vtensor<[8],f32>
  return %y : !torch.vtensor<[8],f32>
}

// -----

// REMARK: 'torch.aten.slice.Tensor' stays: expected a positive step, but found 0
// CHECK-LABEL: func.func @no_step
// CHECK:         torch.aten.slice.Tensor
func.func @no_step(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[2,8],f32> {
  %int0 = torch.constant.int 0
  %int4 = torch.constant.int 4
  %y = torch.aten.slice.Tensor %x, %int0, %int0, %int4, %int0 : !torch.vtensor<[4,8],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[2,8],f32>
  return %y : !torch.vtensor<[2,8],f32>
}

// -----

// REMARK: 'torch.aten.narrow' stays: 3 to 5 are not in an extent of 4
// CHECK-LABEL: func.func @past_the_end
// CHECK:         torch.aten.narrow
func.func @past_the_end(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[2,8],f32> {
  %int0 = torch.constant.int 0
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %y = torch.aten.narrow %x, %int0, %int3, %int2 : !torch.vtensor<[4,8],f32>, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[2,8],f32>
  return %y : !torch.vtensor<[2,8],f32>
}

// -----

// REMARK: 'torch.aten.view' stays: the result does not fit strides and needs a copy
// CHECK-LABEL: func.func @more_elements
// CHECK:         torch.aten.view
func.func @more_elements(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,4],f32> {
  %int4 = torch.constant.int 4
  %shape = torch.prim.ListConstruct %int4, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %y = torch.aten.view %x, %shape : !torch.vtensor<[4,8],f32>, !torch.list<int> -> !torch.vtensor<[4,4],f32>
  return %y : !torch.vtensor<[4,4],f32>
}

// -----

// REMARK: 'torch.aten.t' stays: result 0 is 8x4 by the operands, not 4x8
// CHECK-LABEL: func.func @another_shape
// CHECK:         torch.aten.t
func.func @another_shape(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> {
  %y = torch.aten.t %x : !torch.vtensor<[4,8],f32> -> !torch.vtensor<[4,8],f32>
  return %y : !torch.vtensor<[4,8],f32>
}

// -----

// REMARK: 'torch.aten.index_select' stays: the indices do not rise evenly within the dimension
// REMARK: 'torch.aten.index_select' stays: the indices do not rise evenly within the dimension
// REMARK: 'torch.aten.index_select' stays: hipDNN has no op for it
// REMARK: 'torch.aten.gather' stays: each element has an index of its own
// CHECK-LABEL: func.func @indices
// CHECK-COUNT-3: torch.aten.index_select
// CHECK:         torch.aten.gather
func.func @indices(%x: !torch.vtensor<[6,4],f32>, %i: !torch.vtensor<[2],si64>) -> (!torch.vtensor<[3,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[1,2],f32>) {
  %int0 = torch.constant.int 0
  %false = torch.constant.bool false
  %uneven = torch.vtensor.literal(dense<[1, 3, 4]> : tensor<3xsi64>) : !torch.vtensor<[3],si64>
  %0 = torch.aten.index_select %x, %int0, %uneven : !torch.vtensor<[6,4],f32>, !torch.int, !torch.vtensor<[3],si64> -> !torch.vtensor<[3,4],f32>
  %outside = torch.vtensor.literal(dense<[5, 6]> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
  %1 = torch.aten.index_select %x, %int0, %outside : !torch.vtensor<[6,4],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor<[2,4],f32>
  %2 = torch.aten.index_select %x, %int0, %i : !torch.vtensor<[6,4],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor<[2,4],f32>
  %first = torch.vtensor.literal(dense<[[0, 1]]> : tensor<1x2xsi64>) : !torch.vtensor<[1,2],si64>
  %3 = torch.aten.gather %x, %int0, %first, %false : !torch.vtensor<[6,4],f32>, !torch.int, !torch.vtensor<[1,2],si64>, !torch.bool -> !torch.vtensor<[1,2],f32>
  return %0, %1, %2, %3 : !torch.vtensor<[3,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[1,2],f32>
}

// -----

// REMARK: 'torch.aten.as_strided' stays: its window ends at 9 of 8 elements
// REMARK: 'torch.aten.conv2d' stays: hipDNN's convolutions have a batch dimension
// CHECK-LABEL: func.func @window_and_batch
// CHECK:         torch.aten.as_strided
// CHECK:         torch.aten.conv2d
func.func @window_and_batch(%x: !torch.vtensor<[8],f32>, %i: !torch.vtensor<[2,3,3],f32>, %w: !torch.vtensor<[4,2,3,3],f32>) -> (!torch.vtensor<[3,3],f32>, !torch.vtensor<[4,1,1],f32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int3 = torch.constant.int 3
  %none = torch.constant.none
  %shape = torch.prim.ListConstruct %int3, %int3 : (!torch.int, !torch.int) -> !torch.list<int>
  %strides = torch.prim.ListConstruct %int3, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %v = torch.aten.as_strided %x, %shape, %strides, %int0 : !torch.vtensor<[8],f32>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[3,3],f32>
  %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %zero = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %y = torch.aten.conv2d %i, %w, %none, %one, %zero, %one, %int1 : !torch.vtensor<[2,3,3],f32>, !torch.vtensor<[4,2,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[4,1,1],f32>
  return %v, %y : !torch.vtensor<[3,3],f32>, !torch.vtensor<[4,1,1],f32>
}

// -----

// Nothing checks the operands and results of an op in the form of `torch.operator`.

// REMARK: 'torch.aten.relu' stays: it has no operand 0
// REMARK: 'torch.aten.view' stays: it has no result 0
// REMARK: 'torch.aten.relu' stays: it has 2 results, not 1
// REMARK: 'torch.aten.max_pool2d' stays: operand 1 is not a list of integers
// REMARK: 'torch.aten.scaled_dot_product_attention' stays: the heads have no elements
// REMARK: 'torch.aten.batch_norm' stays: a tensor of rank 1 has no channels
// CHECK-LABEL: func.func @signatures
// CHECK-COUNT-6: torch.operator "torch.aten.
func.func @signatures(%x: !torch.vtensor<[4],f32>, %i: !torch.vtensor<[1,2,4,4],f32>, %q: !torch.vtensor<[1,1,4,0],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[1,2,2,2],f32>, !torch.vtensor<[1,1,4,0],f32>, !torch.vtensor<[4],f32>) {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %zero = torch.constant.float 0.0
  %int1 = torch.constant.int 1
  %int4 = torch.constant.int 4
  %two = torch.constant.float 2.0
  %0 = torch.operator "torch.aten.relu"() : () -> !torch.vtensor<[4],f32>
  %shape = torch.prim.ListConstruct %int4 : (!torch.int) -> !torch.list<int>
  torch.operator "torch.aten.view"(%x, %shape) : (!torch.vtensor<[4],f32>, !torch.list<int>) -> ()
  %1:2 = torch.operator "torch.aten.relu"(%x) : (!torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
  %window = torch.prim.ListConstruct %two : (!torch.float) -> !torch.list<float>
  %ones = torch.prim.ListConstruct %int1 : (!torch.int) -> !torch.list<int>
  %empty = torch.prim.ListConstruct : () -> !torch.list<int>
  %2 = torch.operator "torch.aten.max_pool2d"(%i, %window, %empty, %ones, %ones, %false) : (!torch.vtensor<[1,2,4,4],f32>, !torch.list<float>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[1,2,2,2],f32>
  %3 = torch.operator "torch.aten.scaled_dot_product_attention"(%q, %q, %q, %none, %zero, %false, %none, %false) : (!torch.vtensor<[1,1,4,0],f32>, !torch.vtensor<[1,1,4,0],f32>, !torch.vtensor<[1,1,4,0],f32>, !torch.none, !torch.float, !torch.bool, !torch.none, !torch.bool) -> !torch.vtensor<[1,1,4,0],f32>
  %4 = torch.operator "torch.aten.batch_norm"(%x, %none, %none, %x, %x, %false, %zero, %zero, %false) : (!torch.vtensor<[4],f32>, !torch.none, !torch.none, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.bool, !torch.float, !torch.float, !torch.bool) -> !torch.vtensor<[4],f32>
  return %0, %1#0, %1#1, %2, %3, %4 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[1,2,2,2],f32>, !torch.vtensor<[1,1,4,0],f32>, !torch.vtensor<[4],f32>
}

// -----

// REMARK: 'torch.aten.view.dtype' stays: hipDNN does not reinterpret bits
// REMARK: 'torch.aten.view.dtype' stays: elements have another width
// CHECK-LABEL: func.func @bits
// CHECK-COUNT-2: torch.aten.view.dtype
func.func @bits(%x: !torch.vtensor<[4],si8>) -> (!torch.vtensor<[4],f8E4M3FN>, !torch.vtensor<[2],f16>) {
  %int5 = torch.constant.int 5
  %int24 = torch.constant.int 24
  %codes = torch.vtensor.literal(dense<[1, 2, 3, 4]> : tensor<4xsi8>) : !torch.vtensor<[4],si8>
  %0 = torch.aten.view.dtype %x, %int24 : !torch.vtensor<[4],si8>, !torch.int -> !torch.vtensor<[4],f8E4M3FN>
  %1 = torch.aten.view.dtype %codes, %int5 : !torch.vtensor<[4],si8>, !torch.int -> !torch.vtensor<[2],f16>
  return %0, %1 : !torch.vtensor<[4],f8E4M3FN>, !torch.vtensor<[2],f16>
}

// -----

// The bits are those of another type than before.

// CHECK-LABEL: func.func @other_bits
// CHECK:         torch.aten.view.dtype %{{.*}} -> !torch.vtensor<[4],f8E5M2>
func.func @other_bits(%x: !torch.vtensor<[4],f8E4M3FN>) -> !torch.vtensor<[4],f8E5M2> {
  %int1 = torch.constant.int 1
  %int23 = torch.constant.int 23
  %0 = torch.aten.view.dtype %x, %int1 : !torch.vtensor<[4],f8E4M3FN>, !torch.int -> !torch.vtensor<[4],si8>
  %1 = torch.aten.view.dtype %0, %int23 : !torch.vtensor<[4],si8>, !torch.int -> !torch.vtensor<[4],f8E5M2>
  return %1 : !torch.vtensor<[4],f8E5M2>
}
