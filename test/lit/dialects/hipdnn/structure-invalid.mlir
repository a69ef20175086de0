// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics

// The rules of containers, views, executables and calls, each broken once.

func.func @argument_types(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected block arguments (tensor<4xf32>) like the operands, but found (tensor<4xf16>)}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf16>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4xf16>) -> tensor<4xf32>
    "hipdnn.yield"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @yielded_types(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected to yield (tensor<4xf32>) like the results, but found (tensor<4xf16>)}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4xf32>) -> tensor<4xf16>
    "hipdnn.yield"(%1) : (tensor<4xf16>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @no_yield(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected the body to end with 'hipdnn.yield'}}
  "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
  }) : (tensor<4xf32>) -> ()
  return
}

func.func @two_blocks(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected one block, but found 2}}
  "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    "hipdnn.yield"() : () -> ()
  ^bb1:
    "hipdnn.yield"() : () -> ()
  }) : (tensor<4xf32>) -> ()
  return
}

func.func @yield_elsewhere(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.yield' op expected to be in a container, but is in 'func.func'}}
  "hipdnn.yield"(%x) : (tensor<4xf32>) -> ()
  return
}

func.func @computes_nothing(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op computes nothing}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    "hipdnn.yield"(%g) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// Reading the same argument or constant does not connect, neither in hipDNN nor here.
func.func @separate_parts(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected connected ops, but found 2 separate parts}}
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    %c = arith.constant dense<2.0> : tensor<1xf32>
    %1 = "hipdnn.pointwise"(%g, %c) {mode = "mul"} : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    %2 = "hipdnn.pointwise"(%g, %c) {mode = "add"} : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    "hipdnn.yield"(%1, %2) : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// Only hipgraft's own engine joins products of one left factor.
func.func @products(%x: tensor<4x4xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected connected ops, but found 2 separate parts}}
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x4xf32>):
    %1 = "hipdnn.matmul"(%g, %g) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "hipdnn.matmul"(%g, %g) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%1, %2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

func.func @products_of_right_factor(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected connected ops, but found 2 separate parts}}
  %0:2 = "hipdnn.graph"(%x, %y) ({
  ^bb0(%g: tensor<4x4xf32>, %h: tensor<4x4xf32>):
    %1 = "hipdnn.matmul"(%g, %h) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = "hipdnn.matmul"(%h, %h) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%1, %2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  }) {engine = "iree"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

func.func @separate_parts_of_fallback(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.fallback' op expected connected ops, but found 2 separate parts}}
  %0:2 = "hipdnn.fallback"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    %t = torch_c.from_builtin_tensor %g : tensor<4xf32> -> !torch.vtensor<[4],f32>
    %1 = torch.aten.exp %t : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    %2 = torch.aten.sin %t : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    %3 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[4],f32> -> tensor<4xf32>
    %4 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[4],f32> -> tensor<4xf32>
    "hipdnn.yield"(%3, %4) : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

func.func @value_from_outside(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op 'hipdnn.pointwise' in it uses a value that is not defined before it in the body}}
  %0 = "hipdnn.graph"() ({
    %1 = "hipdnn.pointwise"(%x) {mode = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
    "hipdnn.yield"(%1) : (tensor<4xf32>) -> ()
  }) : () -> tensor<4xf32>
  return
}

func.func @cycle(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op 'hipdnn.pointwise' in it uses a value that is not defined before it in the body}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    %1 = "hipdnn.pointwise"(%2, %g) {mode = "add"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
    "hipdnn.yield"(%2) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @torch_op_in_graph(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op holds 'torch_c.from_builtin_tensor', which is not allowed in it}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    %t = torch_c.from_builtin_tensor %g : tensor<4xf32> -> !torch.vtensor<[4],f32>
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4xf32>) -> tensor<4xf32>
    "hipdnn.yield"(%1) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @view_in_graph(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op holds 'hipdnn.view', which is not allowed in it}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4xf32>):
    %1 = "hipdnn.view"(%g) {offset = 0 : i64, strides = array<i64: 2, 1>} : (tensor<4xf32>) -> tensor<2x2xf32>
    %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    "hipdnn.yield"(%2) : (tensor<2x2xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<2x2xf32>
  return
}

