// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics

// What is wrong is told at its place, in rocMLIR's words.

// expected-error @+1 {{migraphx.shaped type has 1 elements in its shape but 2 strides defined}}
func.func @strides(%x: !migraphx.shaped<1xf32, 1x1>) { return }

// -----

// expected-error @+1 {{migraphx.shaped type has 2 elements in its shape but 0 strides defined}}
func.func @no_strides(%x: !migraphx.shaped<1x2xf32>) { return }

// -----

// expected-error @+1 {{invalid element type 'f33' of !migraphx.shaped}}
func.func @element(%x: !migraphx.shaped<1xf33, 1>) { return }

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
  // expected-error @+1 {{'migraphx.where' op operand #0 ('cond') must be !migraphx.shaped of i8 or si8 or ui8 values, but got '!migraphx.shaped<4xf32, 1>'}}
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
  // expected-error @+1 {{'migraphx.unpack' op axis out of range of shape}}
  %0 = migraphx.unpack %x {axis = 2 : i64} : <2x4xi8, 4x1> -> <2x8xi8, 8x1>
  // expected-error @+1 {{'migraphx.unpack' op expected length along input axis to be half the length along output axis}}
  %1 = migraphx.unpack %x {axis = 1 : i64} : <2x4xi8, 4x1> -> <2x4xi8, 4x1>
  return
}

// -----

func.func @slice(%x: !migraphx.shaped<2x4xf32, 4x1>) {
  // expected-error @+1 {{'migraphx.slice' op input shape and attribute does not infer output shape}}
  %0 = migraphx.slice %x {axes = [1], starts = [1], ends = [3]} : <2x4xf32, 4x1> -> <2x3xf32, 4x1>
  // expected-error @+1 {{'migraphx.slice' op axes must not have duplicates}}
  %1 = migraphx.slice %x {axes = [1, 1], starts = [1, 1], ends = [3, 3]} : <2x4xf32, 4x1> -> <2x2xf32, 4x1>
  return
}

// -----

func.func @literal() {
  // expected-error @+1 {{'migraphx.literal' op expected standard strides for a value that is no splat}}
  %0 = migraphx.literal(dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>) : <2x2xi32, 1x2>
  return
}

// -----

func.func @max(%x: !migraphx.shaped<2xi1, 1>) {
  // expected-error @+1 {{'migraphx.max' op does not support one-bit integer element types}}
  %0 = migraphx.max %x, %x : <2xi1, 1>, <2xi1, 1> -> <2xi1, 1>
  return
}
