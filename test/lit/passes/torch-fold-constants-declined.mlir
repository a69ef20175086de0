// REQUIRES: slow
// RUN: hipgraft-opt %s --split-input-file --torch-fold-constants=max-bytes=64 | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --torch-fold-constants=max-bytes=64 --remarks -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: hipgraft-opt %s --split-input-file --torch-fold-constants=max-bytes=16 | FileCheck %s --check-prefix=SMALL

// A view of a weight costs no launch: it stays a view, and the weight is stored once.

// CHECK-LABEL: func.func @weight
// CHECK:         torch.aten.transpose.int
func.func @weight(%x: !torch.vtensor<[4,2],f32>) -> !torch.vtensor<[4,3],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %w = torch.vtensor.literal(dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>) : !torch.vtensor<[3,2],f32>
  %t = torch.aten.transpose.int %w, %int0, %int1 : !torch.vtensor<[3,2],f32>, !torch.int, !torch.int -> !torch.vtensor<[2,3],f32>
  %y = torch.aten.mm %x, %t : !torch.vtensor<[4,2],f32>, !torch.vtensor<[2,3],f32> -> !torch.vtensor<[4,3],f32>
  return %y : !torch.vtensor<[4,3],f32>
}

// -----

// A tensor over the limit is stored if it is no larger than what it is computed from, and others are
// computed from it.

// SMALL-LABEL: func.func @large
// SMALL-NOT:     torch.aten.neg
// SMALL:         %[[W:.*]] = torch.vtensor.literal(dense<[-0.000000e+00, -1.000000e+00, {{.*}}]> : tensor<8xf32>)
// SMALL:         torch.prim.ListConstruct %[[W]], %[[W]]
// SMALL:         torch.aten.cat
func.func @large() -> !torch.vtensor<[16],f32> {
  %int0 = torch.constant.int 0
  %w = torch.vtensor.literal(dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>) : !torch.vtensor<[8],f32>
  %n = torch.aten.neg %w : !torch.vtensor<[8],f32> -> !torch.vtensor<[8],f32>
  %l = torch.prim.ListConstruct %n, %n : (!torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>) -> !torch.list<vtensor>
  %y = torch.aten.cat %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[16],f32>
  return %y : !torch.vtensor<[16],f32>
}

// -----

// What IREE has no lowering for stays, and a remark tells why.

// REMARK: remark: constants are not folded: {{.*}}torch.my.op
// CHECK-LABEL: func.func @no_lowering
// CHECK:         torch.operator "torch.my.op"
func.func @no_lowering() -> !torch.vtensor<[2],f32> {
  %w = torch.vtensor.literal(dense<[0.0, 1.0]> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %y = torch.operator "torch.my.op"(%w) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
  return %y : !torch.vtensor<[2],f32>
}
