// RUN: hipgraft-opt %s --split-input-file --hipdnn-merge=target=gfx942 --verify-diagnostics
// What cannot be merged is refused where it stands.

func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) attributes {hipgraft.results = 1 : i64} {
  "hipdnn.execute"(%x, %y) {callee = @a} : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
// expected-error @below {{'hipdnn.executable' op '@a' has no binary for 'gfx942'; it has gfx1100}}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], binaries = [
  {target = "gfx1100", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64, steps = []}]} : () -> ()

// -----

func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) attributes {hipgraft.results = 1 : i64} {
  "hipdnn.execute"(%x, %y) {callee = @a} : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
// expected-error @below {{'hipdnn.executable' op '@a' has a binary of format 'vmfb' for 'gfx942', which cannot be merged; expected 'hsaco' or 'ptx'}}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], binaries = [
  {target = "gfx942", format = "vmfb", objects = ["x"], workspace_size = 0 : i64, steps = []}]} : () -> ()

// -----

func.func @main(%x: memref<8xf32>, %y: memref<8xf32>) attributes {hipgraft.results = 1 : i64} {
  "hipdnn.execute"(%x, %y) {callee = @a} : (memref<8xf32>, memref<8xf32>) -> ()
  // expected-error @below {{'memref.copy' op is unexpected among buffers}}
  memref.copy %x, %y : memref<8xf32> to memref<8xf32>
  return
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], binaries = [
  {target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64, steps = [
    {op = "copy", source = 0 : i64, source_offset = 0 : i64, target = 1 : i64, target_offset = 0 : i64, length = 32 : i64}]}]} : () -> ()
