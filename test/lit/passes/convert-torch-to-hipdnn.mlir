// RUN: hipgraft-opt %s --split-input-file --convert-torch-to-hipdnn | FileCheck %s
// Torch ops become hipDNN ops on builtin tensors; views become strided windows.

// CHECK-LABEL: func.func @convolution_bias
// CHECK-SAME:    (%[[X:.*]]: tensor<1x8x6x6xf16>, %[[W:.*]]: tensor<4x8x3x3xf16>, %[[B:.*]]: tensor<4xf16>)
// CHECK:         %[[Y:.*]] = "hipdnn.conv_fprop"(%[[X]], %[[W]])
// CHECK-SAME:      post_padding = array<i64: 1, 1>, pre_padding = array<i64: 1, 1>
// CHECK:         %[[BC:.*]] = "hipdnn.view"(%[[B]])
// CHECK-SAME:      -> tensor<1x4x1x1xf16>
// CHECK:         "hipdnn.pointwise"(%[[Y]], %[[BC]])
// CHECK-SAME:      mode = "add"
func.func @convolution_bias(%x: !torch.vtensor<[1,8,6,6],f16>, %w: !torch.vtensor<[4,8,3,3],f16>, %b: !torch.vtensor<[4],f16>) -> !torch.vtensor<[1,4,6,6],f16> {
  %int1 = torch.constant.int 1
  %false = torch.constant.bool false
  %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %none = torch.prim.ListConstruct  : () -> !torch.list<int>
  %y = torch.aten.convolution %x, %w, %b, %one, %one, %one, %false, %none, %int1 : !torch.vtensor<[1,8,6,6],f16>, !torch.vtensor<[4,8,3,3],f16>, !torch.vtensor<[4],f16>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,4,6,6],f16>
  return %y : !torch.vtensor<[1,4,6,6],f16>
}

// -----

// A stack of matrices times one matrix is one tall product, and what follows stays in its shape.

// CHECK-LABEL: func.func @tall_product
// CHECK:         %[[A:.*]] = "hipdnn.view"(%{{.*}}) {{.*}} -> tensor<10x4xf32>
// CHECK:         %[[C:.*]] = "hipdnn.matmul"(%[[A]], %{{.*}}) {{.*}} -> tensor<10x6xf32>
// CHECK:         %[[R:.*]] = "hipdnn.pointwise"(%[[C]]) {mode = "relu_fwd"} : (tensor<10x6xf32>) -> tensor<10x6xf32>
// CHECK:         %[[V:.*]] = "hipdnn.view"(%[[R]]) {{.*}} -> tensor<2x5x6xf32>
// CHECK:         return %[[V]]
func.func @tall_product(%a: !torch.vtensor<[2,5,4],f32>, %b: !torch.vtensor<[4,6],f32>) -> !torch.vtensor<[2,5,6],f32> {
  %c = torch.aten.matmul %a, %b : !torch.vtensor<[2,5,4],f32>, !torch.vtensor<[4,6],f32> -> !torch.vtensor<[2,5,6],f32>
  %r = torch.aten.relu %c : !torch.vtensor<[2,5,6],f32> -> !torch.vtensor<[2,5,6],f32>
  return %r : !torch.vtensor<[2,5,6],f32>
}

// -----

// One matrix times a stack of columns is the product of these, as rows, and its transpose.

// CHECK-LABEL: func.func @stack_of_columns
// CHECK-DAG:     %[[X:.*]] = "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 4, 1>} : (tensor<2x3x4x1xf32>) -> tensor<6x4xf32>
// CHECK-DAG:     %[[W:.*]] = "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
// CHECK:         %[[C:.*]] = "hipdnn.matmul"(%[[X]], %[[W]]) {{.*}} -> tensor<6x5xf32>
// CHECK:         "hipdnn.view"(%[[C]]) {{.*}} -> tensor<2x3x5x1xf32>
func.func @stack_of_columns(%w: !torch.vtensor<[5,4],f32>, %x: !torch.vtensor<[2,3,4,1],f32>) -> !torch.vtensor<[2,3,5,1],f32> {
  %c = torch.aten.matmul %w, %x : !torch.vtensor<[5,4],f32>, !torch.vtensor<[2,3,4,1],f32> -> !torch.vtensor<[2,3,5,1],f32>
  return %c : !torch.vtensor<[2,3,5,1],f32>
}