func.func @layouts(%x: tensor<4x2xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected 1 layouts in 'arg_strides', but found 2}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x2xf32>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    "hipdnn.yield"(%1) : (tensor<4x2xf32>) -> ()
  }) {arg_strides = [unit, unit]} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-error @below {{'hipdnn.graph' op expected 2 strides in layout 0 of 'result_strides', but found 1}}
  %2 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x2xf32>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    "hipdnn.yield"(%1) : (tensor<4x2xf32>) -> ()
  }) {result_strides = [array<i64: 1>]} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-error @below {{'hipdnn.graph' op expected strides of at least 0 in layout 0 of 'arg_strides'}}
  %3 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x2xf32>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    "hipdnn.yield"(%1) : (tensor<4x2xf32>) -> ()
  }) {arg_strides = [array<i64: -2, 1>]} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-error @below {{'hipdnn.graph' op expected layout 0 of 'result_strides' to give each element its own offset}}
  %4 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x2xf32>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    "hipdnn.yield"(%1) : (tensor<4x2xf32>) -> ()
  }) {result_strides = [array<i64: 1, 1>]} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-error @below {{'hipdnn.graph' op expected 1 values in 'arg_offsets', but found 2}}
  %5 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x2xf32>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    "hipdnn.yield"(%1) : (tensor<4x2xf32>) -> ()
  }) {arg_offsets = array<i64: 0, 0>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  // expected-error @below {{'hipdnn.graph' op expected values of at least 0 in 'arg_offsets'}}
  %6 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<4x2xf32>):
    %1 = "hipdnn.pointwise"(%g) {mode = "exp"} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    "hipdnn.yield"(%1) : (tensor<4x2xf32>) -> ()
  }) {arg_offsets = array<i64: -1>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}

