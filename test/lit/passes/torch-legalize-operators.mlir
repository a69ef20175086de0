// RUN: hipgraft-opt %s --split-input-file --torch-legalize-operators | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --torch-legalize-operators --torch-legalize-operators \
// RUN:   | FileCheck %s

// ATen ops that torch-mlir does not know, or decomposes badly, become ops that it knows.

// CHECK-LABEL: func.func @squeeze_dims
// CHECK:         torch.aten.view %{{.+}}, %{{.+}} : {{.*}} -> !torch.vtensor<[2,3],f32>
func.func @squeeze_dims(%x: !torch.vtensor<[2,1,3,1],f32>) -> !torch.vtensor<[2,3],f32> {
  %int1 = torch.constant.int 1
  %int3 = torch.constant.int 3
  %dims = torch.prim.ListConstruct %int1, %int3 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.operator "torch.aten.squeeze.dims"(%x, %dims)
    : (!torch.vtensor<[2,1,3,1],f32>, !torch.list<int>) -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}

// -----

// The flag says that halves are summed, and returned, as floats.

// CHECK-LABEL: func.func @softmax
// CHECK-SAME:    (%[[X:.+]]: !torch.vtensor<[2,3],f16>)
// CHECK-DAG:     %[[DIM:.+]] = torch.constant.int 1
// CHECK-DAG:     %[[FLOAT:.+]] = torch.constant.int 6
// CHECK:         torch.aten.softmax.int %[[X]], %[[DIM]], %[[FLOAT]] : {{.*}} -> !torch.vtensor<[2,3],f32>
// CHECK:         %[[NONE:.+]] = torch.constant.none
// CHECK:         torch.aten.log_softmax.int %[[X]], %[[DIM]], %[[NONE]] : {{.*}} -> !torch.vtensor<[2,3],f16>
func.func @softmax(%x: !torch.vtensor<[2,3],f16>)
    -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f16>) {
  %int1 = torch.constant.int 1
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %0 = torch.aten._softmax %x, %int1, %true
    : !torch.vtensor<[2,3],f16>, !torch.int, !torch.bool -> !torch.vtensor<[2,3],f32>
  %1 = torch.aten._log_softmax %x, %int1, %false
    : !torch.vtensor<[2,3],f16>, !torch.int, !torch.bool -> !torch.vtensor<[2,3],f16>
  return %0, %1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f16>
}

// -----

// CHECK-LABEL: func.func @diff_with_prefix
// CHECK-SAME:    (%[[X:.+]]: !torch.vtensor<[1,5],si64>, %[[P:.+]]: !torch.vtensor<[1,1],si64>)
// CHECK:         %[[PARTS:.+]] = torch.prim.ListConstruct %[[P]], %[[X]]
// CHECK:         %[[ALL:.+]] = torch.aten.cat %[[PARTS]], %{{.+}} -> !torch.vtensor<[1,6],si64>
// CHECK:         %[[LATER:.+]] = torch.aten.slice.Tensor %[[ALL]]
// CHECK:         %[[EARLIER:.+]] = torch.aten.slice.Tensor %[[ALL]]
// CHECK:         torch.aten.sub.Tensor %[[LATER]], %[[EARLIER]]
func.func @diff_with_prefix(%x: !torch.vtensor<[1,5],si64>, %prefix: !torch.vtensor<[1,1],si64>)
    -> !torch.vtensor<[1,5],si64> {
  %int1 = torch.constant.int 1
  %int-1 = torch.constant.int -1
  %none = torch.constant.none
  %0 = torch.operator "torch.aten.diff"(%x, %int1, %int-1, %prefix, %none)
    : (!torch.vtensor<[1,5],si64>, !torch.int, !torch.int, !torch.vtensor<[1,1],si64>, !torch.none)
    -> !torch.vtensor<[1,5],si64>
  return %0 : !torch.vtensor<[1,5],si64>
}

// -----

// CHECK-LABEL: func.func @inference_batch_norm
// CHECK:         %[[NO:.+]] = torch.constant.bool false
// CHECK:         torch.aten.batch_norm %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %[[NO]]
func.func @inference_batch_norm(%x: !torch.vtensor<[1,8,4,4],f32>, %c: !torch.vtensor<[8],f32>)
    -> !torch.vtensor<[1,8,4,4],f32> {
  %momentum = torch.constant.float 1.000000e-01
  %eps = torch.constant.float 1.000000e-05
  %0:3 = torch.operator "torch.aten._native_batch_norm_legit_no_training"(%x, %c, %c, %c, %c,
      %momentum, %eps)
    : (!torch.vtensor<[1,8,4,4],f32>, !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>,
       !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>, !torch.float, !torch.float)
    -> (!torch.vtensor<[1,8,4,4],f32>, !torch.vtensor<[0],f32>, !torch.vtensor<[0],f32>)
  return %0#0 : !torch.vtensor<[1,8,4,4],f32>
}

// -----

// A group's statistics are those of a layer norm over its elements.

// CHECK-LABEL: func.func @group_norm
// CHECK-SAME:    (%[[X:[^:]+]]: {{.*}}, %[[W:[^:]+]]: {{.*}}, %[[B:[^:]+]]:
// CHECK:         %[[GROUPS:.+]] = torch.aten.view %[[X]], %{{.+}} -> !torch.vtensor<[1,2,4,4,4],f16>
// CHECK:         %[[N:.+]], %{{.+}}, %{{.+}} = torch.aten.native_layer_norm %[[GROUPS]]
// CHECK:         %[[SCALE:.+]] = torch.aten.view %[[W]], %{{.+}} -> !torch.vtensor<[2,4,1,1],f16>
// CHECK:         %[[SCALED:.+]] = torch.aten.mul.Tensor %[[N]], %[[SCALE]]
// CHECK:         %[[BIAS:.+]] = torch.aten.view %[[B]]
// CHECK:         %[[Y:.+]] = torch.aten.add.Tensor %[[SCALED]], %[[BIAS]]
// CHECK:         torch.aten.view %[[Y]], %{{.+}} -> !torch.vtensor<[1,8,4,4],f16>
func.func @group_norm(%x: !torch.vtensor<[1,8,4,4],f16>, %w: !torch.vtensor<[8],f16>,
    %b: !torch.vtensor<[8],f16>) -> !torch.vtensor<[1,8,4,4],f16> {
  %groups = torch.constant.int 2
  %eps = torch.constant.float 1.000000e-05
  %false = torch.constant.bool false
  %0 = torch.aten.group_norm %x, %groups, %w, %b, %eps, %false
    : !torch.vtensor<[1,8,4,4],f16>, !torch.int, !torch.vtensor<[8],f16>, !torch.vtensor<[8],f16>,
      !torch.float, !torch.bool -> !torch.vtensor<[1,8,4,4],f16>
  return %0 : !torch.vtensor<[1,8,4,4],f16>
}

