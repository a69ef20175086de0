// RUN: hipgraft-opt %s --torch-simplify | FileCheck %s
// RUN: hipgraft-opt %s --torch-simplify | hipgraft-opt --torch-simplify | FileCheck %s
// RUN: hipgraft-opt %s --torch-simplify=decompose=false | FileCheck %s --check-prefix=WHOLE
// RUN: hipgraft-opt %s --torch-simplify=backend-legal-ops=aten.square | FileCheck %s --check-prefix=LEGAL
// RUN: hipgraft-opt %s --torch-simplify --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNT --allow-empty

// Types are known: nothing is inferred. Equal constants are merged, and ops decomposed as asked.

// CHECK-LABEL: func.func @known
// CHECK: %[[ONE:.*]] = torch.constant.int 1
// CHECK: %[[FIRST:.*]] = torch.aten.add.Tensor %{{.*}}, %{{.*}}, %[[ONE]]
// CHECK: %[[SUM:.*]] = torch.aten.add.Tensor %[[FIRST]], %{{.*}}, %[[ONE]]
// CHECK: torch.aten.mul.Tensor %[[SUM]], %[[SUM]]
// CHECK-NOT: torch.aten
// CHECK: return

// WHOLE-LABEL: func.func @known
// WHOLE: torch.aten.square
// LEGAL-LABEL: func.func @known
// LEGAL: torch.aten.square
func.func @known(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %int1 = torch.constant.int 1
  %int1_0 = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %x, %int1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %1 = torch.aten.add.Tensor %0, %x, %int1_0 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %2 = torch.aten.square %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %2 : !torch.vtensor<[4],f32>
}

// NaN differs from itself: torch-mlir would fold this comparison to true.

// CHECK-LABEL: func.func @equals_itself
// CHECK-SAME:    %[[X:.*]]: !torch.vtensor<[4],f32>, %[[I:.*]]: !torch.vtensor<[4],si64>
// CHECK-DAG:     %[[TRUE:.*]] = torch.vtensor.literal(dense<true>
// CHECK-DAG:     %[[NAN:.*]] = torch.aten.ne.Tensor %[[X]], %[[X]]
// CHECK-DAG:     %[[NUMBER:.*]] = torch.aten.logical_not %[[NAN]]
// CHECK:         return %[[NUMBER]], %[[TRUE]]
func.func @equals_itself(%x: !torch.vtensor<[4],f32>, %i: !torch.vtensor<[4],si64>) -> (!torch.vtensor<[4],i1>, !torch.vtensor<[4],i1>) {
  %0 = torch.aten.eq.Tensor %x, %x : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],i1>
  %1 = torch.aten.eq.Tensor %i, %i : !torch.vtensor<[4],si64>, !torch.vtensor<[4],si64> -> !torch.vtensor<[4],i1>
  return %0, %1 : !torch.vtensor<[4],i1>, !torch.vtensor<[4],i1>
}

// COUNT-NOT: inferences
