// RUN: hipgraft-opt %s | hipgraft-opt | FileCheck %s

// Containers, views, executables and calls print and parse back.

// CHECK-LABEL: func.func @graph
func.func @graph(%x: tensor<8x4xf16>, %w: tensor<4x6xf16>) -> (tensor<8x6xf16>, tensor<8x4xf16>) {
  // CHECK: %[[G:.*]]:2 = "hipdnn.graph"(%{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<8x4xf16>, %[[W:.*]]: tensor<4x6xf16>):
  // CHECK: "hipdnn.yield"(%{{.*}}, %[[X]]) : (tensor<8x6xf16>, tensor<8x4xf16>) -> ()
  // CHECK-NEXT: }) {arg_offsets = array<i64: 0, 24>, arg_strides = [array<i64: 1, 8>, unit], engine = "iree", name = "matmul_0", result_strides = [unit, unit]}
  %0:2 = "hipdnn.graph"(%x, %w) ({
  ^bb0(%gx: tensor<8x4xf16>, %gw: tensor<4x6xf16>):
    %c = arith.constant dense<2.0> : tensor<1xf32>
    %1 = "hipdnn.matmul"(%gx, %gw) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf32>
    %2 = "hipdnn.pointwise"(%1, %c) {mode = "mul"} : (tensor<8x6xf32>, tensor<1xf32>) -> tensor<8x6xf16>
    "hipdnn.yield"(%2, %gx) : (tensor<8x6xf16>, tensor<8x4xf16>) -> ()
  }) {
    name = "matmul_0", engine = "iree", arg_strides = [array<i64: 1, 8>, unit],
    arg_offsets = array<i64: 0, 24>, result_strides = [unit, unit]
  } : (tensor<8x4xf16>, tensor<4x6xf16>) -> (tensor<8x6xf16>, tensor<8x4xf16>)
  return %0#0, %0#1 : tensor<8x6xf16>, tensor<8x4xf16>
}

// Two chains that meet are one component; so are two that start at one computed value.
// CHECK-LABEL: func.func @connected
func.func @connected(%x: tensor<4xf32>) {
  // CHECK: "hipdnn.graph"
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "hipdnn.pointwise"(%g) {mode = "neg"} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "hipdnn.pointwise"(%1, %2) {mode = "add"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %4 = "hipdnn.pointwise"(%3) {mode = "abs"} : (tensor<4xf32>) -> tensor<4xf32>
    %5 = "hipdnn.pointwise"(%3) {mode = "ceil"} : (tensor<4xf32>) -> tensor<4xf32>
    "hipdnn.yield"(%4, %5) : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// CHECK-LABEL: func.func @fallback
func.func @fallback(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK: "hipdnn.fallback"(%{{.*}}) ({
  // CHECK: torch.aten.cumsum
  // CHECK: "hipdnn.pointwise"
  // CHECK: "hipdnn.yield"
  %0 = "hipdnn.fallback"(%x) ({
  ^bb0(%g: tensor<3x4xf32>):
    %1 = torch_c.from_builtin_tensor %g : tensor<3x4xf32> -> !torch.vtensor<[3,4],f32>
    %dim = torch.constant.int 1
    %none = torch.constant.none
    %2 = torch.aten.cumsum %1, %dim, %none : !torch.vtensor<[3,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[3,4],f32>
    %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[3,4],f32> -> tensor<3x4xf32>
    %4 = "hipdnn.pointwise"(%3) {mode = "neg"} : (tensor<3x4xf32>) -> tensor<3x4xf32>
    "hipdnn.yield"(%4) : (tensor<3x4xf32>) -> ()
  }) {name = "cumsum_0"} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<1x12x768xf16>, %s: tensor<1xf16>) {
  // CHECK: "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 768, 64, 1>} : (tensor<1x12x768xf16>) -> tensor<12x12x64xf16>
  %heads = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 768, 64, 1>}
    : (tensor<1x12x768xf16>) -> tensor<12x12x64xf16>
  // The last element of the window is the last of the operand.
  // CHECK: "hipdnn.view"(%{{.*}}) {offset = 9208 : i64, strides = array<i64: 1>}
  %end = "hipdnn.view"(%x) {offset = 9208 : i64, strides = array<i64: 1>}
    : (tensor<1x12x768xf16>) -> tensor<8xf16>
  // CHECK: "hipdnn.view"(%{{.*}}) {offset = 0 : i64, strides = array<i64: 0, 0>}
  %broadcast = "hipdnn.view"(%s) {offset = 0 : i64, strides = array<i64: 0, 0>}
    : (tensor<1xf16>) -> tensor<7x9xf16>
  return
}

// CHECK: "hipdnn.executable"() {{.*}}sym_name = "matmul_0"
"hipdnn.executable"() {
  sym_name = "matmul_0",
  operand_types = [tensor<8x4xf16>, tensor<4x6xf16>], result_types = [tensor<8x6xf16>],
  arg_strides = [array<i64: 1, 8>, unit], arg_offsets = array<i64: 0, 0>, result_strides = [unit],
  binaries = [{
    target = "gfx942", format = "hsaco", objects = ["\7FELF\FF\00"], workspace_size = 64 : i64,
    steps = [
      {op = "fill", buffer = 3 : i64, offset = 0 : i64, length = 64 : i64, pattern = 0 : i64, pattern_length = 4 : i64},
      {op = "copy", source = 0 : i64, source_offset = 0 : i64, target = 3 : i64, target_offset = 0 : i64, length = 64 : i64},
      {op = "dispatch", object = 0 : i64, kernel = "matmul", grid = array<i64: 2, 1, 1>,
       block = array<i64: 64, 1, 1>, dynamic_shared_memory = 0 : i64,
       bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 64 : i64, access = "read"},
                   {buffer = 2 : i64, offset = 0 : i64, length = 96 : i64, access = "write"}],
       constants = array<i32: 1>}
    ]
  }, {
    target = "cpu", format = "vmfb", objects = ["\00"], workspace_size = 0 : i64
  }]
} : () -> ()

// CHECK-LABEL: func.func @execute
func.func @execute(%a: tensor<8x4xf16>, %b: tensor<4x6xf16>) -> tensor<8x6xf16> {
  // CHECK: %{{.*}} = "hipdnn.execute"(%{{.*}}, %{{.*}}) {callee = @matmul_0}
  %0 = "hipdnn.execute"(%a, %b) {callee = @matmul_0} : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
  return %0 : tensor<8x6xf16>
}

// On memrefs the result is the last operand; a layout is no part of the signature.
// CHECK-LABEL: func.func @execute_on_memrefs
func.func @execute_on_memrefs(%a: memref<8x4xf16, strided<[1, 8]>>, %b: memref<4x6xf16>, %c: memref<8x6xf16>) {
  // CHECK: "hipdnn.execute"(%{{.*}}, %{{.*}}, %{{.*}}) {callee = @matmul_0}
  "hipdnn.execute"(%a, %b, %c) {callee = @matmul_0}
    : (memref<8x4xf16, strided<[1, 8]>>, memref<4x6xf16>, memref<8x6xf16>) -> ()
  return
}
