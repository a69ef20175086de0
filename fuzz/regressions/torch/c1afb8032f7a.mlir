// RUN: --pass-pipeline='builtin.module(torch-functionalize-in-place)'
module {
  func.func @er() {  %0 = torch.operator "torch.aten.relu_"() : () -> !torch.vtensor<[1],f32>   return
  }
}