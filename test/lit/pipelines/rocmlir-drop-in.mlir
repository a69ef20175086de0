// RUN: hipgraft-opt %s --rocmlir-drop-in=arch=gfx942 --migraphx-kernel-info | FileCheck %s
// RUN: env IREE_DISABLE=1 hipgraft-opt %s --rocmlir-drop-in=arch=gfx942 --print-native \
// RUN:   | FileCheck %s --check-prefix=OFF

// One call does the prototype's job; with IREE_DISABLE the module is as it was.

// CHECK: kernel: main_dispatch_0{{.*}}
// CHECK-NEXT: local: [{{[0-9]+}}, 1, 1]
// CHECK-NEXT: global: [{{[0-9]+}}, 1, 1]
// CHECK-NEXT: binary: {{[0-9]+}} bytes
// OFF: migraphx.dot %arg0, %arg1 : <8x16xf16, 16x1>, <16x8xf16, 8x1> -> <8x8xf16, 8x1>
func.func @mlir_dot(%a: !migraphx.shaped<8x16xf16, 16x1>, %b: !migraphx.shaped<16x8xf16, 8x1>) -> !migraphx.shaped<8x8xf16, 8x1>
    attributes {rock.arch = "", rock.kernel = "mixr", rock.num_chiplets = 0 : i64, rock.num_cu = 0 : i64} {
  %0 = migraphx.dot %a, %b : <8x16xf16, 16x1>, <16x8xf16, 8x1> -> <8x8xf16, 8x1>
  return %0 : !migraphx.shaped<8x8xf16, 8x1>
}
