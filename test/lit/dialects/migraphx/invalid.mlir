// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics

// What is wrong is told at its place, in rocMLIR's words.

// expected-error @+1 {{migraphx.shaped type has 1 elements in its shape but 2 strides defined}}
func.func @strides(%x: !migraphx.shaped<1xf32, 1x1>) { return }

// -----

// expected-error @+1 {{expected `,` and a `x`-separated list in non-scalar migraphx.shaped type}}
func.func @no_strides(%x: !migraphx.shaped<1x2xf32>) { return }

// -----

// expected-error @+1 {{expected shaped dimension list with type}}
func.func @element(%x: !migraphx.shaped<1xf33, 1>) { return }

// -----

// expected-error @+1 {{expected shaped dimension list with type}}
func.func @no_element(%x: !migraphx.shaped<2x3, 3x1>) { return }

// -----

// expected-error @+1 {{expected shaped dimension list with type}}
func.func @empty(%x: !migraphx.shaped<>) { return }

// -----

// expected-error @+1 {{expected `>`}}
func.func @scalar_strides(%x: !migraphx.shaped<f32, 1>) { return }

// -----

// expected-error @+1 {{expected `,` and a `x`-separated list in non-scalar migraphx.shaped type}}
func.func @no_comma(%x: !migraphx.shaped<2x3xf32 3x1>) { return }

// -----

func.func @unknown(%x: !migraphx.shaped<1xf32, 1>) {
  // expected-error @+1 {{custom op 'migraphx.cosine' is unknown}}
  %0 = migraphx.cosine %x : <1xf32, 1> -> <1xf32, 1>
  return
}

// -----

func.func @operand_count(%x: !migraphx.shaped<1xf32, 1>) {
  // expected-error @+1 {{'migraphx.add' op 1 operands present, but expected 2}}
  %0 = migraphx.add %x : <1xf32, 1>, <1xf32, 1> -> <1xf32, 1>
  return
}

// -----

func.func @too_few(%x: !migraphx.shaped<1xf32, 1>) {
  // expected-error @+1 {{'migraphx.add' op expected 2 operands, but found 1}}
  %0 = migraphx.add %x : <1xf32, 1> -> <1xf32, 1>
  return
}

// -----

func.func @too_many(%x: !migraphx.shaped<1xf32, 1>) {
  // expected-error @+1 {{'migraphx.add' op expected 2 operands, but found 3}}
  %0 = migraphx.add %x, %x, %x : <1xf32, 1>, <1xf32, 1>, <1xf32, 1> -> <1xf32, 1>
  return
}

// -----

