func.func @main(%x: !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],f32> {
  return %x : !torch.vtensor<[?,3],f32>
}
