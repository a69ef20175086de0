// RUN: hipgraft-opt %s --split-input-file --print-native | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --print-native \
// RUN:   | hipgraft-opt --split-input-file --print-native | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file | hipgraft-opt --split-input-file --print-native \
// RUN:   | FileCheck %s

// Native syntax is read, printed, and read again, also through the generic form.

// Types: rank 0, dynamic extents and strides, broadcasts, signed, unsigned and small elements;
// with and without the type's name; any space.

// CHECK-LABEL: func.func @types
// CHECK-SAME: (%[[A:.*]]: !migraphx.shaped<f32>, %[[B:.*]]: !migraphx.shaped<4x?xf16, ?x1>,
// CHECK-SAME: {{.*}}!migraphx.shaped<1xui8, 0> {mhal.read_access}, {{.*}}!migraphx.shaped<2x2xf4E2M1FN, 2x1>,
// CHECK-SAME: {{.*}}!migraphx.shaped<2x2xf8E4M3FNUZ, 1x2>) attributes {arch = "gfx90a:sramecc+:xnack-", kernel = "mixr", num_cu = 110 : i64}
func.func @types(%a: !migraphx.shaped<f32>, %b: !migraphx.shaped<4x?xf16,?x1>,
    %c: !migraphx.shaped<1xui8, 0> {mhal.read_access}, %d: !migraphx.shaped< 2x2xf4E2M1FN , 2x1 >,
    %e: !migraphx.shaped<2x2xf8E4M3FNUZ, 1x2>)
    attributes {kernel = "mixr", arch = "gfx90a:sramecc+:xnack-", num_cu = 110 : i64} {
  // CHECK: = migraphx.abs %[[A]] : <f32> -> <f32>
  %0 = migraphx.abs %a : !migraphx.shaped<f32> -> <f32>
  // CHECK: = migraphx.relu %[[B]] {migraphx.note = "a // b"} : <4x?xf16, ?x1> -> <4x?xf16, ?x1>
  migraphx.relu %b{migraphx.note = "a // b"}: <4x?xf16, ?x1> -> !migraphx.shaped<4x?xf16, ?x1>
  return
}

// -----

// Unknown attributes, comments between operands, results without names.

// CHECK-LABEL: func.func @attributes
// CHECK-SAME: (%[[X:.*]]: !migraphx.shaped<1x64x64xf16, 4096x64x1>
// CHECK-SAME: {{.*}}rock.kernel = "mixr"
func.func @attributes(%x: !migraphx.shaped<1x64x64xf16, 4096x64x1>)
    -> !migraphx.shaped<1x64x64xf32, 4096x64x1>
    attributes {rock.arch = "", rock.kernel = "mixr", rock.num_chiplets = 0 : i64} {
  // CHECK: %[[S:.*]] = migraphx.softmax %[[X]] {axis = 2 : i32} : <1x64x64xf16, 4096x64x1> -> <1x64x64xf16, 4096x64x1>
  %0 = migraphx.softmax %x{axis = 2 : i32} : <1x64x64xf16, 4096x64x1> -> <1x64x64xf16, 4096x64x1>
  // CHECK: %[[D:.*]] = migraphx.dot %[[S]], %[[X]] {perf_config = "v3:16,32,4"} :
  %1 = migraphx.dot %0, // the matrix, then
      %x // its transpose
      {perf_config = "v3:16,32,4"}
      : <1x64x64xf16, 4096x64x1>, <1x64x64xf16, 4096x64x1> -> <1x64x64xf16, 4096x64x1>
  // CHECK: %[[C:.*]] = migraphx.convert %[[D]] {target_type = 1 : i64} : <1x64x64xf16, 4096x64x1> to <1x64x64xf32, 4096x64x1>
  %2 = migraphx.convert %1 {target_type = 1 : i64} : <1x64x64xf16, 4096x64x1> to <1x64x64xf32, 4096x64x1>
  // CHECK: migraphx.reduce_sum %[[C]] {axes = [2]} : <1x64x64xf32, 4096x64x1> -> <1x64x1xf32, 64x1x1>
  migraphx.reduce_sum %2 {axes = [2]} : <1x64x64xf32, 4096x64x1> -> <1x64x1xf32, 64x1x1>
  return %2 : !migraphx.shaped<1x64x64xf32, 4096x64x1>
}

// -----

// Constants and optional operands, whose types are printed in full.

