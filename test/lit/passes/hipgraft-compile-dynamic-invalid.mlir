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