// -----

// Columns times rows are multiplied by element.

// CHECK-LABEL: func.func @columns_times_rows
// CHECK:         "hipdnn.pointwise"(%{{.*}}, %{{.*}}) {mode = "mul"} : (tensor<2x5x1xf16>, tensor<2x1x4xf16>) -> tensor<2x5x4xf16>
// CHECK-NOT:     hipdnn.matmul
func.func @columns_times_rows(%a: !torch.vtensor<[2,5,1],f16>, %b: !torch.vtensor<[2,1,4],f16>) -> !torch.vtensor<[2,5,4],f16> {
  %c = torch.aten.bmm %a, %b : !torch.vtensor<[2,5,1],f16>, !torch.vtensor<[2,1,4],f16> -> !torch.vtensor<[2,5,4],f16>
  return %c : !torch.vtensor<[2,5,4],f16>
}

// -----

// Columns that have a matrix each, and columns of bytes, whose products are wider, stay products.

// CHECK-LABEL: func.func @columns_of_matrices
// CHECK:         "hipdnn.matmul"{{.*}} : (tensor<2x5x4xf32>, tensor<2x4x1xf32>) -> tensor<2x5x1xf32>
// CHECK:         "hipdnn.matmul"{{.*}} : (tensor<2x5x1xi8>, tensor<2x1x4xi8>) -> tensor<2x5x4xi32>
func.func @columns_of_matrices(%a: !torch.vtensor<[2,5,4],f32>, %x: !torch.vtensor<[2,4,1],f32>, %b: !torch.vtensor<[2,5,1],si8>, %y: !torch.vtensor<[2,1,4],si8>) -> (!torch.vtensor<[2,5,1],f32>, !torch.vtensor<[2,5,4],si32>) {
  %c = torch.aten.bmm %a, %x : !torch.vtensor<[2,5,4],f32>, !torch.vtensor<[2,4,1],f32> -> !torch.vtensor<[2,5,1],f32>
  %d = torch.aten.bmm %b, %y : !torch.vtensor<[2,5,1],si8>, !torch.vtensor<[2,1,4],si8> -> !torch.vtensor<[2,5,4],si32>
  return %c, %d : !torch.vtensor<[2,5,1],f32>, !torch.vtensor<[2,5,4],si32>
}

// -----

// A slice of a transpose is one window on the argument; its offset counts elements.

// CHECK-LABEL: func.func @window
// CHECK:         "hipdnn.view"(%{{.*}}) {offset = 2 : i64, strides = array<i64: 1, 8>} : (tensor<4x8xf32>) -> tensor<3x4xf32>
// CHECK-NOT:     torch.
func.func @window(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[3,4],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int5 = torch.constant.int 5
  %t = torch.aten.transpose.int %x, %int0, %int1 : !torch.vtensor<[4,8],f32>, !torch.int, !torch.int -> !torch.vtensor<[8,4],f32>
  %s = torch.aten.slice.Tensor %t, %int0, %int2, %int5, %int1 : !torch.vtensor<[8,4],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[3,4],f32>
  %r = torch.aten.neg %s : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
  return %r : !torch.vtensor<[3,4],f32>
}

// -----

// Softmax is its two reductions and the arithmetic between them, in f32.

// CHECK-LABEL: func.func @softmax
// CHECK:         %[[M:.*]] = "hipdnn.reduction"(%[[X:.*]]) {mode = "MAX"} : (tensor<4x8xf16>) -> tensor<4x1xf32>
// CHECK:         %[[S:.*]] = "hipdnn.pointwise"(%[[X]], %[[M]]) {mode = "sub"}
// CHECK:         %[[E:.*]] = "hipdnn.pointwise"(%[[S]]) {mode = "exp"}
// CHECK:         %[[Z:.*]] = "hipdnn.reduction"(%[[E]]) {mode = "ADD"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
// CHECK:         "hipdnn.pointwise"(%[[E]], %[[Z]]) {mode = "div"} : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf16>
func.func @softmax(%x: !torch.vtensor<[4,8],f16>) -> !torch.vtensor<[4,8],f16> {
  %int-1 = torch.constant.int -1
  %none = torch.constant.none
  %y = torch.aten.softmax.int %x, %int-1, %none : !torch.vtensor<[4,8],f16>, !torch.int, !torch.none -> !torch.vtensor<[4,8],f16>
  return %y : !torch.vtensor<[4,8],f16>
}