// -----

// A plain instance norm between reshapes is a group norm in the shape outside of them.

// CHECK-LABEL: func.func @instance_norm_of_groups
// CHECK-SAME:    (%[[X:[^:]+]]:
// CHECK:         torch.aten.native_layer_norm {{.*}} !torch.vtensor<[1,2,4,4,4],f32>
// CHECK-NOT:     torch.aten.mul.Tensor
func.func @instance_norm_of_groups(%x: !torch.vtensor<[1,2,64],f32>)
    -> !torch.vtensor<[1,8,4,4],f32> {
  %w = torch.vtensor.literal(dense<1.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %b = torch.vtensor.literal(dense<0.0> : tensor<2xf32>) : !torch.vtensor<[2],f32>
  %none = torch.constant.none
  %true = torch.constant.bool true
  %momentum = torch.constant.float 0.000000e+00
  %eps = torch.constant.float 1.000000e-05
  %int1 = torch.constant.int 1
  %int8 = torch.constant.int 8
  %int4 = torch.constant.int 4
  %shape = torch.prim.ListConstruct %int1, %int8, %int4, %int4
    : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.instance_norm %x, %w, %b, %none, %none, %true, %momentum, %eps, %true
    : !torch.vtensor<[1,2,64],f32>, !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>, !torch.none,
      !torch.none, !torch.bool, !torch.float, !torch.float, !torch.bool -> !torch.vtensor<[1,2,64],f32>
  %1 = torch.aten.view %0, %shape
    : !torch.vtensor<[1,2,64],f32>, !torch.list<int> -> !torch.vtensor<[1,8,4,4],f32>
  return %1 : !torch.vtensor<[1,8,4,4],f32>
}

// -----

// A mask that selects becomes one that is added.

// CHECK-LABEL: func.func @boolean_mask
// CHECK-SAME:    (%[[Q:[^:]+]]: {{.*}}, %[[M:[^:]+]]:
// CHECK:         %[[ZERO:.+]] = torch.vtensor.literal(dense<0.000000e+00> : tensor<f32>)
// CHECK:         %[[LOW:.+]] = torch.vtensor.literal(dense<-3.4028{{.*}}> : tensor<f32>)
// CHECK:         %[[MASK:.+]] = torch.aten.where.self %[[M]], %[[ZERO]], %[[LOW]]
// CHECK:         torch.aten.scaled_dot_product_attention %[[Q]], %[[Q]], %[[Q]], %[[MASK]]
func.func @boolean_mask(%q: !torch.vtensor<[1,2,4,8],f32>, %mask: !torch.vtensor<[1,1,4,4],i1>)
    -> !torch.vtensor<[1,2,4,8],f32> {
  %p = torch.constant.float 0.000000e+00
  %false = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.aten.scaled_dot_product_attention %q, %q, %q, %mask, %p, %false, %none, %false
    : !torch.vtensor<[1,2,4,8],f32>, !torch.vtensor<[1,2,4,8],f32>, !torch.vtensor<[1,2,4,8],f32>,
      !torch.vtensor<[1,1,4,4],i1>, !torch.float, !torch.bool, !torch.none, !torch.bool
    -> !torch.vtensor<[1,2,4,8],f32>
  return %0 : !torch.vtensor<[1,2,4,8],f32>
}

// -----

// CHECK-LABEL: func.func @roll
// CHECK-SAME:    (%[[X:.+]]: !torch.vtensor<[1,8,2],f32>)
// CHECK:         %[[TAIL:.+]] = torch.aten.slice.Tensor %[[X]], {{.*}} -> !torch.vtensor<[1,5,2],f32>
// CHECK:         %[[HEAD:.+]] = torch.aten.slice.Tensor %[[X]], {{.*}} -> !torch.vtensor<[1,3,2],f32>
// CHECK:         %[[PARTS:.+]] = torch.prim.ListConstruct %[[TAIL]], %[[HEAD]]
// CHECK:         torch.aten.cat %[[PARTS]]
func.func @roll(%x: !torch.vtensor<[1,8,2],f32>) -> !torch.vtensor<[1,8,2],f32> {
  %int-3 = torch.constant.int -3
  %int1 = torch.constant.int 1
  %shifts = torch.prim.ListConstruct %int-3 : (!torch.int) -> !torch.list<int>
  %dims = torch.prim.ListConstruct %int1 : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.roll %x, %shifts, %dims
    : !torch.vtensor<[1,8,2],f32>, !torch.list<int>, !torch.list<int> -> !torch.vtensor<[1,8,2],f32>
  return %0 : !torch.vtensor<[1,8,2],f32>
}

// -----

// The index of the batch stays until the last product, which sums over it.
// CHECK-LABEL: func.func @products_of_three
// CHECK-SAME:    (%[[A:.+]]: !torch.vtensor<[2,3],f32>, %[[B:.+]]: !torch.vtensor<[2,4],f32>, %[[C:.+]]: !torch.vtensor<[2,5],f32>)
// CHECK:         %[[FIRST:.+]] = torch.prim.ListConstruct %[[A]], %[[B]] :
// CHECK:         %[[AB:.+]] = torch.aten.einsum %{{.+}}, %[[FIRST]], {{.*}} -> !torch.vtensor<[2,3,4],f32>
// CHECK:         %[[SECOND:.+]] = torch.prim.ListConstruct %[[AB]], %[[C]]
// CHECK:         torch.aten.einsum %{{.+}}, %[[SECOND]], {{.*}} -> !torch.vtensor<[3,4,5],f32>
func.func @products_of_three(%a: !torch.vtensor<[2,3],f32>, %b: !torch.vtensor<[2,4],f32>, %c: !torch.vtensor<[2,5],f32>) -> !torch.vtensor<[3,4,5],f32> {
  %equation = torch.constant.str "ab,ac,ad->bcd"
  %none = torch.constant.none
  %list = torch.prim.ListConstruct %a, %b, %c
    : (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,5],f32>) -> !torch.list<vtensor>
  %0 = torch.aten.einsum %equation, %list, %none
    : !torch.str, !torch.list<vtensor>, !torch.none -> !torch.vtensor<[3,4,5],f32>
  return %0 : !torch.vtensor<[3,4,5],f32>
}

