// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(cse)'
func.func @f(%a: !migraphx.shaped<2xf32, 1>) {
  %0 = "migraphx.relu"(%a) {operandSegmentSizes = array<i8: 1>} : (!migraphx.shaped<2xf32, 1>) -> !migraphx.shaped<2xf32, 1>
  return
}