// -----

// Normalisation, attention and clipped activations keep their parameters.

// CHECK-LABEL: func.func @norms
// CHECK:         %[[EPS:.*]] = arith.constant dense<9.99999974E-6> : tensor<1xf32>
// CHECK:         "hipdnn.layernorm"(%{{.*}}, %{{.*}}, %{{.*}}, %[[EPS]]) {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64
// CHECK:         "hipdnn.pointwise"(%{{.*}}) {mode = "relu_fwd", relu_lower_clip = {{0.0.*}}, relu_upper_clip = {{6.0.*}}}
func.func @norms(%x: !torch.vtensor<[2,3,8],f32>, %w: !torch.vtensor<[8],f32>, %b: !torch.vtensor<[8],f32>) -> !torch.vtensor<[2,3,8],f32> {
  %int8 = torch.constant.int 8
  %int0 = torch.constant.int 0
  %int6 = torch.constant.int 6
  %eps = torch.constant.float 1.000000e-05
  %shape = torch.prim.ListConstruct %int8 : (!torch.int) -> !torch.list<int>
  %y, %mean, %rstd = torch.aten.native_layer_norm %x, %shape, %w, %b, %eps : !torch.vtensor<[2,3,8],f32>, !torch.list<int>, !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>, !torch.float -> !torch.vtensor<[2,3,8],f32>, !torch.vtensor<[2,3,1],f32>, !torch.vtensor<[2,3,1],f32>
  %r = torch.aten.clamp %y, %int0, %int6 : !torch.vtensor<[2,3,8],f32>, !torch.int, !torch.int -> !torch.vtensor<[2,3,8],f32>
  return %r : !torch.vtensor<[2,3,8],f32>
}

// -----

// Reshapes that strides cannot say copy their operand into row-major order first, once.

// CHECK-LABEL: func.func @copies
// CHECK:         %[[W:.*]] = "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 1, 8>}
// CHECK:         %[[C:.*]] = "hipdnn.pointwise"(%[[W]]) {mode = "identity"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK-NOT:     "hipdnn.pointwise"
// CHECK-DAG:     "hipdnn.view"(%[[C]]) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<32xf32>
// CHECK-DAG:     "hipdnn.view"(%[[C]]) {offset = 0 : i64, strides = array<i64: 16, 1>} : (tensor<8x4xf32>) -> tensor<2x16xf32>
func.func @copies(%x: !torch.vtensor<[4,8],f32>) -> (!torch.vtensor<[32],f32>, !torch.vtensor<[2,16],f32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int32 = torch.constant.int 32
  %t = torch.aten.transpose.int %x, %int0, %int1 : !torch.vtensor<[4,8],f32>, !torch.int, !torch.int -> !torch.vtensor<[8,4],f32>
  %shape = torch.prim.ListConstruct %int32 : (!torch.int) -> !torch.list<int>
  %v = torch.aten.view %t, %shape : !torch.vtensor<[8,4],f32>, !torch.list<int> -> !torch.vtensor<[32],f32>
  %int2 = torch.constant.int 2
  %int16 = torch.constant.int 16
  %rows = torch.prim.ListConstruct %int2, %int16 : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.view %t, %rows : !torch.vtensor<[8,4],f32>, !torch.list<int> -> !torch.vtensor<[2,16],f32>
  return %v, %r : !torch.vtensor<[32],f32>, !torch.vtensor<[2,16],f32>
}

// -----

// Constants are copied at compile time.

// CHECK-LABEL: func.func @copies_constants
// CHECK:         %[[C:.*]] = arith.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]>
// CHECK:         "hipdnn.view"(%[[C]]) {offset = 0 : i64, strides = array<i64: 1>}
func.func @copies_constants() -> !torch.vtensor<[4],f32> {
  %w = torch.vtensor.literal(dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>) : !torch.vtensor<[2,2],f32>
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int4 = torch.constant.int 4
  %t = torch.aten.transpose.int %w, %int0, %int1 : !torch.vtensor<[2,2],f32>, !torch.int, !torch.int -> !torch.vtensor<[2,2],f32>
  %shape = torch.prim.ListConstruct %int4 : (!torch.int) -> !torch.list<int>
  %v = torch.aten.view %t, %shape : !torch.vtensor<[2,2],f32>, !torch.list<int> -> !torch.vtensor<[4],f32>
  return %v : !torch.vtensor<[4],f32>
}

