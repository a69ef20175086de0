// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(convert-torch-to-hipdnn)'
"builtin.module"() ({
  "func.func"() <{function_type = (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>, sym_name = "control_flow"}> ({
  ^bb0(%arg0: !torch.vtensor<[4],f32>):
    %0 = "torch.constant.bool"() <{value = true}> : () -> !torch.bool
    %1 = "torch.prim.If"(%0) ({
      "torch.prim.If.yield"(%arg0) : (!torch.vtensor<[4],f32>) -> ()
    }, {
      "torch.prim.If.yield"(%arg0) : (!torch.vtensor<[4],f32>) -> ()
    }) : (!torch.bool) -> !torch.vtensor<[4],f32>
    "func.return"(%1) : (!torch.vtensor<[4],f32>) -> ()
  }) : () -> ()
}) : () -> ()