// -----

// CHECK-LABEL: func.func @bilinear_upsampling
// CHECK:         %[[WIDE:.+]] = torch.aten.to.dtype %{{.+}} -> !torch.vtensor<[1,2,4,4],f32>
// CHECK:         %[[UP:.+]] = torch.aten.__interpolate.size_list_scale_list %[[WIDE]]
// CHECK:         torch.aten.to.dtype %[[UP]], {{.*}} -> !torch.vtensor<[1,2,8,8],f16>
func.func @bilinear_upsampling(%x: !torch.vtensor<[1,2,4,4],f16>) -> !torch.vtensor<[1,2,8,8],f16> {
  %int8 = torch.constant.int 8
  %size = torch.prim.ListConstruct %int8, %int8 : (!torch.int, !torch.int) -> !torch.list<int>
  %false = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.aten.upsample_bilinear2d.vec %x, %size, %false, %none
    : !torch.vtensor<[1,2,4,4],f16>, !torch.list<int>, !torch.bool, !torch.none
    -> !torch.vtensor<[1,2,8,8],f16>
  return %0 : !torch.vtensor<[1,2,8,8],f16>
}

// -----

// CHECK-LABEL: func.func @scaled_addmm_stays
// CHECK:         torch.aten.addmm
func.func @scaled_addmm_stays(%b: !torch.vtensor<[4],f32>, %x: !torch.vtensor<[4,4],f32>)
    -> !torch.vtensor<[4,4],f32> {
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %0 = torch.aten.addmm %b, %x, %x, %int2, %int1
    : !torch.vtensor<[4],f32>, !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>,
      !torch.int, !torch.int -> !torch.vtensor<[4,4],f32>
  return %0 : !torch.vtensor<[4,4],f32>
}

// -----

// CHECK-LABEL: func.func @addmm
// CHECK-SAME:    (%[[B:[^:]+]]: {{.*}}, %[[X:[^:]+]]:
// CHECK:         %[[XX:.+]] = torch.aten.mm %[[X]], %[[X]]
// CHECK:         torch.aten.add.Tensor %[[XX]], %[[B]]
func.func @addmm(%b: !torch.vtensor<[4],f32>, %x: !torch.vtensor<[4,4],f32>)
    -> !torch.vtensor<[4,4],f32> {
  %int1 = torch.constant.int 1
  %0 = torch.aten.addmm %b, %x, %x, %int1, %int1
    : !torch.vtensor<[4],f32>, !torch.vtensor<[4,4],f32>, !torch.vtensor<[4,4],f32>,
      !torch.int, !torch.int -> !torch.vtensor<[4,4],f32>
  return %0 : !torch.vtensor<[4,4],f32>
}

// -----

// CHECK-LABEL: func.func @assertions_and_copies_go
// CHECK-SAME:    (%[[X:.+]]: !torch.vtensor<[4],f32>)
// CHECK-NOT:     _assert_tensor_metadata
// CHECK:         torch.aten.relu %[[X]]
func.func @assertions_and_copies_go(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %none = torch.constant.none
  %int0 = torch.constant.int 0
  %int6 = torch.constant.int 6
  %cpu = torch.constant.device "cpu"
  torch.aten._assert_tensor_metadata %x, %none, %none, %int6, %cpu, %int0
    : !torch.vtensor<[4],f32>, !torch.none, !torch.none, !torch.int, !torch.Device, !torch.int
  %0 = torch.aten.contiguous %x, %int0 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// -----

// Batches of which nobody knows that they are as many are multiplied as parts of one.

// CHECK-LABEL: func.func @batches
// CHECK-COUNT-2: torch.aten.unsqueeze
// CHECK:         torch.aten.matmul %{{.+}}, %{{.+}} -> !torch.vtensor<[1,?,4,5],f32>
// CHECK:         torch.aten.squeeze.dim %{{.+}} -> !torch.vtensor<[?,4,5],f32>
func.func @batches(%x: !torch.vtensor<[?,4,3],f32>, %y: !torch.vtensor<[?,3,5],f32>)
    -> !torch.vtensor<[?,4,5],f32> {
  %0 = torch.aten.matmul %x, %y
    : !torch.vtensor<[?,4,3],f32>, !torch.vtensor<[?,3,5],f32> -> !torch.vtensor<[?,4,5],f32>
  return %0 : !torch.vtensor<[?,4,5],f32>
}

// -----

// Extents that are not known are read where they are.

// CHECK-LABEL: func.func @dynamic_group_norm
// CHECK-SAME:    (%[[X:[^:]+]]:
// CHECK:         %[[N:.+]] = torch.aten.size.int %[[X]], %{{.+}}
// CHECK:         %[[H:.+]] = torch.aten.size.int %[[X]], %{{.+}}
// CHECK:         torch.prim.ListConstruct %[[N]], %{{.+}}, %{{.+}}, %[[H]], %{{.+}}
// CHECK:         torch.aten.view %[[X]], {{.*}} -> !torch.vtensor<[?,2,4,?,6],f32>
// CHECK:         torch.aten.native_layer_norm
// CHECK:         torch.aten.view {{.*}} -> !torch.vtensor<[?,8,?,6],f32>
func.func @dynamic_group_norm(%x: !torch.vtensor<[?,8,?,6],f32>, %c: !torch.vtensor<[8],f32>)
    -> !torch.vtensor<[?,8,?,6],f32> {
  %groups = torch.constant.int 2
  %eps = torch.constant.float 1.000000e-05
  %false = torch.constant.bool false
  %0 = torch.aten.group_norm %x, %groups, %c, %c, %eps, %false
    : !torch.vtensor<[?,8,?,6],f32>, !torch.int, !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>,
      !torch.float, !torch.bool -> !torch.vtensor<[?,8,?,6],f32>
  return %0 : !torch.vtensor<[?,8,?,6],f32>
}

// -----

// Writes of whole slices are concatenations, and later ones replace parts of earlier ones.

// CHECK-LABEL: func.func @slices
// CHECK-SAME:    (%[[X:[^:]+]]: !torch.vtensor<[2,4],f32>, %[[A:[^:]+]]: {{[^%]*}}%[[B:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]:
// CHECK:         %[[U:.+]] = torch.aten.unsqueeze %[[C]], %{{.+}} -> !torch.vtensor<[2,1],f32>
// CHECK:         %[[L:.+]] = torch.prim.ListConstruct %[[A]], %[[B]], %[[U]] :
// CHECK:         %[[Y:.+]] = torch.aten.cat %[[L]], %{{.+}} -> !torch.vtensor<[2,4],f32>
// CHECK:         return %[[Y]]
func.func @slices(%x: !torch.vtensor<[2,4],f32>, %a: !torch.vtensor<[2,1],f32>,
                  %b: !torch.vtensor<[2,2],f32>, %c: !torch.vtensor<[2],f32>)
    -> !torch.vtensor<[2,4],f32> {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %three = torch.constant.int 3
  %last = torch.constant.int -1
  %first = torch.vtensor.literal(dense<0> : tensor<2x1xsi64>) : !torch.vtensor<[2,1],si64>
  %0 = torch.aten.select_scatter %x, %c, %one, %last
    : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2],f32>, !torch.int, !torch.int
      -> !torch.vtensor<[2,4],f32>
  %1 = torch.aten.scatter.src %0, %one, %first, %a
    : !torch.vtensor<[2,4],f32>, !torch.int, !torch.vtensor<[2,1],si64>, !torch.vtensor<[2,1],f32>
      -> !torch.vtensor<[2,4],f32>
  %2 = torch.aten.slice_scatter %1, %b, %one, %one, %three, %one
    : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,2],f32>, !torch.int, !torch.int, !torch.int,
      !torch.int -> !torch.vtensor<[2,4],f32>
  return %2 : !torch.vtensor<[2,4],f32>
}

