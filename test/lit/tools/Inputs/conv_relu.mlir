func.func @main(%x: !torch.vtensor<[1,4,8,8],f16>, %w: !torch.vtensor<[8,4,3,3],f16>,
    %b: !torch.vtensor<[8],f16>) -> !torch.vtensor<[1,8,8,8],f16> {
  %int1 = torch.constant.int 1
  %ones = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.conv2d %x, %w, %b, %ones, %ones, %ones, %int1
    : !torch.vtensor<[1,4,8,8],f16>, !torch.vtensor<[8,4,3,3],f16>, !torch.vtensor<[8],f16>,
      !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[1,8,8,8],f16>
  %1 = torch.aten.relu %0 : !torch.vtensor<[1,8,8,8],f16> -> !torch.vtensor<[1,8,8,8],f16>
  return %1 : !torch.vtensor<[1,8,8,8],f16>
}
