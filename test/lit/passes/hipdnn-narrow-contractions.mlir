// RUN: hipgraft-opt %s --split-input-file --hipdnn-narrow-contractions | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-narrow-contractions --hipdnn-narrow-contractions | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --hipdnn-narrow-contractions=target=gfx950,gfx1201 | FileCheck %s --check-prefix=NATIVE
// RUN: hipgraft-opt %s --split-input-file --hipdnn-narrow-contractions=target=gfx950,gfx942 | FileCheck %s --check-prefix=MIXED
// RUN: hipgraft-opt %s --split-input-file --hipdnn-narrow-contractions=target=gfx942 | FileCheck %s --check-prefix=MIXED
// RUN: hipgraft-opt %s --split-input-file --hipdnn-narrow-contractions --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// Bytes minus a zero point, and constants of whole numbers. The residual reads f16, too, so that
// only f16 is stored.

// REMARK: 'hipdnn.conv_fprop' op reads f16, which is exact here
// CHECK-LABEL: @bytes
// CHECK: %[[W:.*]] = arith.constant {{.*}} : tensor<2x2x1x1xf16>
// CHECK: %[[BYTES:.*]] = "hipdnn.pointwise"(%arg0) {mode = "identity"} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
// CHECK: %[[DIFF:.*]] = "hipdnn.pointwise"(%[[BYTES]], %{{.*}}) {mode = "sub"}
// CHECK: %[[X:.*]] = "hipdnn.pointwise"(%[[DIFF]]) {mode = "identity"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf16>
// CHECK: %[[WIDE:.*]] = "hipdnn.pointwise"(%[[X]]) {mode = "identity"} : (tensor<1x2x4x4xf16>) -> tensor<1x2x4x4xf32>
// CHECK: %[[Y:.*]] = "hipdnn.conv_fprop"(%[[X]], %[[W]]) {{.*}} : (tensor<1x2x4x4xf16>, tensor<2x2x1x1xf16>) -> tensor<1x2x4x4xf32>
// CHECK: "hipdnn.pointwise"(%[[Y]], %[[WIDE]]) {mode = "add"}
func.func @bytes(%x: tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32> {
  %zero = arith.constant dense<-5.0> : tensor<1x1x1x1xf32>
  %w = arith.constant dense<[[[[1.0]], [[-2.0]]], [[[3.0]], [[255.0]]]]> : tensor<2x2x1x1xf32>
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %1 = "hipdnn.pointwise"(%0, %zero) {mode = "sub"} : (tensor<1x2x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  // Written once more, as frontends do for each reader.
  %2 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<1x2x4x4xi8>) -> tensor<1x2x4x4xf32>
  %3 = "hipdnn.pointwise"(%2, %zero) {mode = "sub"} : (tensor<1x2x4x4xf32>, tensor<1x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %4 = "hipdnn.conv_fprop"(%1, %w) {dilation = array<i64: 1, 1>, post_padding = array<i64: 0, 0>, pre_padding = array<i64: 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %5 = "hipdnn.pointwise"(%4, %3) {mode = "add"} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %5 : tensor<1x2x4x4xf32>
}

// -----

// Integers of 32 bits hold all differences of bytes.

// CHECK-LABEL: @bytes_by_way_of_integers
// CHECK: %[[X:.*]] = "hipdnn.pointwise"(%{{.*}}) {mode = "identity"} : (tensor<16x8xf32>) -> tensor<16x8xf16>
// CHECK: "hipdnn.matmul"(%[[X]], %{{.*}}) : (tensor<16x8xf16>, tensor<8x4xf16>) -> tensor<16x4xf32>
func.func @bytes_by_way_of_integers(%x: tensor<16x8xi8>) -> tensor<16x4xf32> {
  %zero = arith.constant dense<-5> : tensor<1x1xi64>
  %w = arith.constant dense<3.0> : tensor<8x4xf32>
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<16x8xi8>) -> tensor<16x8xi64>
  %1 = "hipdnn.pointwise"(%0, %zero) {mode = "sub"} : (tensor<16x8xi64>, tensor<1x1xi64>) -> tensor<16x8xi64>
  %2 = "hipdnn.pointwise"(%1) {mode = "identity"} : (tensor<16x8xi64>) -> tensor<16x8xi32>
  %3 = "hipdnn.pointwise"(%2) {mode = "identity"} : (tensor<16x8xi32>) -> tensor<16x8xf32>
  %4 = "hipdnn.matmul"(%3, %w) : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %4 : tensor<16x4xf32>
}

// -----

// Weights that are bytes become constants. What was f16 before may be too small for some hardware.

// CHECK-LABEL: @weights
// CHECK-DAG: %[[W:.*]] = arith.constant {{.*}} : tensor<8x4xf16>
// CHECK-DAG: %[[X:.*]] = "hipdnn.view"(%{{.*}}) {{.*}} : (tensor<8x4xf16>) -> tensor<4x8xf16>
// CHECK: "hipdnn.matmul"(%[[X]], %[[W]]) : (tensor<4x8xf16>, tensor<8x4xf16>) -> tensor<4x4xf32>
// CHECK: "hipdnn.matmul"({{.*}}) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
func.func @weights(%x: tensor<8x4xi8>, %half: tensor<8x4xf16>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %bytes = arith.constant dense<7> : tensor<8x4xi8>
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 4>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = "hipdnn.pointwise"(%bytes) {mode = "identity"} : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %3 = "hipdnn.matmul"(%1, %2) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %4 = "hipdnn.pointwise"(%half) {mode = "identity"} : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %5 = "hipdnn.matmul"(%1, %4) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %3, %5 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Not all of these are numbers of f16: a scaled byte, 0.1, an integer of more than 11 bits, a
// product.

// CHECK-LABEL: @inexact
// CHECK-COUNT-4: "hipdnn.matmul"({{.*}}) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NOT: f16
func.func @inexact(%x: tensor<4x4xi8>, %n: tensor<4x4xi32>) -> tensor<4x4xf32> {
  %tenth = arith.constant dense<0.1> : tensor<4x4xf32>
  %large = arith.constant dense<2049.0> : tensor<4x4xf32>
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<4x4xi8>) -> tensor<4x4xf32>
  %1 = "hipdnn.pointwise"(%0, %tenth) {mode = "mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "hipdnn.matmul"(%1, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "hipdnn.matmul"(%0, %tenth) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = "hipdnn.matmul"(%0, %large) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = "hipdnn.pointwise"(%n) {mode = "identity"} : (tensor<4x4xi32>) -> tensor<4x4xf32>
  %6 = "hipdnn.matmul"(%0, %5) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = "hipdnn.pointwise"(%2, %3) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %8 = "hipdnn.pointwise"(%7, %4) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = "hipdnn.pointwise"(%8, %6) {mode = "add"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %9 : tensor<4x4xf32>
}

// -----

// Floats of eight bits, one of them transposed after the conversion; and a constant that has only
// such numbers, unlike the last one, whose numbers f16 has.

// REMARK: 'hipdnn.matmul' op reads floats of 8 bits, which is exact here
// CHECK-LABEL: @small_floats
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf8E4M3FN>, %[[Y:.*]]: tensor<6x8xf8E5M2>)
// CHECK: %[[T:.*]] = "hipdnn.view"(%[[Y]]) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<6x8xf8E5M2>) -> tensor<8x6xf8E5M2>
// CHECK: "hipdnn.matmul"(%[[X]], %[[T]]) : (tensor<4x8xf8E4M3FN>, tensor<8x6xf8E5M2>) -> tensor<4x6xf32>
// CHECK: %[[W:.*]] = arith.constant dense<4.480000e+02> : tensor<8x6xf8E4M3FN>
// CHECK: "hipdnn.matmul"(%[[X]], %[[W]]) : (tensor<4x8xf8E4M3FN>, tensor<8x6xf8E4M3FN>) -> tensor<4x6xf32>
// CHECK: "hipdnn.matmul"({{.*}}) : (tensor<4x8xf16>, tensor<8x6xf16>) -> tensor<4x6xf32>
func.func @small_floats(%x: tensor<4x8xf8E4M3FN>, %y: tensor<6x8xf8E5M2>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %w = arith.constant dense<448.0> : tensor<8x6xf32>
  %more = arith.constant dense<449.0> : tensor<8x6xf32>
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<4x8xf8E4M3FN>) -> tensor<4x8xf32>
  %1 = "hipdnn.pointwise"(%y) {mode = "identity"} : (tensor<6x8xf8E5M2>) -> tensor<6x8xf32>
  %2 = "hipdnn.view"(%1) {offset = 0 : i64, strides = array<i64: 1, 8>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %3 = "hipdnn.matmul"(%0, %2) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %4 = "hipdnn.matmul"(%0, %w) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %5 = "hipdnn.matmul"(%0, %more) : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %3, %4, %5 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// More rows are multiplied as f16, unless matrix instructions of all targets multiply the bytes.

// CHECK-LABEL: @many_rows
// CHECK: %[[W:.*]] = arith.constant {{.*}} : tensor<8x6xf16>
// CHECK: "hipdnn.matmul"(%{{.*}}, %[[W]]) : (tensor<9x8xf16>, tensor<8x6xf16>) -> tensor<9x6xf32>
// NATIVE-LABEL: @many_rows
// NATIVE: "hipdnn.matmul"(%arg0, %{{.*}}) : (tensor<9x8xf8E4M3FN>, tensor<8x6xf8E4M3FN>) -> tensor<9x6xf32>
// MIXED-LABEL: @many_rows
// MIXED: "hipdnn.matmul"({{.*}}) : (tensor<9x8xf16>, tensor<8x6xf16>) -> tensor<9x6xf32>
func.func @many_rows(%x: tensor<9x8xf8E4M3FN>) -> tensor<9x6xf32> {
  %w = arith.constant dense<2.0> : tensor<8x6xf8E4M3FN>
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<9x8xf8E4M3FN>) -> tensor<9x8xf32>
  %1 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<8x6xf8E4M3FN>) -> tensor<8x6xf32>
  %2 = "hipdnn.matmul"(%0, %1) : (tensor<9x8xf32>, tensor<8x6xf32>) -> tensor<9x6xf32>
  return %2 : tensor<9x6xf32>
}

// -----

// Some numbers of f8E5M2 are subnormal in f16.

// CHECK-LABEL: @subnormal
// CHECK: "hipdnn.matmul"(%arg0, %arg1) : (tensor<9x8xf8E5M2>, tensor<8x6xf8E5M2>) -> tensor<9x6xf32>
func.func @subnormal(%x: tensor<9x8xf8E5M2>, %w: tensor<8x6xf8E5M2>) -> tensor<9x6xf32> {
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<9x8xf8E5M2>) -> tensor<9x8xf32>
  %1 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<8x6xf8E5M2>) -> tensor<8x6xf32>
  %2 = "hipdnn.matmul"(%0, %1) : (tensor<9x8xf32>, tensor<8x6xf32>) -> tensor<9x6xf32>
  return %2 : tensor<9x6xf32>
}

