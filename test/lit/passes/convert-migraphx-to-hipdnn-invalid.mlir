// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics --convert-migraphx-to-hipdnn

// What has no memory or no meaning is refused at its place.

// expected-error @+1 {{'func.func' op writing to tensors with long strides or broadcasts is unsupported}}
func.func @broadcast_result(%x: !migraphx.shaped<4x8xf32, 0x1>) -> !migraphx.shaped<4x8xf32, 0x1> {
  return %x : !migraphx.shaped<4x8xf32, 0x1>
}

// -----

// expected-error @+1 {{!migraphx.shaped<4x8xf32, 16x2> with smallest stride 2 has no supported in-memory layout}}
func.func @gaps(%x: !migraphx.shaped<4x8xf32, 16x2>) { return }

// -----

// expected-error @+1 {{!migraphx.shaped<4x8xf32, 6x1> can't be laid out in memory when the stride 6 at index 0 being smaller than the product of previous lengths 8}}
func.func @overlap(%x: !migraphx.shaped<4x8xf32, 6x1>) { return }

// -----

// expected-error @+1 {{does not evenly divide the previous stride}}
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

func.func @unsupported(%x: !migraphx.shaped<1x1x4x4xf32, 16x16x4x1>) -> !migraphx.shaped<1x1x2x2xf32, 4x4x2x1> {
  // expected-error @+1 {{'migraphx.pooling' op hipDNN has no op for it}}
  %0 = migraphx.pooling %x {mode = "max", padding = [0, 0], stride = [2, 2], length = [2, 2]} : <1x1x4x4xf32, 16x16x4x1> -> <1x1x2x2xf32, 4x4x2x1>
  return %0 : !migraphx.shaped<1x1x2x2xf32, 4x4x2x1>
}