// -----

// The positions are those of a slice, but in another order.

// CHECK-LABEL: func.func @reversed
// CHECK:         torch.aten.scatter.src
func.func @reversed(%x: !torch.vtensor<[2,4],f32>, %a: !torch.vtensor<[2,2],f32>)
    -> !torch.vtensor<[2,4],f32> {
  %one = torch.constant.int 1
  %at = torch.vtensor.literal(dense<[[1, 0], [1, 0]]> : tensor<2x2xsi64>) : !torch.vtensor<[2,2],si64>
  %0 = torch.aten.scatter.src %x, %one, %at, %a
    : !torch.vtensor<[2,4],f32>, !torch.int, !torch.vtensor<[2,2],si64>, !torch.vtensor<[2,2],f32>
      -> !torch.vtensor<[2,4],f32>
  return %0 : !torch.vtensor<[2,4],f32>
}

// -----

// torch-mlir folds this comparison to `dense<false>`, and crashes at integers and a float.
// CHECK-LABEL: func.func @compared_constants
func.func @compared_constants(%x: !torch.vtensor<[3],si64>) -> (!torch.vtensor<[3],i1>, !torch.vtensor<[3],i1>, !torch.vtensor<[3],i1>) {
  // CHECK-DAG: %[[ONE:.*]] = torch.constant.float 1.000000e+00
  // CHECK-DAG: %[[HALF:.*]] = torch.constant.float 5.000000e-01
  %one = torch.constant.int 1
  %half = torch.constant.float 5.000000e-01
  %ones = torch.vtensor.literal(dense<1.0> : tensor<3xf32>) : !torch.vtensor<[3],f32>
  // CHECK: torch.aten.eq.Scalar %{{.*}}, %[[ONE]] : !torch.vtensor<[3],f32>, !torch.float
  %0 = torch.aten.eq.Scalar %ones, %one : !torch.vtensor<[3],f32>, !torch.int -> !torch.vtensor<[3],i1>
  // CHECK: %[[WIDE:.*]] = torch.aten.to.dtype %{{.*}} -> !torch.vtensor<[3],f32>
  // CHECK: torch.aten.gt.Scalar %[[WIDE]], %[[HALF]]
  %1 = torch.aten.gt.Scalar %x, %half : !torch.vtensor<[3],si64>, !torch.float -> !torch.vtensor<[3],i1>
  // CHECK: torch.aten.lt.Scalar %{{.*}}, %{{.*}} : !torch.vtensor<[3],si64>, !torch.int
  %2 = torch.aten.lt.Scalar %x, %one : !torch.vtensor<[3],si64>, !torch.int -> !torch.vtensor<[3],i1>
  return %0, %1, %2 : !torch.vtensor<[3],i1>, !torch.vtensor<[3],i1>, !torch.vtensor<[3],i1>
}

// -----

// CHECK-LABEL: func.func @floats_to_unsigned_bytes
func.func @floats_to_unsigned_bytes(%x: !torch.vtensor<[3],f16>) -> (!torch.vtensor<[3],ui8>, !torch.vtensor<[3],si8>) {
  // CHECK: %[[WIDE:.*]] = torch.aten.to.dtype %{{.*}} -> !torch.vtensor<[3],si32>
  // CHECK: torch.aten.to.dtype %[[WIDE]], %{{.*}} -> !torch.vtensor<[3],ui8>
  // CHECK: torch.aten._to_copy %{{.*}} !torch.vtensor<[3],f16>, {{.*}} -> !torch.vtensor<[3],si8>
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %false = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.aten._to_copy %x, %zero, %none, %none, %none, %false, %none : !torch.vtensor<[3],f16>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[3],ui8>
  %1 = torch.aten._to_copy %x, %one, %none, %none, %none, %false, %none : !torch.vtensor<[3],f16>, !torch.int, !torch.none, !torch.none, !torch.none, !torch.bool, !torch.none -> !torch.vtensor<[3],si8>
  return %0, %1 : !torch.vtensor<[3],ui8>, !torch.vtensor<[3],si8>
}

// -----

// CHECK-LABEL: func.func @unsigned_bytes
func.func @unsigned_bytes(%x: !torch.vtensor<[3],ui8>, %y: !torch.vtensor<[3],si8>) -> (!torch.vtensor<[3],ui8>, !torch.vtensor<[3],si8>) {
  // CHECK: %[[WIDE:.*]] = torch.aten.to.dtype %{{.*}} -> !torch.vtensor<[3],si32>
  // CHECK: %[[TWICE:.*]] = torch.aten.mul.Scalar %[[WIDE]], %{{.*}} -> !torch.vtensor<[3],si32>
  // CHECK: torch.aten.to.dtype %[[TWICE]], %{{.*}} -> !torch.vtensor<[3],ui8>
  // CHECK: torch.aten.mul.Scalar %{{.*}} -> !torch.vtensor<[3],si8>
  %two = torch.constant.int 2
  %0 = torch.aten.mul.Scalar %x, %two : !torch.vtensor<[3],ui8>, !torch.int -> !torch.vtensor<[3],ui8>
  %1 = torch.aten.mul.Scalar %y, %two : !torch.vtensor<[3],si8>, !torch.int -> !torch.vtensor<[3],si8>
  return %0, %1 : !torch.vtensor<[3],ui8>, !torch.vtensor<[3],si8>
}