// -----

// Eight rows are few.

// CHECK-LABEL: @eight_rows
// CHECK: "hipdnn.matmul"(%arg0, %arg1) : (tensor<8x8xf8E4M3FN>, tensor<8x6xf8E4M3FN>) -> tensor<8x6xf32>
func.func @eight_rows(%x: tensor<8x8xf8E4M3FN>, %w: tensor<8x6xf8E4M3FN>) -> tensor<8x6xf32> {
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<8x8xf8E4M3FN>) -> tensor<8x8xf32>
  %1 = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<8x6xf8E4M3FN>) -> tensor<8x6xf32>
  %2 = "hipdnn.matmul"(%0, %1) : (tensor<8x8xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}

// -----

// Negative bytes wrap around, and so do negative differences; neither fits f16.

// CHECK-LABEL: @unsigned
// CHECK: "hipdnn.matmul"({{.*}}) : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
// CHECK: "hipdnn.matmul"({{.*}}) : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
func.func @unsigned(%x: tensor<16x8xi8>, %y: tensor<16x8xui8>, %z: tensor<16x8xui8>) -> (tensor<16x4xf32>, tensor<16x4xf32>) {
  %w = arith.constant dense<3.0> : tensor<8x4xf32>
  %0 = "hipdnn.pointwise"(%x) {mode = "identity"} : (tensor<16x8xi8>) -> tensor<16x8xui32>
  %1 = "hipdnn.pointwise"(%0) {mode = "identity"} : (tensor<16x8xui32>) -> tensor<16x8xf32>
  %2 = "hipdnn.matmul"(%1, %w) : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %3 = "hipdnn.pointwise"(%y) {mode = "identity"} : (tensor<16x8xui8>) -> tensor<16x8xui32>
  %4 = "hipdnn.pointwise"(%z) {mode = "identity"} : (tensor<16x8xui8>) -> tensor<16x8xui32>
  %5 = "hipdnn.pointwise"(%3, %4) {mode = "sub"} : (tensor<16x8xui32>, tensor<16x8xui32>) -> tensor<16x8xui32>
  %6 = "hipdnn.pointwise"(%5) {mode = "identity"} : (tensor<16x8xui32>) -> tensor<16x8xf32>
  %7 = "hipdnn.matmul"(%6, %w) : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %2, %7 : tensor<16x4xf32>, tensor<16x4xf32>
}
