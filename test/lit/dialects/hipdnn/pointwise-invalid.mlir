// RUN: hipgraft-opt %s --verify-diagnostics

// The rules of pointwise ops, reductions and resampling, each broken once.

func.func @arity_binary(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 2 operands in mode 'add', but found 1}}
  %0 = "hipdnn.pointwise"(%a) {mode = "add"}
    : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @arity_unary(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 1 operands in mode 'exp', but found 2}}
  %0 = "hipdnn.pointwise"(%a, %b) {mode = "exp"}
    : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @arity_select(%a: tensor<4xi1>, %b: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 3 operands in mode 'binary_select', but found 2}}
  %0 = "hipdnn.pointwise"(%a, %b) {mode = "binary_select"}
    : (tensor<4xi1>, tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @mode(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected attribute 'mode' to be PointwiseMode, but found "relu"}}
  // expected-note @below {{did you mean 'relu_fwd'? expected one of abs, add, }}
  %0 = "hipdnn.pointwise"(%a) {mode = "relu"}
    : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @broadcast(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op operands 2x3, 2x4 do not broadcast}}
  %0 = "hipdnn.pointwise"(%a, %b) {mode = "mul"}
    : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

func.func @result_shape(%a: tensor<2x3xf32>, %b: tensor<1x3xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected shape 2x3 of 'out_0', but found 1x3}}
  %0 = "hipdnn.pointwise"(%a, %b) {mode = "mul"}
    : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
  return
}

func.func @clip(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op attribute 'relu_upper_clip' means nothing in mode 'tanh_fwd'}}
  %0 = "hipdnn.pointwise"(%a) {mode = "tanh_fwd", relu_upper_clip = 6.0 : f32}
    : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @no_axis(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op requires attribute 'axis' in mode 'gen_index'}}
  %0 = "hipdnn.pointwise"(%a) {mode = "gen_index"}
    : (tensor<4xf32>) -> tensor<4xi32>
  return
}

func.func @axis(%a: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.pointwise' op expected 'axis' in [0, 1), but found 1}}
  %0 = "hipdnn.pointwise"(%a) {mode = "gen_index", axis = 1 : i64}
    : (tensor<4xf32>) -> tensor<4xi32>
  return
}

func.func @reduction_rank(%a: tensor<4x5xf32>) {
  // expected-error @below {{'hipdnn.reduction' op expected operand and result of one rank, but found 2 and 1}}
  %0 = "hipdnn.reduction"(%a) {mode = "ADD"}
    : (tensor<4x5xf32>) -> tensor<4xf32>
  return
}

func.func @reduction_extent(%a: tensor<4x6xf32>) {
  // expected-error @below {{'hipdnn.reduction' op expected extent 1 or 6 in dimension 1 of 'out', but found 4x2}}
  %0 = "hipdnn.reduction"(%a) {mode = "ADD"}
    : (tensor<4x6xf32>) -> tensor<4x2xf32>
  return
}

func.func @reduction_none(%a: tensor<4x6xf32>) {
  // expected-error @below {{'hipdnn.reduction' op reduces no dimension of 4x6}}
  %0 = "hipdnn.reduction"(%a) {mode = "ADD"}
    : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

func.func @reduction_mode(%a: tensor<4x6xf32>) {
  // expected-error @below {{'hipdnn.reduction' op expected attribute 'mode' to be one of ADD, MUL, MIN, MAX, AMAX, AVG, NORM1, NORM2, MUL_NO_ZEROS, but found "add"}}
  %0 = "hipdnn.reduction"(%a) {mode = "add"}
    : (tensor<4x6xf32>) -> tensor<4x1xf32>
  return
}

func.func @resample_window(%a: tensor<1x4x6x6xf32>) {
  // expected-error @below {{'hipdnn.resample_fwd' op expected 2 values in 'window', but found 1}}
  %0 = "hipdnn.resample_fwd"(%a) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, window = array<i64: 2>,
    resample_mode = "MAXPOOL", padding_mode = "ZERO_PAD"}
    : (tensor<1x4x6x6xf32>) -> tensor<1x4x3x3xf32>
  return
}

func.func @resample_rank(%a: tensor<4x6xf32>) {
  // expected-error @below {{'hipdnn.resample_fwd' op expected 'x' of rank 3 or more, but found rank 2}}
  %0 = "hipdnn.resample_fwd"(%a) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, window = array<i64: 2, 2>,
    resample_mode = "MAXPOOL", padding_mode = "ZERO_PAD"}
    : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return
}

func.func @resample_result(%a: tensor<1x4x6x6xf32>) {
  // expected-error @below {{'hipdnn.resample_fwd' op expected shape 1x4x3x3 of 'y', but found 1x4x4x3}}
  %0 = "hipdnn.resample_fwd"(%a) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, window = array<i64: 2, 2>,
    resample_mode = "MAXPOOL", padding_mode = "ZERO_PAD"}
    : (tensor<1x4x6x6xf32>) -> tensor<1x4x4x3xf32>
  return
}

func.func @resample_index(%a: tensor<1x4x6x6xf32>) {
  // expected-error @below {{'hipdnn.resample_fwd' op expected result 'index' exactly with 'generate_index = true'}}
  %0 = "hipdnn.resample_fwd"(%a) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, window = array<i64: 2, 2>,
    resample_mode = "MAXPOOL", padding_mode = "ZERO_PAD", generate_index = true}
    : (tensor<1x4x6x6xf32>) -> tensor<1x4x3x3xf32>
  return
}

func.func @resample_average_index(%a: tensor<1x4x6x6xf32>) {
  // expected-error @below {{'hipdnn.resample_fwd' op yields no index in mode 'AVGPOOL_INCLUDE_PADDING'}}
  %0:2 = "hipdnn.resample_fwd"(%a) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>, stride = array<i64: 2, 2>, window = array<i64: 2, 2>,
  resample_mode = "AVGPOOL_INCLUDE_PADDING", padding_mode = "ZERO_PAD", generate_index = true}
    : (tensor<1x4x6x6xf32>) -> (tensor<1x4x3x3xf32>, tensor<1x4x3x3xi32>)
  return
}
