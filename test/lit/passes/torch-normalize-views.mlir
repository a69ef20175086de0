// RUN: hipgraft-opt %s --split-input-file --torch-normalize-views | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --torch-normalize-views --torch-normalize-views \
// RUN:   | FileCheck %s
// What a view of dynamic shapes flattens and splits is said, and a -1 computed.

// CHECK-LABEL: func.func @rest
// CHECK-SAME:    (%[[X:.+]]: !torch.vtensor<[?,?,3,12],f32>)
// CHECK:         %[[FLAT:.+]] = torch.aten.flatten.using_ints %[[X]], %{{.+}}, %{{.+}} : {{.*}} -> !torch.vtensor<[?],f32>
// CHECK:         %[[ALL:.+]] = torch.aten.size.int %[[FLAT]]
// CHECK:         %[[ROWS:.+]] = torch.aten.floordiv.int %[[ALL]], %[[COLUMNS:.+]] :
// CHECK:         %[[SIZES:.+]] = torch.prim.ListConstruct %[[ROWS]], %[[COLUMNS]]
// CHECK:         torch.aten.unflatten.int %[[FLAT]], %{{.+}}, %[[SIZES]] : {{.*}} -> !torch.vtensor<[?,36],f32>
func.func @rest(%x: !torch.vtensor<[?,?,3,12],f32>) -> !torch.vtensor<[?,36],f32> {
  %int-1 = torch.constant.int -1
  %int36 = torch.constant.int 36
  %shape = torch.prim.ListConstruct %int-1, %int36 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.view %x, %shape : !torch.vtensor<[?,?,3,12],f32>, !torch.list<int> -> !torch.vtensor<[?,36],f32>
  return %0 : !torch.vtensor<[?,36],f32>
}

// -----

// Dimensions that are kept stay as they are: here the first and the last.

// CHECK-LABEL: func.func @kept
// CHECK-SAME:    (%[[X:.+]]: !torch.vtensor<[?,8,5],f32>)
// CHECK-NOT:     flatten.using_ints
// CHECK:         torch.aten.unflatten.int %[[X]], %int1, %{{.+}} -> !torch.vtensor<[?,2,4,5],f32>
func.func @kept(%x: !torch.vtensor<[?,8,5],f32>) -> !torch.vtensor<[?,2,4,5],f32> {
  %int0 = torch.constant.int 0
  %int2 = torch.constant.int 2
  %int4 = torch.constant.int 4
  %int5 = torch.constant.int 5
  %n = torch.aten.size.int %x, %int0 : !torch.vtensor<[?,8,5],f32>, !torch.int -> !torch.int
  %shape = torch.prim.ListConstruct %n, %int2, %int4, %int5 : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.view %x, %shape : !torch.vtensor<[?,8,5],f32>, !torch.list<int> -> !torch.vtensor<[?,2,4,5],f32>
  return %0 : !torch.vtensor<[?,2,4,5],f32>
}

// -----

// What is left as one dimension has the extent that the view's type says.

// CHECK-LABEL: func.func @one
// CHECK:         %[[FLAT:.+]] = torch.aten.flatten.using_ints
// CHECK-NOT:     unflatten
// CHECK:         torch.tensor_static_info_cast %[[FLAT]] : !torch.vtensor<[?],f32> to !torch.vtensor<[24],f32>
func.func @one(%x: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[24],f32> {
  %int-1 = torch.constant.int -1
  %shape = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.view %x, %shape : !torch.vtensor<[?,4],f32>, !torch.list<int> -> !torch.vtensor<[24],f32>
  return %0 : !torch.vtensor<[24],f32>
}

// -----

// CHECK-LABEL: func.func @static
// CHECK:         torch.aten.view
func.func @static(%x: !torch.vtensor<[2,8],f32>) -> !torch.vtensor<[16],f32> {
  %int-1 = torch.constant.int -1
  %shape = torch.prim.ListConstruct %int-1 : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.view %x, %shape : !torch.vtensor<[2,8],f32>, !torch.list<int> -> !torch.vtensor<[16],f32>
  return %0 : !torch.vtensor<[16],f32>
}
