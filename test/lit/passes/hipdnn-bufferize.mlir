// RUN: hipgraft-opt %s --split-input-file --hipdnn-bufferize --verify-contracts | FileCheck %s
// Tensors become memrefs and results trailing arguments; views stay views, and nothing is copied.

// CHECK-LABEL: func.func @chain
// CHECK-SAME:    (%[[X:.*]]: memref<4x8xf16>, %[[Y:.*]]: memref<32xf16>)
// CHECK-SAME:    hipgraft.results = 1 : i64
// CHECK:         %[[BUFFER:.*]] = memref.alloc() : memref<64xi8>
// CHECK:         %[[R:.*]] = memref.view %[[BUFFER]][%{{.*}}][] : memref<64xi8> to memref<4x8xf16>
// CHECK:         "hipdnn.execute"(%[[X]], %[[R]]) {callee = @a}
// CHECK:         %[[SHIFT:.*]] = arith.constant 16 : index
// CHECK:         %[[ROWS:.*]] = memref.view %[[BUFFER]][%[[SHIFT]]][] : memref<64xi8> to memref<2x8xf16>
// CHECK:         "hipdnn.execute"(%[[ROWS]], %[[Y]]) {callee = @b}
// CHECK-NEXT:    return
func.func @chain(%x: tensor<4x8xf16>) -> tensor<32xf16> {
  %0 = "hipdnn.execute"(%x) {callee = @a} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %1 = "hipdnn.view"(%0) {offset = 8 : i64, strides = array<i64: 8, 1>} : (tensor<4x8xf16>) -> tensor<2x8xf16>
  %2 = "hipdnn.execute"(%1) {callee = @b} : (tensor<2x8xf16>) -> tensor<32xf16>
  return %2 : tensor<32xf16>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<4x8xf16>], result_types = [tensor<4x8xf16>], binaries = []} : () -> ()
"hipdnn.executable"() {sym_name = "b", operand_types = [tensor<2x8xf16>], result_types = [tensor<32xf16>], binaries = []} : () -> ()

// -----

// A transposed window on an intermediate starts at its first element and carries strides only.

// CHECK-LABEL: func.func @strided_intermediate
// CHECK:         %[[SHIFT:.*]] = arith.constant 32 : index
// CHECK:         %[[FLAT:.*]] = memref.view %{{.*}}[%[[SHIFT]]][] : memref<64xi8> to memref<13xf16>
// CHECK:         %[[T:.*]] = memref.reinterpret_cast %[[FLAT]] to offset: [0], sizes: [5, 2, 3], strides: [1, 8, 0]
// CHECK-SAME:      : memref<13xf16> to memref<5x2x3xf16, strided<[1, 8, 0]>>
// CHECK:         "hipdnn.execute"(%[[T]], %{{.*}}) {callee = @b}
func.func @strided_intermediate(%x: tensor<4x8xf16>) -> tensor<4xf16> {
  %0 = "hipdnn.execute"(%x) {callee = @a} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %1 = "hipdnn.view"(%0) {offset = 16 : i64, strides = array<i64: 1, 8, 0>} : (tensor<4x8xf16>) -> tensor<5x2x3xf16>
  %2 = "hipdnn.execute"(%1) {callee = @b} : (tensor<5x2x3xf16>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<4x8xf16>], result_types = [tensor<4x8xf16>], binaries = []} : () -> ()
"hipdnn.executable"() {sym_name = "b", operand_types = [tensor<5x2x3xf16>], result_types = [tensor<4xf16>], arg_strides = [array<i64: 1, 8, 0>], binaries = []} : () -> ()

// -----

// A kernel that adds the offset itself gets the whole argument; without an offset it gets the view.

