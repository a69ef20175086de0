// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s

// Each element is read at its index of the part that holds it, in rows of the greatest common
// extent; rows of the other part read the nearest one.

// CHECK-LABEL: module @images_gfx942
// CHECK-NOT:     torch.aten.cat
// CHECK:         %[[A:.*]] = tensor.expand_shape {{.*}} into tensor<2x2x784xf16>
// CHECK:         %[[B:.*]] = tensor.expand_shape {{.*}} into tensor<2x1x784xf16>
// CHECK:         linalg.generic {{.*}}"parallel", "parallel", "parallel"]
// CHECK:         %[[I:.*]] = linalg.index 0
// CHECK:         %[[ROW:.*]] = linalg.index 1
// CHECK:         %[[X:.*]] = tensor.extract %[[A]][%[[I]], %{{.*}}, %{{.*}}]
// CHECK:         %[[Y:.*]] = tensor.extract %[[B]][%[[I]], %{{.*}}, %{{.*}}]
// CHECK:         %[[IS_FIRST:.*]] = arith.cmpi slt, %[[ROW]], %c2
// CHECK:         arith.select %[[IS_FIRST]], %[[X]], %[[Y]]
func.func @images(%a: tensor<2x32x49xf16>, %b: tensor<2x16x49xf16>) -> tensor<2x48x49xf16> {
  %g = "hipdnn.fallback"(%a, %b) ({
  ^bb0(%x: tensor<2x32x49xf16>, %y: tensor<2x16x49xf16>):
    %0 = torch_c.from_builtin_tensor %x : tensor<2x32x49xf16> -> !torch.vtensor<[2,32,49],f16>
    %1 = torch_c.from_builtin_tensor %y : tensor<2x16x49xf16> -> !torch.vtensor<[2,16,49],f16>
    %2 = torch.prim.ListConstruct %0, %1
      : (!torch.vtensor<[2,32,49],f16>, !torch.vtensor<[2,16,49],f16>) -> !torch.list<vtensor>
    %dim = torch.constant.int 1
    %3 = torch.aten.cat %2, %dim
      : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,48,49],f16>
    %4 = torch_c.to_builtin_tensor %3 : !torch.vtensor<[2,48,49],f16> -> tensor<2x48x49xf16>
    "hipdnn.yield"(%4) : (tensor<2x48x49xf16>) -> ()
  }) {name = "images"} : (tensor<2x32x49xf16>, tensor<2x16x49xf16>) -> tensor<2x48x49xf16>
  return %g : tensor<2x48x49xf16>
}

// -----

// An elementwise op is computed for the element that is read; of a row, all indices read the row.

// CHECK-LABEL: module @computed_gfx942
// CHECK-NOT:     torch.aten.cat
// CHECK:         %[[X:.*]] = tensor.extract
// CHECK:         %[[ROW:.*]] = tensor.extract %arg1[%c0, %{{.*}}, %{{.*}}]
// CHECK:         %[[L:.*]] = arith.extf %[[X]]
// CHECK:         %[[R:.*]] = arith.extf %[[ROW]]
// CHECK:         arith.addf %[[L]], %[[R]]
// CHECK:         %[[Y:.*]] = tensor.extract
// CHECK:         arith.select
func.func @computed(%a: tensor<2x32x49xf16>, %r: tensor<1x32x49xf16>, %b: tensor<2x16x49xf16>)
    -> tensor<2x48x49xf16> {
  %g = "hipdnn.fallback"(%a, %r, %b) ({
  ^bb0(%x: tensor<2x32x49xf16>, %z: tensor<1x32x49xf16>, %y: tensor<2x16x49xf16>):
    %n = "hipdnn.pointwise"(%x, %z) {mode = "add"}
      : (tensor<2x32x49xf16>, tensor<1x32x49xf16>) -> tensor<2x32x49xf16>
    %0 = torch_c.from_builtin_tensor %n : tensor<2x32x49xf16> -> !torch.vtensor<[2,32,49],f16>
    %1 = torch_c.from_builtin_tensor %y : tensor<2x16x49xf16> -> !torch.vtensor<[2,16,49],f16>
    %2 = torch.prim.ListConstruct %0, %1
      : (!torch.vtensor<[2,32,49],f16>, !torch.vtensor<[2,16,49],f16>) -> !torch.list<vtensor>
    %dim = torch.constant.int 1
    %3 = torch.aten.cat %2, %dim
      : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,48,49],f16>
    %4 = torch_c.to_builtin_tensor %3 : !torch.vtensor<[2,48,49],f16> -> tensor<2x48x49xf16>
    "hipdnn.yield"(%4) : (tensor<2x48x49xf16>) -> ()
  }) {name = "computed"}
    : (tensor<2x32x49xf16>, tensor<1x32x49xf16>, tensor<2x16x49xf16>) -> tensor<2x48x49xf16>
  return %g : tensor<2x48x49xf16>
}