func.func @segments(%x: !migraphx.shaped<4x4xi8, 4x1>) {
  // expected-error @+1 {{'migraphx.quant_dot' op expected 3 operands by 'operandSegmentSizes', but found 2}}
  %0 = "migraphx.quant_dot"(%x, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (!migraphx.shaped<4x4xi8, 4x1>, !migraphx.shaped<4x4xi8, 4x1>) -> !migraphx.shaped<4x4xi32, 4x1>
  return
}

// -----

// Both scales are operands, so the second of them is the fourth operand.
func.func @scale(%x: !migraphx.shaped<4x4xf4E2M1FN, 4x1>, %s: !migraphx.shaped<4x4xf32, 4x1>, %t: !migraphx.shaped<4x4xf16, 4x1>) {
  // expected-error @+1 {{'migraphx.quant_dot' op operand #3 must be !migraphx.shaped of f8E8M0FNU type or 32-bit float values, but got '!migraphx.shaped<4x4xf16, 4x1>'}}
  %0 = "migraphx.quant_dot"(%x, %x, %s, %t) : (!migraphx.shaped<4x4xf4E2M1FN, 4x1>, !migraphx.shaped<4x4xf4E2M1FN, 4x1>, !migraphx.shaped<4x4xf32, 4x1>, !migraphx.shaped<4x4xf16, 4x1>) -> !migraphx.shaped<4x4xf32, 4x1>
  return
}

// -----

func.func @product(%x: !migraphx.shaped<4x4xf32, 4x1>) {
  // expected-error @+1 {{'migraphx.dot' op result #0 must be !migraphx.shaped of 32-bit float or 16-bit float or bfloat16 type values, but got '!migraphx.shaped<4x4xi32, 4x1>'}}
  %0 = migraphx.dot %x, %x : <4x4xf32, 4x1>, <4x4xf32, 4x1> -> <4x4xi32, 4x1>
  return
}

// -----

func.func @arrow(%x: !migraphx.shaped<1xf32, 1>) {
  // expected-error @+1 {{expected '->'}}
  %0 = migraphx.abs %x : <1xf32, 1>
  return
}

// -----

func.func @no_attribute(%x: !migraphx.shaped<1x4xf32, 4x1>) {
  // expected-error @+1 {{'migraphx.softmax' op requires attribute 'axis'}}
  %0 = migraphx.softmax %x : <1x4xf32, 4x1> -> <1x4xf32, 4x1>
  return
}

// -----

func.func @wrong_attribute(%x: !migraphx.shaped<1x4xf32, 4x1>) {
  // expected-error @+1 {{'migraphx.softmax' op attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute}}
  %0 = migraphx.softmax %x {axis = "1"} : <1x4xf32, 4x1> -> <1x4xf32, 4x1>
  return
}

// -----

func.func @condition(%c: !migraphx.shaped<4xf32, 1>) {
  // expected-error @+1 {{'migraphx.where' op operand #0 must be !migraphx.shaped of 8-bit signless integer or 8-bit signed integer or 8-bit unsigned integer values, but got '!migraphx.shaped<4xf32, 1>'}}
  %0 = migraphx.where %c, %c, %c : <4xf32, 1>, <4xf32, 1>, <4xf32, 1> -> <4xf32, 1>
  return
}

// -----

func.func @first_of_several(%x: !migraphx.shaped<2x4xf32, 4x1>) -> !migraphx.shaped<8xf32, 1> {
  // The operation is wrong, not the return that does not fit because of it.
  // expected-error @+1 {{'migraphx.transpose' op expected a permutation of 2 dimensions, but found [0, 0]}}
  %0 = migraphx.transpose %x {permutation = [0, 0]} : <2x4xf32, 4x1> -> <4x2xf32, 1x4>
  return %0 : !migraphx.shaped<4x2xf32, 1x4>
}

// -----

func.func @return_alone(%x: !migraphx.shaped<2xf32, 1>) -> !migraphx.shaped<8xf32, 1> {
  // expected-error @+2 {{type of return operand 0}}
  // expected-note @+1 {{see current operation}}
  return %x : !migraphx.shaped<2xf32, 1>
}

// -----

func.func @unpack(%x: !migraphx.shaped<2x4xi8, 4x1>) {
  // expected-error @+1 {{'migraphx.unpack' op axis out of range of shape: 2}}
  %0 = migraphx.unpack %x {axis = 2 : i64} : <2x4xi8, 4x1> -> <2x8xi8, 8x1>
  // expected-error @+1 {{'migraphx.unpack' op expected length along input axis to be half the length along output axis}}
  %1 = migraphx.unpack %x {axis = 1 : i64} : <2x4xi8, 4x1> -> <2x4xi8, 4x1>
  return
}

// -----

func.func @slice(%x: !migraphx.shaped<2x4xf32, 4x1>) {
  // expected-error @+1 {{'migraphx.slice' op axes, starts, and ends must have the same size}}
  %0 = migraphx.slice %x {axes = [1], starts = [1, 0], ends = [3]} : <2x4xf32, 4x1> -> <2x2xf32, 4x1>
  // expected-error @+1 {{'migraphx.slice' op input and output shapes must have the same rank}}
  %1 = migraphx.slice %x {axes = [1], starts = [1], ends = [3]} : <2x4xf32, 4x1> -> <2xf32, 1>
  // expected-error @+1 {{'migraphx.slice' op all attribute must non non-negative}}
  %2 = migraphx.slice %x {axes = [-1], starts = [1], ends = [3]} : <2x4xf32, 4x1> -> <2x2xf32, 4x1>
  // expected-error @+1 {{'migraphx.slice' op all attribute must non non-negative}}
  %3 = migraphx.slice %x {axes = [1], starts = [0], ends = [-1]} : <2x4xf32, 4x1> -> <2x2xf32, 4x1>
  // expected-error @+1 {{'migraphx.slice' op axes is greater than input rank}}
  %4 = migraphx.slice %x {axes = [2], starts = [0], ends = [3]} : <2x4xf32, 4x1> -> <2x4xf32, 4x1>
  // expected-error @+1 {{'migraphx.slice' op start is greater or equal to end}}
  %5 = migraphx.slice %x {axes = [1], starts = [3], ends = [1]} : <2x4xf32, 4x1> -> <2x2xf32, 4x1>
  // expected-error @+1 {{'migraphx.slice' op end is greater than input shape}}
  %6 = migraphx.slice %x {axes = [1], starts = [0], ends = [5]} : <2x4xf32, 4x1> -> <2x5xf32, 5x1>
  // expected-error @+1 {{'migraphx.slice' op input shape and attribute does not infer output shape}}
  %7 = migraphx.slice %x {axes = [1], starts = [1], ends = [3]} : <2x4xf32, 4x1> -> <2x3xf32, 4x1>
  // expected-error @+1 {{'migraphx.slice' op axes must not have duplicates}}
  %8 = migraphx.slice %x {axes = [1, 1], starts = [1, 1], ends = [3, 3]} : <2x4xf32, 4x1> -> <2x2xf32, 4x1>
  // Whole-model dumps mean these.
  %9 = migraphx.slice %x {axes = [1], starts = [1], ends = [-1]} : <2x4xf32, 4x1> -> <2x2xf32, 4x1>
  %10 = migraphx.slice %x {axes = [1], starts = [1], ends = [9223372036854775807]} : <2x4xf32, 4x1> -> <2x3xf32, 4x1>
  return
}

// -----

func.func @literal() {
  // expected-error @+1 {{'migraphx.literal' op strides of non-splat literal are not in standard shape}}
  %0 = migraphx.literal(dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>) : <2x2xi32, 1x2>
  // expected-error @+1 {{'migraphx.literal' op non-splat literals must have a value that matches the literal's logical shape}}
  %1 = migraphx.literal(dense<[1, 2, 3, 4]> : tensor<4xi32>) : <2x2xi32, 2x1>
  return
}

// -----

func.func @shapes(%x: !migraphx.shaped<2x4xf32, 4x1>, %y: !migraphx.shaped<2x2xf32, 2x1>, %c: !migraphx.shaped<2x2xi8, 2x1>) {
  // expected-error @+1 {{'migraphx.exp' op failed to verify that all of {inA, output} have same shape}}
  %0 = migraphx.exp %x : <2x4xf32, 4x1> -> <8xf32, 1>
  // expected-error @+1 {{'migraphx.convert' op failed to verify that all of {inA, output} have same shape}}
  %1 = migraphx.convert %x : <2x4xf32, 4x1> to <2x2xf16, 2x1>
  // expected-error @+1 {{'migraphx.clip' op failed to verify that all of {x, minVals, maxVals, output} have same shape}}
  %2 = migraphx.clip %x, %y, %x : <2x4xf32, 4x1>, <2x2xf32, 2x1>, <2x4xf32, 4x1> -> <2x4xf32, 4x1>
  // expected-error @+1 {{'migraphx.where' op failed to verify that all of {inA, inB, output, cond} have same shape}}
  %3 = migraphx.where %c, %x, %x : <2x2xi8, 2x1>, <2x4xf32, 4x1>, <2x4xf32, 4x1> -> <2x4xf32, 4x1>
  return
}

// -----

func.func @elements(%x: !migraphx.shaped<4xf32, 1>, %y: !migraphx.shaped<4xf16, 1>, %i: !migraphx.shaped<4xi32, 1>, %c: !migraphx.shaped<4xi8, 1>) {
  // expected-error @+1 {{'migraphx.clip' op failed to verify that all of {x, minVals, maxVals, output} have same element type}}
  %0 = migraphx.clip %x, %y, %x : <4xf32, 1>, <4xf16, 1>, <4xf32, 1> -> <4xf32, 1>
  // expected-error @+1 {{'migraphx.where' op failed to verify that all of {inA, inB, output} have same element type}}
  %1 = migraphx.where %c, %x, %y : <4xi8, 1>, <4xf32, 1>, <4xf16, 1> -> <4xf32, 1>
  // expected-error @+1 {{'migraphx.sigmoid' op only support floating point}}
  %2 = migraphx.sigmoid %i : <4xi32, 1> -> <4xi32, 1>
  // expected-error @+1 {{'migraphx.erf' op operand #0 must be !migraphx.shaped of floating-point values, but got '!migraphx.shaped<4xi32, 1>'}}
  %3 = migraphx.erf %i : <4xi32, 1> -> <4xi32, 1>
  // expected-error @+1 {{'migraphx.quantizelinear' op failed to verify that output and bias must have the same element type}}
  %4 = migraphx.quantizelinear %x, %x, %i : <4xf32, 1>, <4xf32, 1>, !migraphx.shaped<4xi32, 1> -> <4xf16, 1>
  // expected-error @+1 {{'migraphx.dequantizelinear' op failed to verify that all of {scale, output} have same element type}}
  %5 = migraphx.dequantizelinear %i, %y : <4xi32, 1>, <4xf16, 1> -> <4xf32, 1>
  return
}

// -----

func.func @dot(%a: !migraphx.shaped<2x4x8xf16, 32x8x1>, %b: !migraphx.shaped<2x4x8xf16, 32x8x1>, %f: !migraphx.shaped<8xf16, 1>) {
  // expected-error @+1 {{'migraphx.dot' op contraction dimension mismatch: the first operand ('!migraphx.shaped<2x4x8xf16, 32x8x1>') and the second operand ('!migraphx.shaped<2x4x8xf16, 32x8x1>') have incompatible contraction dimensions}}
  %0 = migraphx.dot %a, %b : <2x4x8xf16, 32x8x1>, <2x4x8xf16, 32x8x1> -> <2x4x8xf16, 32x8x1>
  // expected-error @+1 {{'migraphx.dot' op expect operand to have rank greater or equal to 2}}
  %1 = migraphx.dot %f, %a : <8xf16, 1>, <2x4x8xf16, 32x8x1> -> <2x8xf16, 8x1>
  return
}

// -----

func.func @reshape(%x: !migraphx.shaped<2x4xf32, 4x1>) {
  // expected-error @+1 {{'migraphx.reshape' op Non -1 negative values are not supported}}
  %0 = migraphx.reshape %x {dims = [-2, 4]} : <2x4xf32, 4x1> -> <2x4xf32, 4x1>
  // expected-error @+1 {{'migraphx.reshape' op Negative output dimensions are not supported}}
  %1 = migraphx.reshape %x {dims = [-1, 4]} : <2x4xf32, 4x1> -> <?x4xf32, 4x1>
  return
}

// -----

func.func @max(%x: !migraphx.shaped<2xi1, 1>) {
  // expected-error @+1 {{'migraphx.max' op does not support one-bit integer element types}}
  %0 = migraphx.max %x, %x : <2xi1, 1>, <2xi1, 1> -> <2xi1, 1>
  return
}
