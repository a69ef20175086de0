// RUN: hipgraft-opt %s --split-input-file --torch-normalize-views --verify-diagnostics

// A -1 in a tensor of extents would be taken as a number.

func.func @value(%x: !torch.vtensor<[?,8],f32>, %n: !torch.vtensor<[],si64>)
    -> !torch.vtensor<[?,?],f32> {
  %int4 = torch.constant.int 4
  %item = torch.aten.item %n : !torch.vtensor<[],si64> -> !torch.int
  %list = torch.prim.ListConstruct %item, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  // expected-error @below {{'torch.aten.view' op takes extents that depend on values}}
  %0 = torch.aten.view %x, %list : !torch.vtensor<[?,8],f32>, !torch.list<int> -> !torch.vtensor<[?,?],f32>
  return %0 : !torch.vtensor<[?,?],f32>
}

// -----

func.func @list(%x: !torch.vtensor<[?,8],f32>, %list: !torch.list<int>)
    -> !torch.vtensor<[?,?],f32> {
  // expected-error @below {{'torch.aten.view' op takes extents that are not written as a list}}
  %0 = torch.aten.view %x, %list : !torch.vtensor<[?,8],f32>, !torch.list<int> -> !torch.vtensor<[?,?],f32>
  return %0 : !torch.vtensor<[?,?],f32>
}
