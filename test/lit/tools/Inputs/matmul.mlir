func.func @main(%a: tensor<64x128xf16>, %b: tensor<128x96xf16>) -> tensor<64x96xf16> {
  %0 = "hipdnn.matmul"(%a, %b) {compute_type = f32}
    : (tensor<64x128xf16>, tensor<128x96xf16>) -> tensor<64x96xf16>
  return %0 : tensor<64x96xf16>
}
