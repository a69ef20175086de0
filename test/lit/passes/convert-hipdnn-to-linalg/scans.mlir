// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=gfx942 | FileCheck %s
// RUN: hipgraft-opt %s --split-input-file --convert-hipdnn-to-linalg=target=cpu | FileCheck %s --check-prefix=CPU

// A work item adds all elements up to its own.

// CHECK-LABEL: module @sums_gfx942
// CHECK-NOT:     torch.aten.cumsum
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK:         %[[ELEMENT:.*]] = linalg.index 3
// CHECK:         %[[RESULT:.*]] = linalg.index 1
// CHECK:         %[[IS_BEFORE:.*]] = arith.cmpi sle, %[[ELEMENT]], %[[RESULT]]
// CHECK:         arith.select %[[IS_BEFORE]]
// CPU:           torch.aten.cumsum
func.func @sums(%a: tensor<4x100xf32>) -> tensor<4x100xf32> {
  %g = "hipdnn.fallback"(%a) ({
  ^bb0(%x: tensor<4x100xf32>):
    %0 = torch_c.from_builtin_tensor %x : tensor<4x100xf32> -> !torch.vtensor<[4,100],f32>
    %dim = torch.constant.int 1
    %none = torch.constant.none
    %1 = torch.aten.cumsum %0, %dim, %none : !torch.vtensor<[4,100],f32>, !torch.int, !torch.none -> !torch.vtensor<[4,100],f32>
    %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[4,100],f32> -> tensor<4x100xf32>
    "hipdnn.yield"(%2) : (tensor<4x100xf32>) -> ()
  }) {name = "sums"} : (tensor<4x100xf32>) -> tensor<4x100xf32>
  return %g : tensor<4x100xf32>
}

// -----

// A long row is summed in blocks; a work item adds the sums of the blocks before its own.

// CHECK-LABEL: module @blocks_gfx942
// CHECK:         linalg.generic {{.*}}ins(%{{.*}} : tensor<{{.*}}128{{.*}}xf32>) outs(%{{.*}} : tensor<{{.*}}128{{.*}}xf32>)
// CHECK:         util.optimization_barrier
// CHECK:         arith.cmpi slt
// CHECK:         arith.cmpi sle
func.func @blocks(%a: tensor<16384xf32>) -> tensor<16384xf32> {
  %g = "hipdnn.fallback"(%a) ({
  ^bb0(%x: tensor<16384xf32>):
    %0 = torch_c.from_builtin_tensor %x : tensor<16384xf32> -> !torch.vtensor<[16384],f32>
    %dim = torch.constant.int 0
    %none = torch.constant.none
    %1 = torch.aten.cumsum %0, %dim, %none : !torch.vtensor<[16384],f32>, !torch.int, !torch.none -> !torch.vtensor<[16384],f32>
    %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[16384],f32> -> tensor<16384xf32>
    "hipdnn.yield"(%2) : (tensor<16384xf32>) -> ()
  }) {name = "blocks"} : (tensor<16384xf32>) -> tensor<16384xf32>
  return %g : tensor<16384xf32>
}

// -----

// Key and index are one integer; the largest one is that of the first largest element.

// CHECK-LABEL: module @index_gfx942
// CHECK-NOT:     torch.aten.argmax
// CHECK:         linalg.generic {{.*}}outs(%{{.*}} : tensor<4xi64>)
// CHECK:         arith.shli
// CHECK:         arith.maxui
// CPU:           torch.aten.argmax
func.func @index(%a: tensor<4x100xf32>) -> tensor<4xi64> {
  %g = "hipdnn.fallback"(%a) ({
  ^bb0(%x: tensor<4x100xf32>):
    %0 = torch_c.from_builtin_tensor %x : tensor<4x100xf32> -> !torch.vtensor<[4,100],f32>
    %dim = torch.constant.int 1
    %false = torch.constant.bool false
    %1 = torch.aten.argmax %0, %dim, %false : !torch.vtensor<[4,100],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],si64>
    %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[4],si64> -> tensor<4xi64>
    "hipdnn.yield"(%2) : (tensor<4xi64>) -> ()
  }) {name = "index"} : (tensor<4x100xf32>) -> tensor<4xi64>
  return %g : tensor<4xi64>
}

// -----

// Elements of 64 bits leave no room for an index.

// CHECK-LABEL: module @wide_gfx942
// CHECK:         torch.aten.argmax
func.func @wide(%a: tensor<4x100xi64>) -> tensor<4xi64> {
  %g = "hipdnn.fallback"(%a) ({
  ^bb0(%x: tensor<4x100xi64>):
    %0 = torch_c.from_builtin_tensor %x : tensor<4x100xi64> -> !torch.vtensor<[4,100],si64>
    %dim = torch.constant.int 1
    %false = torch.constant.bool false
    %1 = torch.aten.argmax %0, %dim, %false : !torch.vtensor<[4,100],si64>, !torch.int, !torch.bool -> !torch.vtensor<[4],si64>
    %2 = torch_c.to_builtin_tensor %1 : !torch.vtensor<[4],si64> -> tensor<4xi64>
    "hipdnn.yield"(%2) : (tensor<4xi64>) -> ()
  }) {name = "wide"} : (tensor<4x100xi64>) -> tensor<4xi64>
  return %g : tensor<4xi64>
}
