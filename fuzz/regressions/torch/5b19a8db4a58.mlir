// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(convert-torch-to-hipdnn)'
module {
  func.func @layer_norm_and_gradient(%arg0: !torch.vtensor<[2,1],f32>, %arg1: !torch.vtensor<[2,1],f32>, %arg2: !torch.vtensor<[1],f32>) {
    %0 = torch.prim.ListConstruct  : () -> !torch.list<int>
    torch.operator "torch.aten.native_layer_norm_backward"(%arg1, %arg0, %0, %arg2) : (!torch.vtensor<[2,1],f32>, !torch.vtensor<[2,1],f32>, !torch.list<int>, !torch.vtensor<[1],f32>) -> () 
    return
  }
}
