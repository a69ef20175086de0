// RUN: hips --pass-pipeline='builtin.module(convert-torch-to-hipdnn)'
module {
  func.func @window(%arg0: !torch.vtensor<[1,1],f32>) {%int0 = torch.constant.int 0
    %int-4096 = torch.constant.int -4096
    %0 = torch.aten.transpose.int %arg0, %int0, %int-4096 : !torch.vtensor<[1,1],f32>, !torch.int, !torch.int -> !torch.vtensor<[1,1],f32>
    return
  }
}