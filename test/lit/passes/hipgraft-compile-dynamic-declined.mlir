// RUN: hipgraft-opt %s --hipgraft-compile-dynamic=target=gfx942 --remarks 2>&1 | FileCheck %s
// A dispatch with two results does not compile where shapes are dynamic; two dispatches do.

// CHECK: remark: 'main' does not compile for gfx942: {{.*}}; with less fusion again
// CHECK: remark: 'main' for gfx942, launches: 2
// CHECK: func.func @main(
func.func @main(%x: !torch.vtensor<[?,4,?,?],f32>, %bias: !torch.vtensor<[?,?,4],f32>)
    -> (!torch.vtensor<[?,4,?,?],f32>, !torch.vtensor<[?,4,?,?],f32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %int4 = torch.constant.int 4
  %none = torch.constant.none
  %order = torch.prim.ListConstruct %int2, %int0, %int1
    : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %heads = torch.aten.permute %bias, %order
    : !torch.vtensor<[?,?,4],f32>, !torch.list<int> -> !torch.vtensor<[4,?,?],f32>
  %n = torch.aten.size.int %x, %int0 : !torch.vtensor<[?,4,?,?],f32>, !torch.int -> !torch.int
  %s = torch.aten.size.int %x, %int2 : !torch.vtensor<[?,4,?,?],f32>, !torch.int -> !torch.int
  %shape = torch.prim.ListConstruct %n, %int4, %s, %s
    : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %full = torch.aten.broadcast_to %heads, %shape
    : !torch.vtensor<[4,?,?],f32>, !torch.list<int> -> !torch.vtensor<[?,4,?,?],f32>
  %mask = torch.aten.relu %full : !torch.vtensor<[?,4,?,?],f32> -> !torch.vtensor<[?,4,?,?],f32>
  %sum = torch.aten.add.Tensor %x, %mask, %int1
    : !torch.vtensor<[?,4,?,?],f32>, !torch.vtensor<[?,4,?,?],f32>, !torch.int
    -> !torch.vtensor<[?,4,?,?],f32>
  %0 = torch.aten.softmax.int %sum, %int3, %none
    : !torch.vtensor<[?,4,?,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[?,4,?,?],f32>
  return %0, %mask : !torch.vtensor<[?,4,?,?],f32>, !torch.vtensor<[?,4,?,?],f32>
}