// -----

// CHECK-LABEL: func.func @products_of_bytes
func.func @products_of_bytes(%x: !torch.vtensor<[2,3],si8>, %y: !torch.vtensor<[3,4],si8>) -> (!torch.vtensor<[2,4],si8>, !torch.vtensor<[2,4],si8>, !torch.vtensor<[2,4],si32>) {
  // CHECK: %[[PRODUCT:.*]] = torch.aten.mm %{{.*}} : !torch.vtensor<[2,3],si32>, !torch.vtensor<[3,4],si32> -> !torch.vtensor<[2,4],si32>
  // CHECK: torch.aten.to.dtype %[[PRODUCT]], %{{.*}} -> !torch.vtensor<[2,4],si8>
  // CHECK: %[[SUM:.*]] = torch.aten.einsum {{.*}} -> !torch.vtensor<[2,4],si32>
  // CHECK: torch.aten.to.dtype %[[SUM]], %{{.*}} -> !torch.vtensor<[2,4],si8>
  // CHECK: torch.aten.mm %{{.*}} : !torch.vtensor<[2,3],si8>, !torch.vtensor<[3,4],si8> -> !torch.vtensor<[2,4],si32>
  %0 = torch.aten.mm %x, %y : !torch.vtensor<[2,3],si8>, !torch.vtensor<[3,4],si8> -> !torch.vtensor<[2,4],si8>
  %equation = torch.constant.str "ij,jk->ik"
  %none = torch.constant.none
  %both = torch.prim.ListConstruct %x, %y : (!torch.vtensor<[2,3],si8>, !torch.vtensor<[3,4],si8>) -> !torch.list<vtensor>
  %1 = torch.aten.einsum %equation, %both, %none : !torch.str, !torch.list<vtensor>, !torch.none -> !torch.vtensor<[2,4],si8>
  %2 = torch.aten.mm %x, %y : !torch.vtensor<[2,3],si8>, !torch.vtensor<[3,4],si8> -> !torch.vtensor<[2,4],si32>
  return %0, %1, %2 : !torch.vtensor<[2,4],si8>, !torch.vtensor<[2,4],si8>, !torch.vtensor<[2,4],si32>
}

// -----

// The product that replaces the op is rewritten, too.
// CHECK-LABEL: func.func @product_and_sum_of_bytes
func.func @product_and_sum_of_bytes(%x: !torch.vtensor<[2,3],ui8>, %y: !torch.vtensor<[3,4],ui8>, %z: !torch.vtensor<[4],ui8>) -> !torch.vtensor<[2,4],ui8> {
  // CHECK-NOT: torch.aten.addmm
  // CHECK: torch.aten.mm %{{.*}} : !torch.vtensor<[2,3],si32>, !torch.vtensor<[3,4],si32> -> !torch.vtensor<[2,4],si32>
  // CHECK: torch.aten.add.Tensor {{.*}} -> !torch.vtensor<[2,4],si32>
  // CHECK: torch.aten.to.dtype {{.*}} -> !torch.vtensor<[2,4],ui8>
  %one = torch.constant.int 1
  %0 = torch.aten.addmm %z, %x, %y, %one, %one : !torch.vtensor<[4],ui8>, !torch.vtensor<[2,3],ui8>, !torch.vtensor<[3,4],ui8>, !torch.int, !torch.int -> !torch.vtensor<[2,4],ui8>
  return %0 : !torch.vtensor<[2,4],ui8>
}

// -----

// Windows of 3, 4 and 3 elements; the shorter ones repeat their last one.
// CHECK-LABEL: func.func @windows_of_different_extents
func.func @windows_of_different_extents(%x: !torch.vtensor<[2,8],f32>) -> !torch.vtensor<[2,3],f32> {
  // CHECK: %[[PLACES:.*]] = torch.vtensor.literal(dense<[0, 1, 2, 2, 2, 3, 4, 5, 5, 6, 7, 7]>
  // CHECK: torch.aten.index_select %{{.*}}, %{{.*}}, %[[PLACES]] : {{.*}} -> !torch.vtensor<[2,12],f32>
  // CHECK: torch.aten.view {{.*}} -> !torch.vtensor<[2,3,4],f32>
  // CHECK: torch.aten.amax {{.*}} -> !torch.vtensor<[2,3],f32>
  %three = torch.constant.int 3
  %count = torch.prim.ListConstruct %three : (!torch.int) -> !torch.list<int>
  %0:2 = torch.aten.adaptive_max_pool1d %x, %count : !torch.vtensor<[2,8],f32>, !torch.list<int> -> !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],si64>
  return %0#0 : !torch.vtensor<[2,3],f32>
}

// -----

// A causal convolution is a padded one without its last positions.

