// A convolution at the end of an image decoder: three filters over many channels.
module {
  func.func @main(%x: !torch.vtensor<[1,128,32,32],f16>, %w: !torch.vtensor<[3,128,3,3],f16>)
      -> !torch.vtensor<[1,3,32,32],f16> {
    %none = torch.constant.none
    %false = torch.constant.bool false
    %0 = torch.constant.int 0
    %1 = torch.constant.int 1
    %ones = torch.prim.ListConstruct %1, %1 : (!torch.int, !torch.int) -> !torch.list<int>
    %zeros = torch.prim.ListConstruct %0, %0 : (!torch.int, !torch.int) -> !torch.list<int>
    %y = torch.aten.convolution %x, %w, %none, %ones, %ones, %ones, %false, %zeros, %1
        : !torch.vtensor<[1,128,32,32],f16>, !torch.vtensor<[3,128,3,3],f16>, !torch.none,
          !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>,
          !torch.int -> !torch.vtensor<[1,3,32,32],f16>
    return %y : !torch.vtensor<[1,3,32,32],f16>
  }
}
