// A product of two rows, as of a classifier behind a small batch.
module {
  func.func @main(%x: !torch.vtensor<[2,1280],f16>, %w: !torch.vtensor<[1280,320],f16>)
      -> !torch.vtensor<[2,320],f16> {
    %y = torch.aten.mm %x, %w : !torch.vtensor<[2,1280],f16>, !torch.vtensor<[1280,320],f16>
        -> !torch.vtensor<[2,320],f16>
    return %y : !torch.vtensor<[2,320],f16>
  }
}
