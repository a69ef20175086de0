// REQUIRES: slow
// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics \
// RUN:   --hipgraft-compile-dynamic=target=gfx942
// What a host program of launches cannot do is an error that names the other way.

// The extent of the result depends on values, which only a kernel knows.

func.func @nonzero(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?,1],si64> {
  // expected-error @below {{'torch.aten.nonzero' op has a result whose shape depends on values of tensors}}
  %0 = torch.aten.nonzero %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?,1],si64>
  return %0 : !torch.vtensor<[?,1],si64>
}

// -----

func.func @cut(%x: !torch.vtensor<[?,4],f32>, %n: !torch.vtensor<[],si64>)
    -> !torch.vtensor<[?,4],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %count = torch.aten.item %n : !torch.vtensor<[],si64> -> !torch.int
  %end = torch.aten.add.int %count, %int1 : !torch.int, !torch.int -> !torch.int
  // expected-error @below {{'torch.aten.slice.Tensor' op has a result whose shape depends on values of tensors}}
  %0 = torch.aten.slice.Tensor %x, %int0, %int0, %end, %int1
    : !torch.vtensor<[?,4],f32>, !torch.int, !torch.int, !torch.int, !torch.int
    -> !torch.vtensor<[?,4],f32>
  return %0 : !torch.vtensor<[?,4],f32>
}

// -----

// A list of extents.

func.func @repeat(%x: !torch.vtensor<[?],f32>, %n: !torch.vtensor<[],si64>)
    -> !torch.vtensor<[?,?],f32> {
  %int0 = torch.constant.int 0
  %size = torch.aten.size.int %x, %int0 : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %count = torch.aten.item %n : !torch.vtensor<[],si64> -> !torch.int
  %extents = torch.prim.ListConstruct %count, %size : (!torch.int, !torch.int) -> !torch.list<int>
  // expected-error @below {{'torch.aten.broadcast_to' op has a result whose shape depends on values of tensors}}
  %0 = torch.aten.broadcast_to %x, %extents
    : !torch.vtensor<[?],f32>, !torch.list<int> -> !torch.vtensor<[?,?],f32>
  return %0 : !torch.vtensor<[?,?],f32>
}

// -----

// What the compiler cannot do otherwise is told at the function, with the other way.

// expected-error @below {{'func.func' op '@unknown' has dynamic shapes and does not compile: failed to legalize operation 'torch.operator'}}
// expected-note @below {{compile it for given extents by --specialize}}
func.func @unknown(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  %0 = torch.operator "torch.my.op"(%x) : (!torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}