// CHECK-LABEL: func.func @quantized
// CHECK-SAME: (%[[X:[^:]*]]: {{.*}}, %[[S:[^:]*]]: {{.*}}, %[[Z:[^:]*]]: !migraphx.shaped<4xsi8, 1>)
func.func @quantized(%x: !migraphx.shaped<4xsi8, 1>, %s: !migraphx.shaped<4xf32, 1>,
    %z: !migraphx.shaped<4xsi8, 1>) {
  // CHECK: %[[L:.*]] = migraphx.literal(dense<1.250000e-01> : tensor<1xf16>) : <1xf16, 0>
  %0 = migraphx.literal(dense<1.250000e-01> : tensor<1xf16>) : <1xf16, 0>
  // CHECK: migraphx.literal(dense<[1, 2]> : tensor<2xsi8>) {note} : <2xsi8, 1>
  %1 = migraphx.literal (dense<[1, 2]> : tensor<2xsi8>) {note} : <2xsi8, 1>
  // CHECK: migraphx.multibroadcast %[[L]] {out_dyn_dims = [], out_lens = [1, 2]} : <1xf16, 0> -> <1x2xf16, 0x0>
  %2 = migraphx.multibroadcast %0 {out_dyn_dims = [], out_lens = [1, 2]} : <1xf16, 0> -> <1x2xf16, 0x0>
  // CHECK: %[[D:.*]] = migraphx.dequantizelinear %[[X]], %[[S]], %[[Z]] : <4xsi8, 1>, <4xf32, 1>, !migraphx.shaped<4xsi8, 1> -> <4xf32, 1>
  %3 = migraphx.dequantizelinear %x, %s, %z : <4xsi8, 1>, <4xf32, 1>, !migraphx.shaped<4xsi8, 1> -> <4xf32, 1>
  // CHECK: migraphx.quantizelinear %[[D]], %[[S]] : <4xf32, 1>, <4xf32, 1> -> <4xsi8, 1>
  %4 = migraphx.quantizelinear %3, %s : <4xf32, 1>, <4xf32, 1> -> <4xsi8, 1>
  return
}

// -----

// CHECK-LABEL: func.func @scaled
// CHECK-SAME: (%[[A:[^:]*]]: {{.*}}, %[[B:[^:]*]]: {{.*}}, %[[S:[^:]*]]: {{.*}}, %[[T:[^:]*]]: !mig
func.func @scaled(%a: !migraphx.shaped<2x4xf4E2M1FN, 4x1>, %b: !migraphx.shaped<4x2xf4E2M1FN, 2x1>,
    %s: !migraphx.shaped<2x4xf8E8M0FNU, 4x1>, %t: !migraphx.shaped<4x2xf32, 2x1>) {
  // CHECK: migraphx.quant_dot %[[A]] scaled by %[[S]], %[[B]] scaled by %[[T]] :
  // CHECK-SAME: {{.*}}<2x4xf4E2M1FN, 4x1> scaled by !migraphx.shaped<2x4xf8E8M0FNU, 4x1>,
  // CHECK-SAME: {{.*}}<4x2xf4E2M1FN, 2x1> scaled by !migraphx.shaped<4x2xf32, 2x1> -> <2x2xf32, 2x1>
  %0 = migraphx.quant_dot %a scaled
      by %s, %b scaled by %t
      : <2x4xf4E2M1FN, 4x1> scaled by !migraphx.shaped<2x4xf8E8M0FNU, 4x1>,
        <4x2xf4E2M1FN, 2x1> scaled by !migraphx.shaped<4x2xf32, 2x1> -> <2x2xf32, 2x1>
  return
}

// -----