// -----

// ONNX has no `any`: what it writes is the largest of booleans as integers.

// CHECK-LABEL: func.func @any_as_maximum
// CHECK-SAME:    (%[[X:.*]]: tensor<3x4xi1>)
// CHECK:         %[[N:.*]] = "hipdnn.pointwise"(%[[X]]) {mode = "identity"} : {{.*}} -> tensor<3x4xf32>
// CHECK:         %[[S:.*]] = "hipdnn.reduction"(%[[N]]) {mode = "ADD"} : {{.*}} -> tensor<1x1xf32>
// CHECK:         "hipdnn.pointwise"(%[[S]], %{{.*}}) {mode = "cmp_neq"}
func.func @any_as_maximum(%x: !torch.vtensor<[3,4],i1>) -> !torch.vtensor<[],i1> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int4 = torch.constant.int 4
  %int11 = torch.constant.int 11
  %false = torch.constant.bool false
  %none = torch.constant.none
  %i = torch.aten.to.dtype %x, %int4, %false, %false, %none : !torch.vtensor<[3,4],i1>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[3,4],si64>
  %rows, %0 = torch.aten.max.dim %i, %int1, %false : !torch.vtensor<[3,4],si64>, !torch.int, !torch.bool -> !torch.vtensor<[3],si64>, !torch.vtensor<[3],si64>
  %all, %1 = torch.aten.max.dim %rows, %int0, %false : !torch.vtensor<[3],si64>, !torch.int, !torch.bool -> !torch.vtensor<[],si64>, !torch.vtensor<[],si64>
  %y = torch.aten.to.dtype %all, %int11, %false, %false, %none : !torch.vtensor<[],si64>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[],i1>
  return %y : !torch.vtensor<[],i1>
}

// -----

// Zeros that only a convolution reads become its padding, of each end by itself.

// CHECK-LABEL: func.func @padded_convolution
// CHECK-SAME:    (%[[X:.*]]: tensor<1x3x9x9xf32>, %[[W:.*]]: tensor<4x3x3x3xf32>)
// CHECK-NEXT:    "hipdnn.conv_fprop"(%[[X]], %[[W]])
// CHECK-SAME:      post_padding = array<i64: 1, 2>, pre_padding = array<i64: 1, 0>
func.func @padded_convolution(%x: !torch.vtensor<[1,3,9,9],f32>, %w: !torch.vtensor<[4,3,3,3],f32>) -> !torch.vtensor<[1,4,5,5],f32> {
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
  return %y : !torch.vtensor<[1,4,5,5],f32>
}

// -----

// A window over all of a map is a reduction, unless the map has one element.

// CHECK-LABEL: func.func @average_of_one_element
// CHECK-NEXT:    "hipdnn.resample_fwd"(%{{.*}}) {{{.*}}resample_mode = "AVGPOOL_EXCLUDE_PADDING"
func.func @average_of_one_element(%x: !torch.vtensor<[1,4,1,1],f32>) -> !torch.vtensor<[1,4,1,1],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %false = torch.constant.bool false
  %true = torch.constant.bool true
  %none = torch.constant.none
  %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %zero = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %y = torch.aten.avg_pool2d %x, %one, %one, %zero, %false, %true, %none : !torch.vtensor<[1,4,1,1],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[1,4,1,1],f32>
  return %y : !torch.vtensor<[1,4,1,1],f32>
}

// -----

// A scalar beside a tensor of no dimensions is one, too.

// CHECK-LABEL: func.func @mean_of_all
// CHECK:         %[[SUM:.*]] = "hipdnn.reduction"(%{{.*}}) {mode = "ADD"} : {{.*}} -> tensor<1x1xf32>
// CHECK:         %[[MEAN:.*]] = "hipdnn.pointwise"(%[[SUM]], %{{.*}}) {mode = "div"}
// CHECK-NEXT:    %[[Y:.*]] = "hipdnn.view"(%[[MEAN]]) {{.*}} -> tensor<f32>
// CHECK-NEXT:    return %[[Y]]
func.func @mean_of_all(%x: !torch.vtensor<[24,40],f32>) -> !torch.vtensor<[],f32> {
  %none = torch.constant.none
  %count = torch.constant.int 960
  %sum = torch.aten.sum %x, %none : !torch.vtensor<[24,40],f32>, !torch.none -> !torch.vtensor<[],f32>
  %y = torch.aten.div.Scalar %sum, %count : !torch.vtensor<[],f32>, !torch.int -> !torch.vtensor<[],f32>
  return %y : !torch.vtensor<[],f32>
}