// -----

// Contiguous parts are copied as they are.

// CHECK-LABEL: module @contiguous_gfx942
// CHECK:         torch.aten.cat
func.func @contiguous(%a: tensor<1x32x49xf16>, %b: tensor<1x16x49xf16>) -> tensor<1x48x49xf16> {
  %g = "hipdnn.fallback"(%a, %b) ({
  ^bb0(%x: tensor<1x32x49xf16>, %y: tensor<1x16x49xf16>):
    %0 = torch_c.from_builtin_tensor %x : tensor<1x32x49xf16> -> !torch.vtensor<[1,32,49],f16>
    %1 = torch_c.from_builtin_tensor %y : tensor<1x16x49xf16> -> !torch.vtensor<[1,16,49],f16>
    %2 = torch.prim.ListConstruct %0, %1
      : (!torch.vtensor<[1,32,49],f16>, !torch.vtensor<[1,16,49],f16>) -> !torch.list<vtensor>
    %dim = torch.constant.int 1
    %3 = torch.aten.cat %2, %dim
      : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[1,48,49],f16>
    %4 = torch_c.to_builtin_tensor %3 : !torch.vtensor<[1,48,49],f16> -> tensor<1x48x49xf16>
    "hipdnn.yield"(%4) : (tensor<1x48x49xf16>) -> ()
  }) {name = "contiguous"} : (tensor<1x32x49xf16>, tensor<1x16x49xf16>) -> tensor<1x48x49xf16>
  return %g : tensor<1x48x49xf16>
}

// -----

// torch-mlir converts parts of other types.

// CHECK-LABEL: module @mixed_gfx942
// CHECK:         torch.aten.cat
func.func @mixed(%a: tensor<2x32x49xf16>, %b: tensor<2x16x49xf32>) -> tensor<2x48x49xf32> {
  %g = "hipdnn.fallback"(%a, %b) ({
  ^bb0(%x: tensor<2x32x49xf16>, %y: tensor<2x16x49xf32>):
    %0 = torch_c.from_builtin_tensor %x : tensor<2x32x49xf16> -> !torch.vtensor<[2,32,49],f16>
    %1 = torch_c.from_builtin_tensor %y : tensor<2x16x49xf32> -> !torch.vtensor<[2,16,49],f32>
    %2 = torch.prim.ListConstruct %0, %1
      : (!torch.vtensor<[2,32,49],f16>, !torch.vtensor<[2,16,49],f32>) -> !torch.list<vtensor>
    %dim = torch.constant.int 1
    %3 = torch.aten.cat %2, %dim
      : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,48,49],f32>
    %4 = torch_c.to_builtin_tensor %3 : !torch.vtensor<[2,48,49],f32> -> tensor<2x48x49xf32>
    "hipdnn.yield"(%4) : (tensor<2x48x49xf32>) -> ()
  }) {name = "mixed"} : (tensor<2x32x49xf16>, tensor<2x16x49xf32>) -> tensor<2x48x49xf32>
  return %g : tensor<2x48x49xf32>
}