// CHECK-LABEL: func.func @views_of_arguments
// CHECK-SAME:    (%[[X:.*]]: memref<4x8xf32>, %{{.*}}: memref<4xf32>)
// CHECK:         %[[T:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [8, 4], strides: [1, 8]
// CHECK:         "hipdnn.execute"(%[[X]], %[[T]], %{{.*}}) {callee = @a}
func.func @views_of_arguments(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = "hipdnn.view"(%x) {offset = 3 : i64, strides = array<i64: 8>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = "hipdnn.execute"(%0, %1) {callee = @a} : (tensor<4xf32>, tensor<8x4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<4xf32>, tensor<8x4xf32>], result_types = [tensor<4xf32>], arg_strides = [array<i64: 8>, array<i64: 1, 8>], arg_offsets = array<i64: 3, 0>, binaries = []} : () -> ()

// -----

// A result that is returned reshaped lives in the argument, also for those who read a part of it.

// CHECK-LABEL: func.func @returned_and_read
// CHECK-SAME:    (%[[X:.*]]: memref<4x8xf16>, %[[FLAT:.*]]: memref<32xf16>, %[[Z:.*]]: memref<2x8xf16>)
// CHECK-NOT:     memref.alloc
// CHECK:         %[[Y:.*]] = memref.reinterpret_cast %[[FLAT]] to offset: [0], sizes: [4, 8]
// CHECK:         "hipdnn.execute"(%[[X]], %[[Y]]) {callee = @a}
// CHECK:         %[[ROWS:.*]] = memref.reinterpret_cast %[[FLAT]] to offset: [16], sizes: [2, 8]
// CHECK:         "hipdnn.execute"(%[[ROWS]], %[[Z]]) {callee = @b}
func.func @returned_and_read(%x: tensor<4x8xf16>) -> (tensor<32xf16>, tensor<2x8xf16>) {
  %0 = "hipdnn.execute"(%x) {callee = @a} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<4x8xf16>) -> tensor<32xf16>
  %2 = "hipdnn.view"(%0) {offset = 16 : i64, strides = array<i64: 8, 1>} : (tensor<4x8xf16>) -> tensor<2x8xf16>
  %3 = "hipdnn.execute"(%2) {callee = @b} : (tensor<2x8xf16>) -> tensor<2x8xf16>
  return %1, %3 : tensor<32xf16>, tensor<2x8xf16>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<4x8xf16>], result_types = [tensor<4x8xf16>], binaries = []} : () -> ()
"hipdnn.executable"() {sym_name = "b", operand_types = [tensor<2x8xf16>], result_types = [tensor<2x8xf16>], binaries = []} : () -> ()

// -----

// Equal constants share a global; a resource stays one.

// CHECK-LABEL: func.func @constants
// CHECK:         %[[W:.*]] = memref.get_global @[[WEIGHTS:.*]] : memref<4xf16>
// CHECK:         %[[O:.*]] = memref.get_global @[[ONES:.*]] : memref<4xf16>
// CHECK:         %[[P:.*]] = memref.get_global @[[ONES]] : memref<4xf16>
// CHECK:         "hipdnn.execute"(%[[W]], %[[O]], %[[P]], %{{.*}}) {callee = @a}
// CHECK-DAG:   memref.global "private" constant @[[WEIGHTS]] : memref<4xf16> = dense_resource<weights>
// CHECK-DAG:   memref.global "private" constant @[[ONES]] : memref<4xf16> = dense<1.{{0*}}e+00>
func.func @constants() -> tensor<4xf16> {
  %w = arith.constant dense_resource<weights> : tensor<4xf16>
  %o = arith.constant dense<1.0> : tensor<4xf16>
  %p = arith.constant dense<1.0> : tensor<4xf16>
  %0 = "hipdnn.execute"(%w, %o, %p) {callee = @a} : (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<4xf16>, tensor<4xf16>, tensor<4xf16>], result_types = [tensor<4xf16>], binaries = []} : () -> ()
{-# dialect_resources: { builtin: { weights: "0x020000000100020003000400" } } #-}

// -----

// An argument that a kernel reads as it is, and a result, lie as the kernel was compiled for.

// CHECK-LABEL: func.func @layouts
// CHECK-SAME:    (%[[X:.*]]: memref<2x3x4xf16, strided<[24, 1, 6]>>, %[[Y:.*]]: memref<2x3x4xf16, strided<[16, 4, 1]>>)
// CHECK-NEXT:    "hipdnn.execute"(%[[X]], %[[Y]]) {callee = @a}
func.func @layouts(%x: tensor<2x3x4xf16>) -> tensor<2x3x4xf16> {
  %0 = "hipdnn.execute"(%x) {callee = @a} : (tensor<2x3x4xf16>) -> tensor<2x3x4xf16>
  return %0 : tensor<2x3x4xf16>
}
"hipdnn.executable"() {
  sym_name = "a", operand_types = [tensor<2x3x4xf16>], result_types = [tensor<2x3x4xf16>],
  arg_strides = [array<i64: 24, 1, 6>], result_strides = [array<i64: 16, 4, 1>], binaries = []
} : () -> ()