// CHECK-LABEL: func.func @causal_convolution
// CHECK:         %[[X:.*]] = torch.aten.constant_pad_nd
// CHECK-SAME:      -> !torch.vtensor<[1,4,12],f32>
// CHECK:         torch.aten.convolution %[[X]],
// CHECK-SAME:      -> !torch.vtensor<[1,4,9],f32>
// CHECK-NOT:     torch.aten.slice
func.func @causal_convolution(%x: !torch.vtensor<[1,4,9],f32>, %w: !torch.vtensor<[4,1,4],f32>) -> !torch.vtensor<[1,4,9],f32> {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %int4 = torch.constant.int 4
  %int9 = torch.constant.int 9
  %zeros = torch.prim.ListConstruct %int0 : (!torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %int1 : (!torch.int) -> !torch.list<int>
  %threes = torch.prim.ListConstruct %int3 : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.convolution %x, %w, %none, %ones, %threes, %ones, %false, %zeros, %int4
    : !torch.vtensor<[1,4,9],f32>, !torch.vtensor<[4,1,4],f32>, !torch.none, !torch.list<int>,
      !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int
      -> !torch.vtensor<[1,4,12],f32>
  %1 = torch.aten.slice.Tensor %0, %int2, %int0, %int9, %int1
    : !torch.vtensor<[1,4,12],f32>, !torch.int, !torch.int, !torch.int, !torch.int
      -> !torch.vtensor<[1,4,9],f32>
  return %1 : !torch.vtensor<[1,4,9],f32>
}

// -----

// A batch of one that meets another batch.

// CHECK-LABEL: func.func @one_matrix_times_a_batch
// CHECK:         torch.aten.matmul {{.*}} : !torch.vtensor<[1,1,5,4],f32>, !torch.vtensor<[1,3,4,2],f32> -> !torch.vtensor<[1,3,5,2],f32>
func.func @one_matrix_times_a_batch(%x: !torch.vtensor<[1,5,4],f32>, %w: !torch.vtensor<[3,4,2],f32>) -> !torch.vtensor<[3,5,2],f32> {
  %0 = torch.aten.matmul %x, %w : !torch.vtensor<[1,5,4],f32>, !torch.vtensor<[3,4,2],f32> -> !torch.vtensor<[3,5,2],f32>
  return %0 : !torch.vtensor<[3,5,2],f32>
}

// -----

// The limit is added to negative numbers; NaN times 0 is NaN.

// CHECK-LABEL: func.func @softshrink
// CHECK-SAME:    %[[X:.*]]: !torch.vtensor<[4],f32>
// CHECK-DAG:     %[[LIMIT:.*]] = torch.constant.float 5.000000e-01
// CHECK-DAG:     %[[OTHER:.*]] = torch.constant.float -5.000000e-01
// CHECK:         %[[ZERO:.*]] = torch.aten.mul.Scalar %[[X]],
// CHECK-NEXT:    %[[ABOVE:.*]] = torch.aten.sub.Scalar %[[X]], %[[LIMIT]],
// CHECK-NEXT:    %[[BELOW:.*]] = torch.aten.sub.Scalar %[[X]], %[[OTHER]],
// CHECK-NEXT:    %[[IS_BELOW:.*]] = torch.aten.lt.Scalar %[[X]], %[[OTHER]]
// CHECK-NEXT:    %[[INNER:.*]] = torch.aten.where.self %[[IS_BELOW]], %[[BELOW]], %[[ZERO]]
// CHECK-NEXT:    %[[IS_ABOVE:.*]] = torch.aten.gt.Scalar %[[X]], %[[LIMIT]]
// CHECK-NEXT:    torch.aten.where.self %[[IS_ABOVE]], %[[ABOVE]], %[[INNER]]
func.func @softshrink(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %limit = torch.constant.float 5.000000e-01
  %0 = torch.aten.softshrink %x, %limit : !torch.vtensor<[4],f32>, !torch.float -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----

// Comparisons that keep NaN.

// CHECK-LABEL: func.func @selections
// CHECK:         %[[SIZE:.*]] = torch.aten.abs
// CHECK-NEXT:    %[[IS_SMALL:.*]] = torch.aten.le.Scalar %[[SIZE]],
// CHECK:         torch.aten.masked_fill.Scalar %arg0, %[[IS_SMALL]],
// CHECK-NEXT:    %[[IS_LOW:.*]] = torch.aten.le.Scalar %arg0,
// CHECK-NEXT:    torch.aten.masked_fill.Scalar %arg0, %[[IS_LOW]],
func.func @selections(%x: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
  %limit = torch.constant.float 5.000000e-01
  %0 = torch.aten.hardshrink %x, %limit : !torch.vtensor<[4],f32>, !torch.float -> !torch.vtensor<[4],f32>
  %1 = torch.aten.threshold %x, %limit, %limit : !torch.vtensor<[4],f32>, !torch.float, !torch.float -> !torch.vtensor<[4],f32>
  return %0, %1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
}

// -----

// CHECK-LABEL: func.func @isfinite
// CHECK:         %[[SIZE:.*]] = torch.aten.abs
// CHECK-NEXT:    %[[INFINITY:.*]] = torch.constant.float 0x7FF0000000000000
// CHECK-NEXT:    torch.aten.lt.Scalar %[[SIZE]], %[[INFINITY]]
func.func @isfinite(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],i1> {
  %0 = torch.operator "torch.aten.isfinite"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],i1>
  return %0 : !torch.vtensor<[4],i1>
}

// -----

// An infinite maximum is not subtracted: the difference of infinities is NaN.

// CHECK-LABEL: func.func @logsumexp
// CHECK:         %[[PEAK:.*]] = torch.aten.amax {{.*}} -> !torch.vtensor<[2,1],f32>
// CHECK-NEXT:    %[[SIZE:.*]] = torch.aten.abs %[[PEAK]]
// CHECK:         %[[IS_INFINITE:.*]] = torch.aten.eq.Scalar %[[SIZE]],
// CHECK:         %[[BASE:.*]] = torch.aten.masked_fill.Scalar %[[PEAK]], %[[IS_INFINITE]],
// CHECK:         torch.aten.sub.Tensor %arg0, %[[BASE]],
// CHECK:         torch.aten.exp
// CHECK:         %[[SUM:.*]] = torch.aten.sum.dim_IntList
// CHECK-NEXT:    %[[LOG:.*]] = torch.aten.log %[[SUM]]
// CHECK:         torch.aten.add.Tensor %[[LOG]], %[[BASE]],
// CHECK:         torch.aten.view {{.*}} -> !torch.vtensor<[2],f32>
func.func @logsumexp(%x: !torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2],f32> {
  %last = torch.constant.int -1
  %dims = torch.prim.ListConstruct %last : (!torch.int) -> !torch.list<int>
  %false = torch.constant.bool false
  %0 = torch.aten.logsumexp %x, %dims, %false : !torch.vtensor<[2,4],f32>, !torch.list<int>, !torch.bool -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}

// -----

// A remainder by a scalar is exact if it stays one op.

// CHECK-LABEL: func.func @fmod
// CHECK:         %[[THREE:.*]] = torch.vtensor.literal(dense<3.000000e+00> : tensor<f16>)
// CHECK-NEXT:    torch.aten.fmod.Tensor %arg0, %[[THREE]]
func.func @fmod(%x: !torch.vtensor<[4],f16>) -> !torch.vtensor<[4],f16> {
  %three = torch.constant.int 3
  %0 = torch.aten.fmod.Scalar %x, %three : !torch.vtensor<[4],f16>, !torch.int -> !torch.vtensor<[4],f16>
  return %0 : !torch.vtensor<[4],f16>
}

// -----

// CHECK-LABEL: func.func @round_to_decimals
// CHECK:         %[[WIDE:.*]] = torch.aten.to.dtype %arg0, {{.*}} -> !torch.vtensor<[4],f32>
// CHECK-NEXT:    %[[ROUND:.*]] = torch.aten.round.decimals %[[WIDE]],
// CHECK:         torch.aten.to.dtype %[[ROUND]], {{.*}} -> !torch.vtensor<[4],bf16>
func.func @round_to_decimals(%x: !torch.vtensor<[4],bf16>) -> !torch.vtensor<[4],bf16> {
  %two = torch.constant.int 2
  %0 = torch.aten.round.decimals %x, %two : !torch.vtensor<[4],bf16>, !torch.int -> !torch.vtensor<[4],bf16>
  return %0 : !torch.vtensor<[4],bf16>
}

// -----

// Constants are compared with floats only.

// CHECK-LABEL: func.func @functions_of_constants
// CHECK-DAG:     %[[ONE:.*]] = torch.constant.float 1.000000e+00
// CHECK-DAG:     %[[LIMIT:.*]] = torch.constant.float 2.000000e+01
// CHECK:         torch.aten.softplus %arg0, %[[ONE]], %[[LIMIT]]
// CHECK-NEXT:    %[[UP:.*]] = torch.aten.ceil %arg0
// CHECK-NEXT:    %[[DOWN:.*]] = torch.aten.floor %arg0
// CHECK:         %[[IS_BELOW:.*]] = torch.aten.lt.Scalar %arg0,
// CHECK-NEXT:    torch.aten.where.self %[[IS_BELOW]], %[[UP]], %[[DOWN]]
// CHECK:         %[[WHOLE:.*]] = torch.aten.where.self
// CHECK:         torch.aten.sub.Tensor %arg0, %[[WHOLE]],
func.func @functions_of_constants(%x: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
  %one = torch.constant.int 1
  %limit = torch.constant.int 20
  %0 = torch.aten.softplus %x, %one, %limit : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.vtensor<[4],f32>
  %1 = torch.aten.trunc %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %2 = torch.aten.frac %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0, %1, %2 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
}

// -----

// Windows of 3, 4 and 3 elements: the element that a shorter one repeats counts as 0.

// CHECK-LABEL: func.func @adaptive_average_pool
// CHECK:         %[[PLACES:.*]] = torch.vtensor.literal(dense<[0, 1, 2, 2, 2, 3, 4, 5, 5, 6, 7, 7]> : tensor<12xsi64>)
// CHECK:         %[[PARTS:.*]] = torch.aten.index_select %arg0, %{{.*}}, %[[PLACES]]
// CHECK:         %[[WINDOWS:.*]] = torch.aten.view %[[PARTS]], {{.*}} -> !torch.vtensor<[2,3,4],f32>
// CHECK:         torch.vtensor.literal(dense<[false, false, false, true, false, false, false, false, false, false, false, true]> : tensor<12xi1>)
// CHECK:         torch.aten.masked_fill.Scalar %[[WINDOWS]],
// CHECK:         %[[SUM:.*]] = torch.aten.sum.dim_IntList
// CHECK:         torch.vtensor.literal(dense<[3.000000e+00, 4.000000e+00, 3.000000e+00]> : tensor<3xf32>)
// CHECK:         torch.aten.div.Tensor %[[SUM]],
func.func @adaptive_average_pool(%x: !torch.vtensor<[2,8],f32>) -> !torch.vtensor<[2,3],f32> {
  %three = torch.constant.int 3
  %count = torch.prim.ListConstruct %three : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.adaptive_avg_pool1d %x, %count : !torch.vtensor<[2,8],f32>, !torch.list<int> -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}

// -----

// Indices count from the front; a mask stays as it is.

// CHECK-LABEL: func.func @index_put
// CHECK:         %[[IS_BELOW:.*]] = torch.aten.lt.Scalar %arg1,
// CHECK:         %[[LATER:.*]] = torch.aten.add.Scalar %arg1, %int8,
// CHECK:         %[[PLACES:.*]] = torch.aten.where.self %[[IS_BELOW]], %[[LATER]], %arg1
// CHECK-NEXT:    %[[LIST:.*]] = torch.prim.ListConstruct %[[PLACES]]
// CHECK-NEXT:    torch.aten.index_put %arg0, %[[LIST]],
// CHECK-LABEL: func.func @index_put_by_a_mask
// CHECK-NOT:     torch.aten.lt
func.func @index_put(%x: !torch.vtensor<[8],f32>, %i: !torch.vtensor<[3],si64>, %v: !torch.vtensor<[3],f32>) -> !torch.vtensor<[8],f32> {
  %false = torch.constant.bool false
  %list = torch.prim.ListConstruct %i : (!torch.vtensor<[3],si64>) -> !torch.list<optional<vtensor>>
  %0 = torch.aten.index_put %x, %list, %v, %false : !torch.vtensor<[8],f32>, !torch.list<optional<vtensor>>, !torch.vtensor<[3],f32>, !torch.bool -> !torch.vtensor<[8],f32>
  return %0 : !torch.vtensor<[8],f32>
}
func.func @index_put_by_a_mask(%x: !torch.vtensor<[8],f32>, %i: !torch.vtensor<[8],i1>, %v: !torch.vtensor<[],f32>) -> !torch.vtensor<[8],f32> {
  %false = torch.constant.bool false
  %list = torch.prim.ListConstruct %i : (!torch.vtensor<[8],i1>) -> !torch.list<optional<vtensor>>
  %0 = torch.aten.index_put %x, %list, %v, %false : !torch.vtensor<[8],f32>, !torch.list<optional<vtensor>>, !torch.vtensor<[],f32>, !torch.bool -> !torch.vtensor<[8],f32>
  return %0 : !torch.vtensor<[8],f32>
}

// -----

// Negative padding crops first.

// CHECK-LABEL: func.func @negative_padding
// CHECK:         %[[PART:.*]] = torch.aten.slice.Tensor %arg0, {{.*}} -> !torch.vtensor<[2,5],f32>
// CHECK:         torch.aten.constant_pad_nd %[[PART]], {{.*}} -> !torch.vtensor<[2,6],f32>
func.func @negative_padding(%x: !torch.vtensor<[2,7],f32>) -> !torch.vtensor<[2,6],f32> {
  %less = torch.constant.int -2
  %one = torch.constant.int 1
  %mode = torch.constant.str "constant"
  %none = torch.constant.none
  %amounts = torch.prim.ListConstruct %less, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.pad %x, %amounts, %mode, %none : !torch.vtensor<[2,7],f32>, !torch.list<int>, !torch.str, !torch.none -> !torch.vtensor<[2,6],f32>
  return %0 : !torch.vtensor<[2,6],f32>
}

// -----

// CHECK-LABEL: func.func @roll_of_all_elements
// CHECK:         %[[FLAT:.*]] = torch.aten.view %arg0, {{.*}} -> !torch.vtensor<[6],f32>
// CHECK:         %[[ROLLED:.*]] = torch.aten.cat {{.*}} -> !torch.vtensor<[6],f32>
// CHECK:         torch.aten.view %[[ROLLED]], {{.*}} -> !torch.vtensor<[2,3],f32>
func.func @roll_of_all_elements(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> {
  %one = torch.constant.int 1
  %shifts = torch.prim.ListConstruct %one : (!torch.int) -> !torch.list<int>
  %dims = torch.prim.ListConstruct : () -> !torch.list<int>
  %0 = torch.aten.roll %x, %shifts, %dims : !torch.vtensor<[2,3],f32>, !torch.list<int>, !torch.list<int> -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}

// -----

// CHECK-LABEL: func.func @convolution_without_a_batch
// CHECK:         %[[IMAGE:.*]] = torch.aten.unsqueeze %arg0, {{.*}} -> !torch.vtensor<[1,2,7],f32>
// CHECK:         %[[RESULT:.*]] = torch.aten.conv1d %[[IMAGE]], {{.*}} -> !torch.vtensor<[1,3,6],f32>
// CHECK:         torch.aten.squeeze.dim %[[RESULT]],
func.func @convolution_without_a_batch(%x: !torch.vtensor<[2,7],f32>, %w: !torch.vtensor<[3,2,2],f32>) -> !torch.vtensor<[3,6],f32> {
  %none = torch.constant.none
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %zeros = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %one : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.conv1d %x, %w, %none, %ones, %zeros, %ones, %one : !torch.vtensor<[2,7],f32>, !torch.vtensor<[3,2,2],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[3,6],f32>
  return %0 : !torch.vtensor<[3,6],f32>
}

// -----

// CHECK-LABEL: func.func @shifts
// CHECK:         %[[TWO:.*]] = torch.aten.add.Scalar
// CHECK-NEXT:    torch.aten.bitwise_left_shift.Tensor %arg0, %[[TWO]]
// CHECK-NEXT:    torch.aten.bitwise_right_shift.Tensor %arg0, %arg0
func.func @shifts(%x: !torch.vtensor<[3],si64>) -> (!torch.vtensor<[3],si64>, !torch.vtensor<[3],si64>) {
  %two = torch.constant.int 2
  %0 = torch.operator "torch.aten.bitwise_left_shift.Tensor_Scalar"(%x, %two) : (!torch.vtensor<[3],si64>, !torch.int) -> !torch.vtensor<[3],si64>
  %1 = torch.operator "torch.aten.__rshift__.Tensor"(%x, %x) : (!torch.vtensor<[3],si64>, !torch.vtensor<[3],si64>) -> !torch.vtensor<[3],si64>
  return %0, %1 : !torch.vtensor<[3],si64>, !torch.vtensor<[3],si64>
}

// -----

// The mean of a stack is a sum of its tensors; other means stay.

// CHECK-LABEL: func.func @stacked
// CHECK:         %[[SUM:.*]] = torch.aten.add.Tensor %{{.*}}, %{{.*}}, %{{.*}} : !torch.vtensor<[1,4],f32>, !torch.vtensor<[1,4],f32>, !torch.int -> !torch.vtensor<[1,4],f32>
// CHECK:         torch.aten.div.Scalar %[[SUM]]
// CHECK:         torch.aten.view
// CHECK-LABEL: func.func @joined
// CHECK:         torch.aten.mean.dim
func.func @stacked(%x: !torch.vtensor<[1,4],f16>, %y: !torch.vtensor<[1,4],f16>) -> !torch.vtensor<[4],f16> {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %none = torch.constant.none
  %list = torch.prim.ListConstruct %x, %y : (!torch.vtensor<[1,4],f16>, !torch.vtensor<[1,4],f16>) -> !torch.list<vtensor>
  %stack = torch.aten.cat %list, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,4],f16>
  %dims = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.mean.dim %stack, %dims, %false, %none : !torch.vtensor<[2,4],f16>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[4],f16>
  return %0 : !torch.vtensor<[4],f16>
}
func.func @joined(%x: !torch.vtensor<[2,4],f16>, %y: !torch.vtensor<[1,4],f16>) -> !torch.vtensor<[4],f16> {
  %zero = torch.constant.int 0
  %false = torch.constant.bool false
  %none = torch.constant.none
  %list = torch.prim.ListConstruct %x, %y : (!torch.vtensor<[2,4],f16>, !torch.vtensor<[1,4],f16>) -> !torch.list<vtensor>
  %stack = torch.aten.cat %list, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[3,4],f16>
  %dims = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.mean.dim %stack, %dims, %false, %none : !torch.vtensor<[3,4],f16>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[4],f16>
  return %0 : !torch.vtensor<[4],f16>
}

// -----

// f64 is added in f64.

// CHECK-LABEL: func.func @stacked_doubles
// CHECK:         torch.aten.add.Tensor {{.*}} -> !torch.vtensor<[1,4],f64>
func.func @stacked_doubles(%x: !torch.vtensor<[1,4],f64>, %y: !torch.vtensor<[1,4],f64>) -> !torch.vtensor<[1,4],f64> {
  %zero = torch.constant.int 0
  %true = torch.constant.bool true
  %none = torch.constant.none
  %list = torch.prim.ListConstruct %x, %y : (!torch.vtensor<[1,4],f64>, !torch.vtensor<[1,4],f64>) -> !torch.list<vtensor>
  %stack = torch.aten.cat %list, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[2,4],f64>
  %dims = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.sum.dim_IntList %stack, %dims, %true, %none : !torch.vtensor<[2,4],f64>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[1,4],f64>
  return %0 : !torch.vtensor<[1,4],f64>
}
