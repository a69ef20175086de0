// RUN: hipgraft-opt %s --split-input-file --allow-unregistered-dialect --verify-diagnostics --convert-migraphx-to-hipdnn

// What has no memory or no meaning is refused at its place.

// expected-error @+1 {{'func.func' op writing to tensors with broadcasts is unsupported}}
func.func @broadcast_result(%x: !migraphx.shaped<4x8xf32, 0x1>) -> !migraphx.shaped<4x8xf32, 0x1> {
  return %x : !migraphx.shaped<4x8xf32, 0x1>
}

// -----

// expected-error @+1 {{!migraphx.shaped type with smallest stride 2 has no supported in-memory layout, in !migraphx.shaped<4x8xf32, 16x2>}}
func.func @gaps(%x: !migraphx.shaped<4x8xf32, 16x2>) { return }

// -----

// expected-error @+1 {{!migraphx.shaped type can't be laid out in memory when the stride 6 at index 0 being smaller than the product of previous lengths 8}}
func.func @overlap(%x: !migraphx.shaped<4x8xf32, 6x1>) { return }

// -----

// expected-error @+1 {{when the stride 9 at index 0 does not evenly divide the previous stride 2}}
func.func @uneven(%x: !migraphx.shaped<4x4x2xf32, 9x2x1>) { return }

// -----

// expected-error @+1 {{!migraphx.shaped<?x8xf32, 8x1> has a dynamic shape}}
func.func @dynamic(%x: !migraphx.shaped<?x8xf32, 8x1>) { return }

// -----

func.func @rank(%x: !migraphx.shaped<2x4xf32, 4x1>) -> !migraphx.shaped<4xf32, 1> {
  // expected-error @+1 {{'migraphx.multibroadcast' op MultiBroadcastOp shouldn't reduce rank}}
  %0 = migraphx.multibroadcast %x {out_lens = [4]} : <2x4xf32, 4x1> -> <4xf32, 1>
  return %0 : !migraphx.shaped<4xf32, 1>
}

// -----

func.func @pooling_mode(%x: !migraphx.shaped<1x1x4x4xf32, 16x16x4x1>) -> !migraphx.shaped<1x1x2x2xf32, 4x4x2x1> {
  // expected-error @+1 {{'migraphx.pooling' op expected mode 'max', 'average' or 'lpnorm', but found 'median'}}
  %0 = migraphx.pooling %x {mode = "median", padding = [0, 0], stride = [2, 2], length = [2, 2]} : <1x1x4x4xf32, 16x16x4x1> -> <1x1x2x2xf32, 4x4x2x1>
  return %0 : !migraphx.shaped<1x1x2x2xf32, 4x4x2x1>
}

// -----

func.func @pooling_order(%x: !migraphx.shaped<1x1x4x4xf32, 16x16x4x1>) -> !migraphx.shaped<1x1x2x2xf32, 4x4x2x1> {
  // expected-error @+1 {{'migraphx.pooling' op expected 'lp_order' of 0 or more, but found -1}}
  %0 = migraphx.pooling %x {mode = "lpnorm", lp_order = -1 : i64, padding = [0, 0], stride = [2, 2], length = [2, 2]} : <1x1x4x4xf32, 16x16x4x1> -> <1x1x2x2xf32, 4x4x2x1>
  return %0 : !migraphx.shaped<1x1x2x2xf32, 4x4x2x1>
}

// -----

func.func @pooling_gaps(%x: !migraphx.shaped<1x1x4x4xf32, 16x16x4x1>) -> !migraphx.shaped<1x1x2x2xf32, 4x4x2x1> {
  // expected-error @+1 {{'migraphx.pooling' op hipDNN has no windows with gaps}}
  %0 = migraphx.pooling %x {mode = "max", dilations = [2, 2], padding = [0, 0], stride = [2, 2], length = [2, 2]} : <1x1x4x4xf32, 16x16x4x1> -> <1x1x2x2xf32, 4x4x2x1>
  return %0 : !migraphx.shaped<1x1x2x2xf32, 4x4x2x1>
}

// -----

func.func @pooling_shape(%x: !migraphx.shaped<1x1x4x4xf32, 16x16x4x1>) -> !migraphx.shaped<1x1x4x4xf32, 16x16x4x1> {
  // expected-error @+1 {{'migraphx.pooling' op expected 2 windows in spatial dimension 0, but its result has 4}}
  %0 = migraphx.pooling %x {mode = "max", padding = [0, 0], stride = [2, 2], length = [2, 2]} : <1x1x4x4xf32, 16x16x4x1> -> <1x1x4x4xf32, 16x16x4x1>
  return %0 : !migraphx.shaped<1x1x4x4xf32, 16x16x4x1>
}

// -----

func.func @convolution_shape(%x: !migraphx.shaped<1x4x6x6xf32, 144x36x6x1>, %w: !migraphx.shaped<4x4x3x3xf32, 36x9x3x1>) -> !migraphx.shaped<1x4x6x6xf32, 144x36x6x1> {
  // expected-error @+1 {{'hipdnn.conv_fprop' op expected shape 1x4x4x4 of 'y', but found 1x4x6x6}}
  %0 = migraphx.convolution %x, %w {padding = [0, 0, 0, 0], stride = [1, 1], dilation = [1, 1], group = 1 : i64} : <1x4x6x6xf32, 144x36x6x1>, <4x4x3x3xf32, 36x9x3x1> -> <1x4x6x6xf32, 144x36x6x1>
  return %0 : !migraphx.shaped<1x4x6x6xf32, 144x36x6x1>
}

// -----

func.func @kernel(%x: !migraphx.shaped<4xf32, 1>) -> !migraphx.shaped<4xf32, 1> {
  // expected-error @+1 {{'migraphx.code_object' op is a compiled kernel, which the module does not hold}}
  %0 = migraphx.code_object %x {kernel = "relu", globalSize = 64 : i64, localSize = 64 : i64} : <4xf32, 1> -> <4xf32, 1>
  return %0 : !migraphx.shaped<4xf32, 1>
}

// -----

func.func @no_return(%x: !migraphx.shaped<4xf32, 1>) -> !migraphx.shaped<4xf32, 1> {
  // expected-error @+1 {{expected 'func.return', but found 'test.end'}}
  "test.end"(%x) : (!migraphx.shaped<4xf32, 1>) -> ()
}
