// RUN: hipgraft-opt %s --split-input-file --hipdnn-bufferize --verify-diagnostics
// What cannot become buffers is refused where it stands.

func.func @other_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'arith.addf' op cannot be bufferized; expected only 'hipdnn.execute', 'hipdnn.view' and 'arith.constant'}}
  %0 = arith.addf %x, %x : tensor<4xf32>
  %1 = "hipdnn.execute"(%0) {callee = @a} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<4xf32>], result_types = [tensor<4xf32>], binaries = []} : () -> ()

// -----

func.func @returned_argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'func.return' op operand #0 is not a distinct result of a 'hipdnn.execute', or a row-major view of all of one}}
  return %x : tensor<4xf32>
}

// -----

func.func @returned_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
  %0 = "hipdnn.execute"(%x) {callee = @a} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 2, 1>} : (tensor<4xf32>) -> tensor<2x2xf32>
  // expected-error @below {{'func.return' op operand #1 is not a distinct result}}
  return %0, %1 : tensor<4xf32>, tensor<2x2xf32>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<4xf32>], result_types = [tensor<4xf32>], binaries = []} : () -> ()

// -----

func.func @other_strides(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // expected-error @below {{'hipdnn.execute' op operand #0 lies at offset 0 with strides [1, 8], but its executable was compiled for offset 0 with strides [4, 1]}}
  %1 = "hipdnn.execute"(%0) {callee = @a} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<8x4xf32>], result_types = [tensor<8x4xf32>], binaries = []} : () -> ()

// -----

func.func @other_offset(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = "hipdnn.view"(%x) {offset = 8 : i64, strides = array<i64: 4, 1>} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  // expected-error @below {{operand #0 lies at offset 8 with strides [4, 1], but its executable was compiled for offset 4 with strides [4, 1]}}
  %1 = "hipdnn.execute"(%0) {callee = @a} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<2x4xf32>], result_types = [tensor<2x4xf32>], arg_offsets = array<i64: 4>, binaries = []} : () -> ()

// -----

// expected-error @below {{'func.func' op expected static shapes, found 'tensor<?xf32>'}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<4xf32> {
  %0 = arith.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op has elements that are no whole bytes: tensor<4xi4>}}
func.func @packed(%x: tensor<4xi4>) {
  return
}

// -----

func.func @view_of_strided(%x: tensor<2x4xf32>) -> tensor<4xf32> {
  %0 = "hipdnn.execute"(%x) {callee = @a} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 4 : i64, strides = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<4xf32>
  // expected-error @below {{'hipdnn.view' op looks at a tensor with gaps}}
  %2 = "hipdnn.execute"(%1) {callee = @b} : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<2x4xf32>], result_types = [tensor<2x4xf32>], result_strides = [array<i64: 1, 3>], binaries = []} : () -> ()
"hipdnn.executable"() {sym_name = "b", operand_types = [tensor<4xf32>], result_types = [tensor<4xf32>], binaries = []} : () -> ()

// -----

func.func @two_layouts(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = "hipdnn.execute"(%x) {callee = @a} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-error @below {{'hipdnn.execute' op operand #0 lies at offset 0 with strides [1, 2], but its executable was compiled for offset 0 with strides [4, 1]}}
  %1 = "hipdnn.execute"(%x) {callee = @b} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<2x4xf32>], result_types = [tensor<2x4xf32>], arg_strides = [array<i64: 1, 2>], binaries = []} : () -> ()
"hipdnn.executable"() {sym_name = "b", operand_types = [tensor<2x4xf32>], result_types = [tensor<2x4xf32>], binaries = []} : () -> ()
