// REQUIRES: slow
// RUN: hipgraft-opt %s --split-input-file --hipgraft-compile-dynamic=target=gfx942 --remarks 2>&1 \
// RUN:   | FileCheck %s
// A dispatch with two results does not compile where shapes are dynamic; two dispatches do.

// CHECK: remark: 'main' does not compile for gfx942: {{.*}}; again with less fusion
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

// -----

// Nor does attention with a mask that is computed on the way; what it consists of does.

// CHECK: remark: 'attend' does not compile for gfx942: {{.*}}; again with attention written out
// CHECK: remark: 'attend' for gfx942, launches:
// CHECK: func.func @attend(
func.func @attend(%q: !torch.vtensor<[?,3,?,12],f32>, %ids: !torch.vtensor<[?,?],si64>)
    -> !torch.vtensor<[?,3,?,12],f32> {
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %low = torch.constant.float -1.000000e+30
  %p = torch.constant.float 0.000000e+00
  %no = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.aten.unsqueeze %ids, %int1 : !torch.vtensor<[?,?],si64>, !torch.int -> !torch.vtensor<[?,1,?],si64>
  %columns = torch.aten.unsqueeze %0, %int1 : !torch.vtensor<[?,1,?],si64>, !torch.int -> !torch.vtensor<[?,1,1,?],si64>
  %1 = torch.aten.unsqueeze %ids, %int2 : !torch.vtensor<[?,?],si64>, !torch.int -> !torch.vtensor<[?,?,1],si64>
  %rows = torch.aten.unsqueeze %1, %int1 : !torch.vtensor<[?,?,1],si64>, !torch.int -> !torch.vtensor<[?,1,?,1],si64>
  %same = torch.aten.eq.Tensor %rows, %columns : !torch.vtensor<[?,1,?,1],si64>, !torch.vtensor<[?,1,1,?],si64> -> !torch.vtensor<[?,1,?,?],i1>
  %zero = torch.vtensor.literal(dense<0.000000e+00> : tensor<f32>) : !torch.vtensor<[],f32>
  %least = torch.vtensor.literal(dense<-1.000000e+30> : tensor<f32>) : !torch.vtensor<[],f32>
  %mask = torch.aten.where.self %same, %zero, %least
    : !torch.vtensor<[?,1,?,?],i1>, !torch.vtensor<[],f32>, !torch.vtensor<[],f32> -> !torch.vtensor<[?,1,?,?],f32>
  %r = torch.aten.scaled_dot_product_attention %q, %q, %q, %mask, %p, %no, %none, %no
    : !torch.vtensor<[?,3,?,12],f32>, !torch.vtensor<[?,3,?,12],f32>, !torch.vtensor<[?,3,?,12],f32>,
      !torch.vtensor<[?,1,?,?],f32>, !torch.float, !torch.bool, !torch.none, !torch.bool
    -> !torch.vtensor<[?,3,?,12],f32>
  return %r : !torch.vtensor<[?,3,?,12],f32>
}