func.func @views(%x: tensor<4x6xf32>) {
  // expected-error @below {{'hipdnn.view' op expected element type f32 of the result, but found f16}}
  %0 = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<24xf16>
  // expected-error @below {{'hipdnn.view' op expected 2 strides, but found 1}}
  %1 = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // expected-error @below {{'hipdnn.view' op expected an offset and strides of at least 0}}
  %2 = "hipdnn.view"(%x) {offset = 23 : i64, strides = array<i64: -1>} : (tensor<4x6xf32>) -> tensor<24xf32>
  // expected-error @below {{'hipdnn.view' op reaches element 24 of an operand of 24 elements (4x6)}}
  %3 = "hipdnn.view"(%x) {offset = 1 : i64, strides = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<24xf32>
  %4 = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<4x6xf32>) -> tensor<24xf32>
  // expected-error @below {{'hipdnn.view' op operand is itself a view}}
  %5 = "hipdnn.view"(%4) {offset = 0 : i64, strides = array<i64: 1>} : (tensor<24xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-error @below {{'hipdnn.executable' op expected tensors in its signature, but found f32}}
"hipdnn.executable"() {sym_name = "a", operand_types = [f32], result_types = [], binaries = []} : () -> ()

// expected-error @below {{'hipdnn.executable' op expected 0 layouts in 'arg_strides', but found 1}}
"hipdnn.executable"() {sym_name = "b", operand_types = [], result_types = [], arg_strides = [unit], binaries = []} : () -> ()

// expected-error @below {{'hipdnn.executable' op expected 'objects' in a binary}}
"hipdnn.executable"() {
  sym_name = "c", operand_types = [], result_types = [],
  binaries = [{target = "cpu", format = "vmfb", workspace_size = 0 : i64}]
} : () -> ()

// expected-error @below {{'hipdnn.executable' op expected a step of fill, copy, dispatch, but found 'wait'}}
"hipdnn.executable"() {
  sym_name = "d", operand_types = [], result_types = [],
  binaries = [{target = "gfx942", format = "hsaco", objects = [], workspace_size = 0 : i64, steps = [{op = "wait"}]}]
} : () -> ()

// One tensor: buffer 0; the workspace is buffer 1.
// expected-error @below {{'hipdnn.executable' op expected 'buffer' of a fill in [0, 1], but found 2 : i64}}
"hipdnn.executable"() {
  sym_name = "e", operand_types = [tensor<4xf32>], result_types = [],
  binaries = [{
    target = "gfx942", format = "hsaco", objects = [], workspace_size = 0 : i64,
    steps = [{op = "fill", buffer = 2 : i64, offset = 0 : i64, length = 16 : i64, pattern = 0 : i64, pattern_length = 4 : i64}]
  }]
} : () -> ()

// expected-error @below {{'hipdnn.executable' op expected an object in [0, 1), but found 1 : i64}}
"hipdnn.executable"() {
  sym_name = "f", operand_types = [], result_types = [],
  binaries = [{
    target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64,
    steps = [{op = "dispatch", object = 1 : i64, kernel = "k", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>,
              dynamic_shared_memory = 0 : i64, bindings = [], constants = array<i32>}]
  }]
} : () -> ()

// expected-error @below {{'hipdnn.executable' op expected 3 values in 'grid', but found array<i64: 1>}}
"hipdnn.executable"() {
  sym_name = "g", operand_types = [], result_types = [],
  binaries = [{
    target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64,
    steps = [{op = "dispatch", object = 0 : i64, kernel = "k", grid = array<i64: 1>, block = array<i64: 64, 1, 1>,
              dynamic_shared_memory = 0 : i64, bindings = [], constants = array<i32>}]
  }]
} : () -> ()

// expected-error @below {{'hipdnn.executable' op expected 'access' of a binding to be string, but found 1 : i64}}
"hipdnn.executable"() {
  sym_name = "h", operand_types = [], result_types = [],
  binaries = [{
    target = "gfx942", format = "hsaco", objects = ["\7FELF"], workspace_size = 0 : i64,
    steps = [{op = "dispatch", object = 0 : i64, kernel = "k", grid = array<i64: 1, 1, 1>, block = array<i64: 64, 1, 1>,
              dynamic_shared_memory = 0 : i64, constants = array<i32>,
              bindings = [{buffer = 0 : i64, offset = 0 : i64, length = 4 : i64, access = 1 : i64}]}]
  }]
} : () -> ()

func.func @ragged_count(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected 1 values in 'arg_ragged', but found 2}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<4xf32>):
    %1 = "hipdnn.pointwise"(%gx) {mode = "neg"} : (tensor<4xf32>) -> tensor<4xf32>
    "hipdnn.yield"(%1) : (tensor<4xf32>) -> ()
  }) {arg_ragged = array<i64: -1, -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

func.func @ragged_operand(%x: tensor<4xf32>) {
  // expected-error @below {{'hipdnn.graph' op expected values in [-1, 1) in 'result_ragged'}}
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%gx: tensor<4xf32>):
    %1 = "hipdnn.pointwise"(%gx) {mode = "neg"} : (tensor<4xf32>) -> tensor<4xf32>
    "hipdnn.yield"(%1) : (tensor<4xf32>) -> ()
  }) {result_ragged = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Symbols are looked up once everything else is right.

"hipdnn.executable"() {
  sym_name = "exp", operand_types = [tensor<4xf32>], result_types = [tensor<4xf32>], binaries = []
} : () -> ()

func.func @calls(%x: tensor<4xf32>, %y: tensor<4xf16>, %m: memref<4xf32>) {
  // expected-error @below {{'hipdnn.execute' op '@log' does not reference a 'hipdnn.executable'}}
  %0 = "hipdnn.execute"(%x) {callee = @log} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{'hipdnn.execute' op expected operands (tensor<4xf32>) of '@exp', but found (tensor<4xf16>)}}
  %1 = "hipdnn.execute"(%y) {callee = @exp} : (tensor<4xf16>) -> tensor<4xf32>
  // expected-error @below {{'hipdnn.execute' op expected results (tensor<4xf32>) of '@exp', but found (tensor<4xf16>)}}
  %2 = "hipdnn.execute"(%x) {callee = @exp} : (tensor<4xf32>) -> tensor<4xf16>
  // expected-error @below {{'hipdnn.execute' op expected operands (tensor<4xf32>, tensor<4xf32>) of '@exp', but found (memref<4xf32>)}}
  "hipdnn.execute"(%m) {callee = @exp} : (memref<4xf32>) -> ()
  return
}
