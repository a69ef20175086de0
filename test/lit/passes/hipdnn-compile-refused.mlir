// RUN: hipgraft-opt %s --hipdnn-compile="target=gfx1100 keep-failed" --remarks 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t
// What the compiler refuses to generate code for is found by cutting, and stays where it was; the
// reproducer shows the refusal with the command in its first line.
// RUN: grep -o 'command are in .*mlir' %t | tail -1 | sed 's/command are in //' > %t.path
// RUN: xargs cat < %t.path | FileCheck %s --check-prefix=REPRODUCER

// REMARK: remark: 'hipdnn.graph' op does not compile for gfx1100: failed to legalize operation 'vector.store'{{.*}}; its 3 ops are taken apart
// REMARK: remark: 'hipdnn.fallback' op does not compile for gfx1100: {{.*}}; its 2 ops are taken apart
// REMARK: remark: 'hipdnn.block_scale_quantize' op does not compile for gfx1100: failed to legalize {{.*}} [missed=hipdnn-compile:kept]
// REPRODUCER: iree-compile {{.*}}--iree-rocm-target=gfx1100

// CHECK-LABEL: func.func @main
// CHECK:         %[[A:.*]] = "hipdnn.execute"(%{{.*}}) {callee = @[[F:.*]]} : (tensor<64x128xf32>)
// CHECK:         %[[B:.*]] = "hipdnn.execute"(%[[A]]) {callee = @[[G:.*]]} : (tensor<64x128xf32>)
// CHECK:         %[[Q:.*]]:2 = "hipdnn.block_scale_quantize"(%[[B]])
// CHECK:         return %[[Q]]#0, %[[Q]]#1
func.func @main(%a: tensor<64x128xf32>)
    -> (tensor<64x128xf4E2M1FN>, tensor<64x4xf8E8M0FNU>) {
  %0:2 = "hipdnn.graph"(%a) ({
  ^bb0(%x: tensor<64x128xf32>):
    %r = "hipdnn.pointwise"(%x) {mode = "relu_fwd", compute_type = f32,
        operandSegmentSizes = array<i32: 1, 0, 0>}
      : (tensor<64x128xf32>) -> tensor<64x128xf32>
    %n = "hipdnn.pointwise"(%r) {mode = "neg", compute_type = f32,
        operandSegmentSizes = array<i32: 1, 0, 0>}
      : (tensor<64x128xf32>) -> tensor<64x128xf32>
    %y, %s = "hipdnn.block_scale_quantize"(%n) {block_size = 32 : i64, axis = 1 : i64}
      : (tensor<64x128xf32>) -> (tensor<64x128xf4E2M1FN>, tensor<64x4xf8E8M0FNU>)
    "hipdnn.yield"(%y, %s) : (tensor<64x128xf4E2M1FN>, tensor<64x4xf8E8M0FNU>) -> ()
  }) {name = "quantize"}
    : (tensor<64x128xf32>) -> (tensor<64x128xf4E2M1FN>, tensor<64x4xf8E8M0FNU>)
  return %0#0, %0#1 : tensor<64x128xf4E2M1FN>, tensor<64x4xf8E8M0FNU>
}
