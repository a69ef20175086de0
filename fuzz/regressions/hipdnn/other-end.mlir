// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(hipdnn-outline-fallback)'
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "f"}> ({
  ^bb0(%a: tensor<2xf32>):
    %0 = "test.value"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  }) : () -> ()
}) : () -> ()
