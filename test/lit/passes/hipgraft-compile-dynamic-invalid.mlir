// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics \
// RUN:   --hipgraft-compile-dynamic=target=gfx942
// What a host program of launches cannot do is an error that names the other way.

// The extent of the result depends on values, which only a kernel knows.

// expected-error @below {{'func.func' op '@nonzero' has dynamic shapes and does not compile}}
// expected-note @below {{compile it for given extents by --specialize}}
func.func @nonzero(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?,1],si64> {
  %0 = torch.aten.nonzero %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?,1],si64>
  return %0 : !torch.vtensor<[?,1],si64>
}

// -----

// A -1 in a tensor of extents would be taken as a number.

func.func @reshape(%x: !torch.vtensor<[?,8],f32>, %n: !torch.vtensor<[],si64>)
    -> !torch.vtensor<[?,?],f32> {
  %int4 = torch.constant.int 4
  %item = torch.aten.item %n : !torch.vtensor<[],si64> -> !torch.int
  %list = torch.prim.ListConstruct %item, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  // expected-error @below {{'torch.aten.view' op takes extents that are computed as tensors, which may hide a -1}}
  // expected-note @below {{compile it for given extents by --specialize}}
  %0 = torch.aten.view %x, %list : !torch.vtensor<[?,8],f32>, !torch.list<int> -> !torch.vtensor<[?,?],f32>
  return %0 : !torch.vtensor<[?,?],f32>
}