// -----

// Two paddings of one dimension.

// CHECK-LABEL: func.func @rank_of_padding
// CHECK:         torch.aten.avg_pool1d
func.func @rank_of_padding(%x: !torch.vtensor<[1,2,8],f32>) -> !torch.vtensor<[1,2,7],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %false = torch.constant.bool false
  %true = torch.constant.bool true
  %k = torch.prim.ListConstruct %int2 : (!torch.int) -> !torch.list<int>
  %s = torch.prim.ListConstruct %int1 : (!torch.int) -> !torch.list<int>
  %p = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.avg_pool1d %x, %k, %s, %p, %false, %true : !torch.vtensor<[1,2,8],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.bool -> !torch.vtensor<[1,2,7],f32>
  return %0 : !torch.vtensor<[1,2,7],f32>
}

// -----

// Padding by nothing is no op, whoever reads it.

// CHECK-LABEL: func.func @padded_by_nothing
// CHECK-NOT:     torch.aten.constant_pad_nd
// CHECK:         "hipdnn.pointwise"(%{{.*}}) {mode = "tanh_fwd"}
func.func @padded_by_nothing(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> {
  %int0 = torch.constant.int 0
  %float0 = torch.constant.float 0.0
  %pads = torch.prim.ListConstruct %int0, %int0, %int0, %int0 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %p = torch.aten.constant_pad_nd %x, %pads, %float0 : !torch.vtensor<[4,8],f32>, !torch.list<int>, !torch.float -> !torch.vtensor<[4,8],f32>
  %t = torch.aten.tanh %p : !torch.vtensor<[4,8],f32> -> !torch.vtensor<[4,8],f32>
  return %t : !torch.vtensor<[4,8],f32>
}

// -----

// Constant indices that rise evenly are windows.

// CHECK-LABEL: func.func @constant_indices
// CHECK-DAG:     "hipdnn.view"(%arg0) {offset = 4 : i64, strides = array<i64: 8, 1>} : (tensor<6x4xf32>) -> tensor<2x4xf32>
// CHECK-DAG:     "hipdnn.view"(%arg0) {offset = 3 : i64, strides = array<i64: 4, 0>} : (tensor<6x4xf32>) -> tensor<6x3xf32>
// CHECK-DAG:     "hipdnn.view"(%arg0) {offset = 8 : i64, strides = array<i64: {{[0-9]+}}, 4, 1>} : (tensor<6x4xf32>) -> tensor<1x3x4xf32>
// CHECK-DAG:     "hipdnn.view"(%arg1) {offset = 1 : i64, strides = array<i64: 1>} : (tensor<5xf32>) -> tensor<3xf32>
// CHECK-NOT:     torch.aten
func.func @constant_indices(%x: !torch.vtensor<[6,4],f32>, %y: !torch.vtensor<[5],f32>) -> (!torch.vtensor<[2,4],f32>, !torch.vtensor<[6,3],f32>, !torch.vtensor<[1,3,4],f32>, !torch.vtensor<[3],f32>) {
  %int0 = torch.constant.int 0
  %int-1 = torch.constant.int -1
  %false = torch.constant.bool false
  %spaced = torch.vtensor.literal(dense<[1, 3]> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
  %0 = torch.aten.index_select %x, %int0, %spaced : !torch.vtensor<[6,4],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor<[2,4],f32>
  %equal = torch.vtensor.literal(dense<3> : tensor<3xsi64>) : !torch.vtensor<[3],si64>
  %1 = torch.aten.index_select %x, %int-1, %equal : !torch.vtensor<[6,4],f32>, !torch.int, !torch.vtensor<[3],si64> -> !torch.vtensor<[6,3],f32>
  %rows = torch.vtensor.literal(dense<[[2, 3, 4]]> : tensor<1x3xsi64>) : !torch.vtensor<[1,3],si64>
  %2 = torch.aten.embedding %x, %rows, %int-1, %false, %false : !torch.vtensor<[6,4],f32>, !torch.vtensor<[1,3],si64>, !torch.int, !torch.bool, !torch.bool -> !torch.vtensor<[1,3,4],f32>
  %next = torch.vtensor.literal(dense<[1, 2, 3]> : tensor<3xsi64>) : !torch.vtensor<[3],si64>
  %3 = torch.aten.gather %y, %int0, %next, %false : !torch.vtensor<[5],f32>, !torch.int, !torch.vtensor<[3],si64>, !torch.bool -> !torch.vtensor<[3],f32>
  return %0, %1, %2, %3 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[6,3],f32>, !torch.vtensor<[1,3,4],f32>, !torch.vtensor<[3],f32>
}

// -----

// A gather is a view if only the position in the gathered dimension decides the index.

// CHECK-LABEL: func.func @gathered
// CHECK-DAG:     "hipdnn.view"(%arg0) {offset = 4 : i64, strides = array<i64: 8, 1>} : (tensor<6x4xf32>) -> tensor<2x3xf32>
// CHECK-DAG:     "hipdnn.view"(%arg0) {offset = 2 : i64, strides = array<i64: 4, 0>} : (tensor<6x4xf32>) -> tensor<6x5xf32>
// CHECK-NOT:     torch.aten
func.func @gathered(%x: !torch.vtensor<[6,4],f32>) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[6,5],f32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %false = torch.constant.bool false
  %rows = torch.vtensor.literal(dense<[[1, 1, 1], [3, 3, 3]]> : tensor<2x3xsi64>) : !torch.vtensor<[2,3],si64>
  %0 = torch.aten.gather %x, %int0, %rows, %false : !torch.vtensor<[6,4],f32>, !torch.int, !torch.vtensor<[2,3],si64>, !torch.bool -> !torch.vtensor<[2,3],f32>
  %column = torch.vtensor.literal(dense<2> : tensor<6x5xsi64>) : !torch.vtensor<[6,5],si64>
  %1 = torch.aten.gather %x, %int1, %column, %false : !torch.vtensor<[6,4],f32>, !torch.int, !torch.vtensor<[6,5],si64>, !torch.bool -> !torch.vtensor<[6,5],f32>
  return %0, %1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[6,5],f32>
}

// -----

// A window of as_strided is on the storage of its operand.

// CHECK-LABEL: func.func @as_strided
// CHECK:         %[[V:.*]] = "hipdnn.view"(%arg0) {offset = 3 : i64, strides = array<i64: 2, 1>} : (tensor<4x6xf32>) -> tensor<3x4xf32>
// CHECK:         "hipdnn.pointwise"(%[[V]]) {mode = "relu_fwd"}
func.func @as_strided(%x: !torch.vtensor<[4,6],f32>) -> !torch.vtensor<[3,4],f32> {
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %int4 = torch.constant.int 4
  %shape = torch.prim.ListConstruct %int3, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %strides = torch.prim.ListConstruct %int2, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %v = torch.aten.as_strided %x, %shape, %strides, %int3 : !torch.vtensor<[4,6],f32>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[3,4],f32>
  %y = torch.aten.relu %v : !torch.vtensor<[3,4],f32> -> !torch.vtensor<[3,4],f32>
  return %y : !torch.vtensor<[3,4],f32>
}

// -----

// Signed bytes are multiplied, and what follows is arithmetic on 32 bits. The remainder has the
// divisor's sign.

// CHECK-LABEL: func.func @bytes
// CHECK:         %[[P:.*]] = "hipdnn.matmul"(%{{.*}}, %{{.*}}) : (tensor<4x8xi8>, tensor<8x4xi8>) -> tensor<4x4xi32>
// CHECK:         %[[S:.*]] = "hipdnn.pointwise"(%[[P]], %{{.*}}) {mode = "sub"} : (tensor<4x4xi32>, tensor<1x1xi32>) -> tensor<4x4xi32>
// CHECK:         %[[R:.*]] = "hipdnn.pointwise"(%[[S]], %[[D:.*]]) {mode = "mod"}
// CHECK:         %[[Q:.*]] = "hipdnn.pointwise"(%[[R]], %[[D]]) {mode = "add"}
// CHECK:         %[[M:.*]] = "hipdnn.pointwise"(%[[Q]], %[[D]]) {mode = "mod"}
// CHECK:         "hipdnn.pointwise"(%[[M]]) {mode = "identity"} : (tensor<4x4xi32>) -> tensor<4x4xi8>
func.func @bytes(%a: !torch.vtensor<[4,8],si8>, %b: !torch.vtensor<[8,4],si8>) -> !torch.vtensor<[4,4],si8> {
  %int1 = torch.constant.int 1
  %int256 = torch.constant.int 256
  %false = torch.constant.bool false
  %none = torch.constant.none
  %zero = torch.vtensor.literal(dense<3> : tensor<si32>) : !torch.vtensor<[],si32>
  %0 = torch.aten.mm %a, %b : !torch.vtensor<[4,8],si8>, !torch.vtensor<[8,4],si8> -> !torch.vtensor<[4,4],si32>
  %1 = torch.aten.sub.Tensor %0, %zero, %int1 : !torch.vtensor<[4,4],si32>, !torch.vtensor<[],si32>, !torch.int -> !torch.vtensor<[4,4],si32>
  %2 = torch.aten.remainder.Scalar %1, %int256 : !torch.vtensor<[4,4],si32>, !torch.int -> !torch.vtensor<[4,4],si32>
  %3 = torch.aten.to.dtype %2, %int1, %false, %false, %none : !torch.vtensor<[4,4],si32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[4,4],si8>
  return %3 : !torch.vtensor<[4,4],si8>
}

// -----

// The sum with a large divisor would overflow.

// CHECK-LABEL: func.func @large_divisor
// CHECK:         torch.aten.remainder.Scalar
func.func @large_divisor(%a: !torch.vtensor<[4],si32>) -> !torch.vtensor<[4],si32> {
  %large = torch.constant.int 2000000000
  %0 = torch.aten.remainder.Scalar %a, %large : !torch.vtensor<[4],si32>, !torch.int -> !torch.vtensor<[4],si32>
  return %0 : !torch.vtensor<[4],si32>
}

// -----

// Constants get another element type, and what is reinterpreted twice stays what it was.

// CHECK-LABEL: func.func @bits
// CHECK-SAME:    (%[[X:.*]]: tensor<2x2xf32>)
// CHECK-NEXT:    %[[BITS:.*]] = arith.constant dense<{{\[\[}}1.000000e+00, -1.000000e+00], [4.480000e+02, 0.000000e+00]]> : tensor<2x2xf8E4M3FN>
// CHECK-NEXT:    %[[W:.*]] = "hipdnn.pointwise"(%[[BITS]]) {mode = "identity"} : (tensor<2x2xf8E4M3FN>) -> tensor<2x2xf32>
// CHECK-NEXT:    %[[SMALL:.*]] = "hipdnn.pointwise"(%[[X]]) {mode = "identity"} : (tensor<2x2xf32>) -> tensor<2x2xf8E4M3FN>
// CHECK-NEXT:    %[[WIDE:.*]] = "hipdnn.pointwise"(%[[SMALL]]) {mode = "identity"} : (tensor<2x2xf8E4M3FN>) -> tensor<2x2xf32>
// CHECK-NEXT:    return %[[W]], %[[WIDE]]
func.func @bits(%x: !torch.vtensor<[2,2],f32>) -> (!torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32>) {
  %int1 = torch.constant.int 1
  %int6 = torch.constant.int 6
  %int24 = torch.constant.int 24
  %false = torch.constant.bool false
  %none = torch.constant.none
  %codes = torch.vtensor.literal(dense<[[56, -72], [126, 0]]> : tensor<2x2xsi8>) : !torch.vtensor<[2,2],si8>
  %0 = torch.aten.view.dtype %codes, %int24 : !torch.vtensor<[2,2],si8>, !torch.int -> !torch.vtensor<[2,2],f8E4M3FN>
  %1 = torch.aten.to.dtype %0, %int6, %false, %false, %none : !torch.vtensor<[2,2],f8E4M3FN>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2,2],f32>
  %2 = torch.aten.to.dtype %x, %int24, %false, %false, %none : !torch.vtensor<[2,2],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2,2],f8E4M3FN>
  %3 = torch.aten.view.dtype %2, %int1 : !torch.vtensor<[2,2],f8E4M3FN>, !torch.int -> !torch.vtensor<[2,2],si8>
  %4 = torch.aten.view.dtype %3, %int24 : !torch.vtensor<[2,2],si8>, !torch.int -> !torch.vtensor<[2,2],f8E4M3FN>
  %5 = torch.aten.to.dtype %4, %int6, %false, %false, %none : !torch.vtensor<[2,2],f8E4M3FN>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2,2],f32>
  return %1, %5 : !torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32>
}

