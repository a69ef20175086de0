// RUN: hipgraft-opt %s --print-native | FileCheck %s
// RUN: hipgraft-opt %s --verify-diagnostics

// Versions of rocMLIR differ in their rules: this one came without scales, and is refused today.
// Translation alone leaves it as it is.

// CHECK-LABEL: func.func @unscaled
func.func @unscaled(%a: !migraphx.shaped<2x4xf4E2M1FN, 4x1>, %b: !migraphx.shaped<4x2xf4E2M1FN, 2x1>) {
  // CHECK: migraphx.quant_dot %{{.*}}, %{{.*}} : <2x4xf4E2M1FN, 4x1>, <4x2xf4E2M1FN, 2x1> -> <2x2xf32, 2x1>
  // expected-error @+1 {{'migraphx.quant_dot' op Quant Dot ops requires scales to be provided to use f4E2M1FN element type}}
  %0 = migraphx.quant_dot %a, %b : <2x4xf4E2M1FN, 4x1>, <4x2xf4E2M1FN, 2x1> -> <2x2xf32, 2x1>
  return
}
