// RUN: hipgraft-opt %s --hipgraft-externalize-constants=file=w.bin --verify-diagnostics
// The file's name tells its format.

// expected-error @below {{expected a parameter file (.safetensors, .irpa), found 'w.bin'}}
module {
  memref.global "private" constant @w : memref<2xf16> = dense_resource<w>
}
{-# dialect_resources: { builtin: { w: "0x02000000003C0040" } } #-}