// -----

// Pooling does padding itself; batch and channels are padded by nothing.

// CHECK-LABEL: func.func @padded_pooling
// CHECK-NOT:     torch.aten.constant_pad_nd
// CHECK:         "hipdnn.resample_fwd"
// CHECK-SAME:        padding_mode = "NEG_INF_PAD", post_padding = array<i64: 1, 0>, pre_padding = array<i64: 1, 0>
// CHECK:         "hipdnn.resample_fwd"
// CHECK-SAME:        padding_mode = "ZERO_PAD", post_padding = array<i64: 2, 1>, pre_padding = array<i64: 1, 2>, resample_mode = "AVGPOOL_INCLUDE_PADDING"
func.func @padded_pooling(%x: !torch.vtensor<[1,4,6,7],f32>) -> (!torch.vtensor<[1,4,3,3],f32>, !torch.vtensor<[1,4,8,9],f32>) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %three = torch.constant.int 3
  %false = torch.constant.bool false
  %true = torch.constant.bool true
  %none = torch.constant.none
  %lowest = torch.constant.float 0xFFF0000000000000
  %float0 = torch.constant.float 0.000000e+00
  %threes = torch.prim.ListConstruct %three, %three : (!torch.int, !torch.int) -> !torch.list<int>
  %twos = torch.prim.ListConstruct %two, %two : (!torch.int, !torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %zero, %zero : (!torch.int, !torch.int) -> !torch.list<int>
  %rows = torch.prim.ListConstruct %zero, %zero, %one, %one, %zero, %zero, %zero, %zero : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.constant_pad_nd %x, %rows, %lowest : !torch.vtensor<[1,4,6,7],f32>, !torch.list<int>, !torch.float -> !torch.vtensor<[1,4,8,7],f32>
  %1 = torch.aten.max_pool2d %0, %threes, %twos, %zeros, %ones, %false : !torch.vtensor<[1,4,8,7],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,4,3,3],f32>
  %both = torch.prim.ListConstruct %one, %zero, %zero, %one : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %2 = torch.aten.constant_pad_nd %x, %both, %float0 : !torch.vtensor<[1,4,6,7],f32>, !torch.list<int>, !torch.float -> !torch.vtensor<[1,4,7,8],f32>
  %3 = torch.aten.avg_pool2d %2, %twos, %ones, %ones, %false, %true, %none : !torch.vtensor<[1,4,7,8],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[1,4,8,9],f32>
  return %1, %3 : !torch.vtensor<[1,4,3,3],f32>, !torch.vtensor<[1,4,8,9],f32>
}

// -----

// An average of one spatial dim has no divisor.

// CHECK-LABEL: func.func @padded_rows
// CHECK-NOT:     torch.aten.constant_pad_nd
// CHECK:         "hipdnn.resample_fwd"
// CHECK-SAME:        post_padding = array<i64: 1>, pre_padding = array<i64: 2>
func.func @padded_rows(%x: !torch.vtensor<[1,4,6],f32>) -> !torch.vtensor<[1,4,8],f32> {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %false = torch.constant.bool false
  %true = torch.constant.bool true
  %float0 = torch.constant.float 0.000000e+00
  %twos = torch.prim.ListConstruct %two : (!torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %one : (!torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
  %pads = torch.prim.ListConstruct %two, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.constant_pad_nd %x, %pads, %float0 : !torch.vtensor<[1,4,6],f32>, !torch.list<int>, !torch.float -> !torch.vtensor<[1,4,9],f32>
  %1 = torch.aten.avg_pool1d %0, %twos, %ones, %zeros, %false, %true : !torch.vtensor<[1,4,9],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.bool -> !torch.vtensor<[1,4,8],f32>
  return %1 : !torch.vtensor<[1,4,8],f32>
}
