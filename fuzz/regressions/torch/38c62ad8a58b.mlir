// RUN: --pass-pipeline='builtin.module(hipdnn-outline-fallback)'
module{func.func@n(%arg0:!torch.vtensor<[?],complex<f32>>)->!torch.vtensor<[?],complex<f32>>{%0=torch.aten.relu %arg0 : !torch.vtensor<[?],complex<f32>> -> !torch.vtensor<[?],complex<f32>>
return %0 : !torch.vtensor<[?],complex<f32>> }
}