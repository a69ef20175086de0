// RUN: hipgraft-opt %s --hipdnn-bufferize > %t.once
// RUN: hipgraft-opt %s --hipdnn-bufferize --hipdnn-bufferize > %t.twice
// RUN: diff %t.once %t.twice
// RUN: FileCheck %s < %t.once
// What is on memrefs already stays as it is; private functions are left alone.

func.func @main(%x: tensor<4x8xf16>) -> tensor<32xf16> {
  %0 = "hipdnn.execute"(%x) {callee = @a} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<4x8xf16>) -> tensor<32xf16>
  return %1 : tensor<32xf16>
}
"hipdnn.executable"() {sym_name = "a", operand_types = [tensor<4x8xf16>], result_types = [tensor<4x8xf16>], binaries = []} : () -> ()

// CHECK-LABEL: func.func private @helper
// CHECK-SAME:    (%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