// CHECK-LABEL: func.func @attention
// CHECK-SAME: (%[[Q:[^:]*]]: {{.*}}, %[[K:[^:]*]]: {{.*}}, %[[V:[^:]*]]: {{.*}}, %[[B:[^:]*]]: {{.*}}, %[[L:[^:]*]]: !migraphx.shaped<1xi32, 1>)
func.func @attention(%q: !migraphx.shaped<1x4x8xf32, 32x8x1>, %k: !migraphx.shaped<1x8x4xf32, 32x4x1>,
    %v: !migraphx.shaped<1x4x8xf32, 32x8x1>, %b: !migraphx.shaped<1x4x4xf32, 16x4x1>,
    %l: !migraphx.shaped<1xi32, 1>)
    -> (!migraphx.shaped<1x4x8xf32, 32x8x1>, !migraphx.shaped<1x4xf32, 4x1>) {
  // CHECK: %[[R:.*]]:2 = migraphx.attention %[[Q]], %[[K]], %[[V]]
  // CHECK-SAME: {{.*}}pre_softmax_inputs(%[[B]] : !migraphx.shaped<1x4x4xf32, 16x4x1>)
  // CHECK-SAME: {{.*}}current_seq_len(%[[L]] : !migraphx.shaped<1xi32, 1>) {
  // CHECK-NEXT: ^bb0(%[[QK:.*]]: !migraphx.shaped<1x4x4xf32, 16x4x1>, %[[BIAS:.*]]: !migraphx.shaped<1x4x4xf32, 16x4x1>):
  // CHECK-NEXT: %[[SUM:.*]] = migraphx.add %[[QK]], %[[BIAS]] :
  // CHECK-NEXT: migraphx.yield %[[SUM]] : !migraphx.shaped<1x4x4xf32, 16x4x1>
  // CHECK-NEXT: } softmax_type = f32 features = "kvcache|causal" :
  // CHECK-SAME: {{.*}}<1x4x8xf32, 32x8x1>, <1x8x4xf32, 32x4x1>, <1x4x8xf32, 32x8x1> -> <1x4x8xf32, 32x8x1>, !migraphx.shaped<1x4xf32, 4x1>
  %0:2 = migraphx.attention %q, %k, %v
      pre_softmax_inputs(%b : !migraphx.shaped<1x4x4xf32, 16x4x1>)
      current_seq_len(%l : !migraphx.shaped<1xi32, 1>) {
  ^bb0(%qk: !migraphx.shaped<1x4x4xf32, 16x4x1>, %bias: !migraphx.shaped<1x4x4xf32, 16x4x1>):
    %sum = migraphx.add %qk, %bias : <1x4x4xf32, 16x4x1>, <1x4x4xf32, 16x4x1> -> <1x4x4xf32, 16x4x1>
    migraphx.yield %sum : !migraphx.shaped<1x4x4xf32, 16x4x1>
  } softmax_type = f32 features = "causal|kvcache"
      : <1x4x8xf32, 32x8x1>, <1x8x4xf32, 32x4x1>, <1x4x8xf32, 32x8x1>
      -> <1x4x8xf32, 32x8x1>, !migraphx.shaped<1x4xf32, 4x1>
  // CHECK: migraphx.attention %[[Q]], %[[K]], %[[V]] {
  // CHECK: } features = causal :
  %1 = migraphx.attention %q, %k, %v { } features = causal
      : <1x4x8xf32, 32x8x1>, <1x8x4xf32, 32x4x1>, <1x4x8xf32, 32x8x1> -> <1x4x8xf32, 32x8x1>
  // CHECK: migraphx.attention %[[Q]], %[[K]], %[[V]] prefix_offset(%[[L]] : !migraphx.shaped<1xi32, 1>) {
  // CHECK: } features = "causal|prefix_offset|splitkv" splitKV = 2 {perf_config = "attn:v3"} :
  %2:2 = migraphx.attention %q, %k, %v prefix_offset(%l : !migraphx.shaped<1xi32, 1>) {
    migraphx.yield
  } features = "splitkv|causal|prefix_offset" splitKV = 2 {perf_config = "attn:v3"}
      : <1x4x8xf32, 32x8x1>, <1x8x4xf32, 32x4x1>, <1x4x8xf32, 32x8x1>
      -> <1x2x4x8xf32, 64x32x8x1>, !migraphx.shaped<1x2x4xf32, 8x4x1>
  // CHECK: } features = "kvcache|sliding_window" slidingWindowSize = 3 :
  %3 = migraphx.attention %q, %k, %v current_seq_len(%l : !migraphx.shaped<1xi32, 1>) { }
      features = "kvcache|sliding_window" slidingWindowSize = 3
      : <1x4x8xf32, 32x8x1>, <1x8x4xf32, 32x4x1>, <1x4x8xf32, 32x8x1> -> <1x4x8xf32, 32x8x1>
  return %0#0, %0#1 : !migraphx.shaped<1x4x8xf32, 32x8x1>, !migraphx.shaped<1x4xf32, 4x1>
}

// -----

// The generic form as rocMLIR prints it, with properties apart from other attributes.

