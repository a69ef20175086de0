// RUN: hipgraft-opt %s --split-input-file --torch-fold-constants | FileCheck %s
// What depends on no input becomes a literal of what IREE's CPU target computes.

// CHECK-LABEL: func.func @positions
// CHECK:         %[[L:.*]] = torch.vtensor.literal(dense<[2, 3, 4, 5]> : tensor<4xsi64>)
// CHECK-NOT:     torch.aten.arange
// CHECK:         torch.aten.add.Tensor %{{.*}}, %[[L]]
func.func @positions(%x: !torch.vtensor<[4],si64>) -> !torch.vtensor<[4],si64> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int4 = torch.constant.int 4
  %none = torch.constant.none
  %false = torch.constant.bool false
  %cpu = torch.constant.device "cpu"
  %0 = torch.aten.arange.start_step %int0, %int4, %int1, %none, %int0, %cpu, %false : !torch.int, !torch.int, !torch.int, !torch.none, !torch.int, !torch.Device, !torch.bool -> !torch.vtensor<[4],si64>
  %1 = torch.aten.add.Scalar %0, %int2, %int1 : !torch.vtensor<[4],si64>, !torch.int, !torch.int -> !torch.vtensor<[4],si64>
  %2 = torch.aten.add.Tensor %x, %1, %int1 : !torch.vtensor<[4],si64>, !torch.vtensor<[4],si64>, !torch.int -> !torch.vtensor<[4],si64>
  return %2 : !torch.vtensor<[4],si64>
}

// -----

// A constant that the function returns, and one that is the same everywhere.

// CHECK-LABEL: func.func @masks
// CHECK-DAG:     torch.vtensor.literal(dense<[true, false]> : tensor<2xi1>)
// CHECK-DAG:     torch.vtensor.literal(dense<5.000000e-01> : tensor<2x3xf16>)
// CHECK-NOT:     torch.aten
func.func @masks() -> (!torch.vtensor<[2],i1>, !torch.vtensor<[2,3],f16>) {
  %int1 = torch.constant.int 1
  %half = torch.constant.float 5.000000e-01
  %0 = torch.vtensor.literal(dense<[0, 4]> : tensor<2xsi64>) : !torch.vtensor<[2],si64>
  %1 = torch.aten.lt.Scalar %0, %int1 : !torch.vtensor<[2],si64>, !torch.int -> !torch.vtensor<[2],i1>
  %2 = torch.vtensor.literal(dense<0.0> : tensor<2x3xf16>) : !torch.vtensor<[2,3],f16>
  %3 = torch.aten.add.Scalar %2, %half, %int1 : !torch.vtensor<[2,3],f16>, !torch.float, !torch.int -> !torch.vtensor<[2,3],f16>
  return %1, %3 : !torch.vtensor<[2],i1>, !torch.vtensor<[2,3],f16>
}
