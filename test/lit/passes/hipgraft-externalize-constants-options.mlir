// RUN: hipgraft-opt %s --hipgraft-externalize-constants=file=%t.safetensors | FileCheck %s
// RUN: hipgraft-opt %s --hipgraft-externalize-constants=file=%t.irpa | FileCheck %s
// RUN: grep -q F16 %t.safetensors
// RUN: test -s %t.irpa
// The values go to a file, which the module names.

// CHECK: module attributes {hipgraft.parameters = "hipgraft-externalize-constants-options.mlir
memref.global "private" constant @w : memref<2xf16> = dense_resource<w>
{-# dialect_resources: { builtin: { w: "0x02000000003C0040" } } #-}