// CHECK-LABEL: func.func @properties
// CHECK-SAME: (%[[X:[^:]*]]: {{.*}}, %[[B:[^:]*]]: !migraphx.shaped<1x3x3xf32, 9x3x1>, %[[L:[^:]*]]: {{.*}}) -> !migraphx.shaped<1x3x3xf32, 9x3x1>
"func.func"() <{function_type = (!migraphx.shaped<1x3x3xf32, 9x3x1>, !migraphx.shaped<1x3x3xf32, 9x3x1>, !migraphx.shaped<1xi32, 1>) -> !migraphx.shaped<1x3x3xf32, 9x3x1>, sym_name = "properties"}> ({
^bb0(%x: !migraphx.shaped<1x3x3xf32, 9x3x1>, %b: !migraphx.shaped<1x3x3xf32, 9x3x1>, %l: !migraphx.shaped<1xi32, 1>):
  // CHECK: %[[T:.*]] = migraphx.transpose %[[X]] {note, permutation = [0, 2, 1]} :
  %0 = "migraphx.transpose"(%x) <{permutation = [0, 2, 1]}> {note} : (!migraphx.shaped<1x3x3xf32, 9x3x1>) -> !migraphx.shaped<1x3x3xf32, 9x1x3>
  // CHECK: migraphx.attention %[[X]], %[[T]], %[[X]] pre_softmax_inputs(%[[B]] : !migraphx.shaped<1x3x3xf32, 9x3x1>) current_seq_len(%[[L]] :
  // CHECK: } softmax_type = f32 features = "kvcache|causal|sliding_window" slidingWindowSize = 2 {perf_config = "v3"} :
  %1 = "migraphx.attention"(%x, %0, %x, %b, %l) <{features = 11 : i32, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, slidingWindowSize = 2 : i32, softmaxType = f32}> ({
  ^bb0(%qk: !migraphx.shaped<1x3x3xf32, 9x3x1>, %bias: !migraphx.shaped<1x3x3xf32, 9x3x1>):
    %2 = "migraphx.add"(%qk, %bias) : (!migraphx.shaped<1x3x3xf32, 9x3x1>, !migraphx.shaped<1x3x3xf32, 9x3x1>) -> !migraphx.shaped<1x3x3xf32, 9x3x1>
    "migraphx.yield"(%2) : (!migraphx.shaped<1x3x3xf32, 9x3x1>) -> ()
  }) {perf_config = "v3"} : (!migraphx.shaped<1x3x3xf32, 9x3x1>, !migraphx.shaped<1x3x3xf32, 9x1x3>, !migraphx.shaped<1x3x3xf32, 9x3x1>, !migraphx.shaped<1x3x3xf32, 9x3x1>, !migraphx.shaped<1xi32, 1>) -> !migraphx.shaped<1x3x3xf32, 9x3x1>
  "func.return"(%1) : (!migraphx.shaped<1x3x3xf32, 9x3x1>) -> ()
}) : () -> ()

// -----

// Signs were attributes before types had them.

// CHECK-LABEL: func.func @unsigned_attributes
func.func @unsigned_attributes(%x: !migraphx.shaped<8x4xi4, 4x1>, %y: !migraphx.shaped<8x2xi8, 2x1>) {
  // CHECK: migraphx.convert zero_extend %{{.*}} : <8x4xi4, 4x1> to <8x4xi8, 4x1>
  %0 = migraphx.convert zero_extend %x : <8x4xi4, 4x1> to <8x4xi8, 4x1>
  // CHECK: migraphx.unpack %{{.*}} {axis = 1 : i64, isUnsigned = true} : <8x2xi8, 2x1> -> <8x4xi8, 4x1>
  %1 = migraphx.unpack %y {axis = 1 : i64, isUnsigned = true} : <8x2xi8, 2x1> -> <8x4xi8, 4x1>
  return
}

// -----

// Modules of 2022 have operands in brackets, those of 2021 the generic form; both are on builtin
// tensors, which native syntax does not know, and stay generic.

// CHECK-LABEL: func.func @brackets
func.func @brackets(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  // CHECK: %[[D:.*]] = "migraphx.dot"(%{{.*}}, %{{.*}}) {xdlopsV2 = true} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %0 = migraphx.dot(%a, %b) {xdlopsV2 = true} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // CHECK: "migraphx.relu"(%[[D]])
  %1 = "migraphx.relu"(%0) : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %1 : tensor<2x3x5xf32>
}

// -----

// Several modules in one file.

// CHECK: module @one
module @one { func.func @f(%x: !migraphx.shaped<1xf32, 0>) { return } }
// CHECK: module @two
module @two { func.func @f(%x: !migraphx.shaped<1xf32, 0>) { return } }
