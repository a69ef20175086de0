// RUN: hipgraft-opt %s --split-input-file --hipdnn-merge --verify-contracts | FileCheck %s
// Executables become gpu.binary ops, their calls fills, copies and launches on one chain of tokens.

// Pointers are those of the schedule, in its order: an argument may be absent or come twice.

// CHECK: gpu.binary @a {{.*}}chip = "gfx942"
// CHECK-SAME: #gpu.kernel_metadata<"k0", (!llvm.ptr, !llvm.ptr, !llvm.ptr, i32) -> (), metadata = {workgroup_size = array<i32: 64, 2, 1>}>
// CHECK-LABEL: func.func @arguments
// CHECK-SAME:    (%[[UNUSED:.*]]: memref<3xf32>, %[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>)
// CHECK-SAME:    hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[GRID:.*]] = arith.constant 7 : index
// CHECK-DAG:     %[[BLOCK:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[WORD:.*]] = arith.constant -5 : i32
// CHECK:         %[[T0:.*]] = gpu.wait async
// CHECK:         %[[T1:.*]] = gpu.launch_func async [%[[T0]]] @a::@k0
// CHECK-SAME:      blocks in (%[[GRID]], %[[ONE]], %[[ONE]]) threads in (%[[BLOCK]], %[[TWO]], %[[ONE]])
// CHECK-SAME:      args(%[[X]] : memref<8xf32>, %[[X]] : memref<8xf32>, %[[Y]] : memref<8xf32>, %[[WORD]] : i32)
// CHECK:         gpu.wait [%[[T1]]]
// CHECK-NEXT:    return
// CHECK-NOT:   hipdnn.executable
func.func @arguments(%u: memref<3xf32>, %x: memref<8xf32>, %y: memref<8xf32>) attributes {hipgraft.results = 1 : i64} {
  "hipdnn.execute"(%u, %x, %y) {callee = @a} : (memref<3xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<3xf32>, tensor<8xf32>], result_types = [tensor<8xf32>], binaries = [{
  target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 7, 1, 1>, block = array<i64: 64, 2, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 1 : i64, offset = 0 : i64, length = 32 : i64, access = "read"},
                 {buffer = 1 : i64, offset = 0 : i64, length = 32 : i64, access = "read"},
                 {buffer = 2 : i64, offset = 0 : i64, length = 32 : i64, access = "write"}],
     constants = array<i32: -5>}]}]} : () -> ()

// -----

// A workspace is filled, copied into and read in parts. Those that no step uses together are buffers
// of their own; what starts inside a buffer is a view.

// CHECK-LABEL: func.func @workspace
// CHECK-SAME:    (%[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[AT64:.*]] = arith.constant 64 : index
// CHECK-DAG:     %[[SHARED:.*]] = arith.constant 1024 : i32
// CHECK:         %[[T0:.*]] = gpu.wait async
// CHECK:         %[[A:.*]] = memref.alloc() : memref<32xi8>
// CHECK:         %[[B:.*]] = memref.alloc() : memref<128xi8>
// CHECK:         %[[WORDS:.*]] = memref.view %[[B]][%[[AT64]]][] : memref<128xi8> to memref<16xi32>
// CHECK:         %[[T1:.*]] = gpu.memset async [%[[T0]]] %[[WORDS]], %[[ZERO]] : memref<16xi32>, i32
// CHECK:         %[[FLOATS:.*]] = memref.view %[[A]][%{{.*}}][] : memref<32xi8> to memref<8xf32>
// CHECK:         %[[T2:.*]] = gpu.memcpy async [%[[T1]]] %[[FLOATS]], %[[X]] : memref<8xf32>, memref<8xf32>
// CHECK:         %[[REST:.*]] = memref.view %[[B]][%[[AT64]]][] : memref<128xi8> to memref<64xi8>
// CHECK:         %[[T3:.*]] = gpu.launch_func async [%[[T2]]] @a::@k0
// CHECK-SAME:      dynamic_shared_memory_size %[[SHARED]] args(%[[A]] : memref<32xi8>, %[[B]] : memref<128xi8>, %[[REST]] : memref<64xi8>, %[[Y]] : memref<8xf32>)
// CHECK:         gpu.wait [%[[T3]]]
func.func @workspace(%x: memref<8xf32>, %y: memref<8xf32>) attributes {hipgraft.results = 1 : i64} {
  "hipdnn.execute"(%x, %y) {callee = @a} : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<8xf32>], result_types = [tensor<8xf32>], binaries = [{
  target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 192 : i64, steps = [
    {op = "fill", buffer = 2 : i64, offset = 128 : i64, length = 64 : i64, pattern = 0 : i64, pattern_length = 1 : i64},
    {op = "copy", source = 0 : i64, source_offset = 0 : i64, target = 2 : i64, target_offset = 0 : i64, length = 32 : i64},
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 1024 : i64,
     bindings = [{buffer = 2 : i64, offset = 0 : i64, length = 32 : i64, access = "read"},
                 {buffer = 2 : i64, offset = 64 : i64, length = 128 : i64, access = "read"},
                 {buffer = 2 : i64, offset = 128 : i64, length = 64 : i64, access = "read"},
                 {buffer = 1 : i64, offset = 0 : i64, length = 32 : i64, access = "write"}],
     constants = array<i32>}]}]} : () -> ()

// -----

// What starts inside an argument is rebuilt from its pointer; odd lengths are filled from a constant.

// CHECK-LABEL: func.func @inside_arguments
// CHECK-SAME:    (%[[X:.*]]: memref<8x6xf16>, %[[Y:.*]]: memref<4x6xf16>, %[[Z:.*]]: memref<3xi8>)
// CHECK:         %[[T0:.*]] = gpu.wait async
// CHECK:         %[[BASE:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
// CHECK:         %[[MOVED:.*]] = arith.addi %[[BASE]], %{{.*}} : index
// CHECK:         %[[WORD:.*]] = arith.index_cast %[[MOVED]] : index to i64
// CHECK:         %[[POINTER:.*]] = llvm.inttoptr %[[WORD]] : i64 to !llvm.ptr
// CHECK:         llvm.insertvalue %[[POINTER]], %{{.*}}[1]
// CHECK:         %[[ROWS:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<48xi8>
// CHECK:         %[[T1:.*]] = gpu.launch_func async [%[[T0]]] @a::@k0
// CHECK-SAME:      args(%[[ROWS]] : memref<48xi8>, %[[Y]] : memref<4x6xf16>)
// CHECK:         %[[PATTERN:.*]] = memref.get_global @[[NAME:.*]] : memref<3xi8>
// CHECK:         %[[T2:.*]] = gpu.memcpy async [%[[T1]]] %[[Z]], %[[PATTERN]] : memref<3xi8>, memref<3xi8>
// CHECK:         gpu.wait [%[[T2]]]
func.func @inside_arguments(%x: memref<8x6xf16>, %y: memref<4x6xf16>, %z: memref<3xi8>) attributes {hipgraft.results = 2 : i64} {
  %0 = memref.reinterpret_cast %x to offset: [24], sizes: [4, 6], strides: [6, 1] : memref<8x6xf16> to memref<4x6xf16, strided<[6, 1], offset: 24>>
  "hipdnn.execute"(%0, %y, %z) {callee = @a} : (memref<4x6xf16, strided<[6, 1], offset: 24>>, memref<4x6xf16>, memref<3xi8>) -> ()
  return
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<4x6xf16>], result_types = [tensor<4x6xf16>, tensor<3xi8>], binaries = [{
  target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 48 : i64, access = "read"},
                 {buffer = 1 : i64, offset = 0 : i64, length = 48 : i64, access = "write"}],
     constants = array<i32>},
    {op = "fill", buffer = 2 : i64, offset = 0 : i64, length = 3 : i64, pattern = 249 : i64, pattern_length = 1 : i64}]}]} : () -> ()

// -----

// A part of an argument is copied from where it begins; a view of a buffer keeps its place.

// CHECK-LABEL: func.func @parts
// CHECK-SAME:    (%[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<4xf32>)
// CHECK-DAG:     %[[AT16:.*]] = arith.constant 16 : index
// CHECK-DAG:     %[[AT64:.*]] = arith.constant 64 : index
// CHECK:         %[[BUFFER:.*]] = memref.alloc() : memref<128xi8>
// CHECK:         %[[BASE:.*]] = memref.extract_aligned_pointer_as_index %[[X]]
// CHECK:         %[[MOVED:.*]] = arith.addi %[[BASE]], %[[AT16]] : index
// CHECK:         %[[WORD:.*]] = arith.index_cast %[[MOVED]] : index to i64
// CHECK:         llvm.inttoptr %[[WORD]] : i64 to !llvm.ptr
// CHECK:         gpu.memcpy async [%{{.*}}] %[[Y]], %{{.*}} : memref<4xf32>, memref<4xf32>
// CHECK:         %[[PART:.*]] = memref.view %[[BUFFER]][%[[AT64]]][] : memref<128xi8> to memref<64xi8>
// CHECK:         gpu.launch_func {{.*}} args(%[[PART]] : memref<64xi8>)
func.func @parts(%x: memref<8xf32>, %y: memref<4xf32>) attributes {hipgraft.results = 1 : i64} {
  %c64 = arith.constant 64 : index
  %a = memref.alloc() : memref<128xi8>
  %v = memref.view %a[%c64][] : memref<128xi8> to memref<8xf32>
  "hipdnn.execute"(%x, %v, %y) {callee = @a} : (memref<8xf32>, memref<8xf32>, memref<4xf32>) -> ()
  return
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<8xf32>, tensor<8xf32>], result_types = [tensor<4xf32>], binaries = [{
  target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64, steps = [
    {op = "copy", source = 0 : i64, source_offset = 16 : i64, target = 2 : i64, target_offset = 0 : i64, length = 16 : i64},
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 1 : i64, offset = 0 : i64, length = 32 : i64, access = "read"}],
     constants = array<i32>}]}]} : () -> ()

// -----

// A kernel may load all of a slice's last row, so the buffer is as long.

// CHECK-LABEL: func.func @last_row
// CHECK:         %[[BUFFER:.*]] = memref.alloc() : memref<160xi8>
// CHECK:         %[[PART:.*]] = memref.view %[[BUFFER]][%{{.*}}][] : memref<160xi8> to memref<96xi8>
// CHECK:         gpu.launch_func {{.*}} args(%[[PART]] : memref<96xi8>)
func.func @last_row(%y: memref<4xf32>) attributes {hipgraft.results = 1 : i64} {
  %c64 = arith.constant 64 : index
  %a = memref.alloc() : memref<128xi8>
  %v = memref.view %a[%c64][] : memref<128xi8> to memref<16xf32>
  %r = memref.reinterpret_cast %v to offset: [0], sizes: [2, 4], strides: [12, 1] : memref<16xf32> to memref<2x4xf32, strided<[12, 1]>>
  "hipdnn.execute"(%r, %y) {callee = @a} : (memref<2x4xf32, strided<[12, 1]>>, memref<4xf32>) -> ()
  return
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<2x4xf32>], result_types = [tensor<4xf32>], arg_strides = [array<i64: 12, 1>], binaries = [{
  target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64, steps = [
    {op = "dispatch", object = 0 : i64, kernel = "k0", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
     bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 96 : i64, access = "read"}],
     constants = array<i32>}]}]} : () -> ()
