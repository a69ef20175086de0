// REQUIRES: slow
// RUN: rm -rf %t.graphs
// RUN: hipgraft-opt %s --hipdnn-compile="target=gfx942 engine-graphs=%t.graphs" --remarks -o %t.mlir 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=JSON < %t.graphs/product.json
// RUN: hipgraft-translate --import-hipdnn-json %t.graphs/product.json | FileCheck %s --check-prefix=BACK
// RUN: hipgraft-translate --import-hipdnn-fb %t.graphs/product.fb | FileCheck %s --check-prefix=BACK
// RUN: not hipgraft-opt %t.mlir --hipdnn-bufferize --hipdnn-merge=target=gfx942 2>&1 | FileCheck %s --check-prefix=MERGE
// RUN: hipgraft-opt %s --hipdnn-compile="target=gfx942 fallback=iree" | FileCheck %s --check-prefix=IREE
// RUN: not hipgraft-opt %s --hipdnn-compile="target=gfx942 fallback=miopen" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// Graphs for another engine are left to it as hipDNN's JSON, equal ones once; others are compiled.

// UNKNOWN: error: 'hipdnn-compile': unknown fallback 'miopen': expected iree

// REMARK: remark: 'product' is left to HIPBLASLT_ENGINE on a host with hipDNN [analysis=hipdnn-compile:left-to-engine]

// CHECK-LABEL: func.func @main
// CHECK:         %[[C:.*]] = "hipdnn.execute"(%{{.*}}, %{{.*}}) {callee = @product}
// CHECK:         %[[D:.*]] = "hipdnn.execute"(%[[C]], %{{.*}}) {callee = @product}
// CHECK:         "hipdnn.execute"(%[[D]]) {callee = @exp}
// CHECK:       "hipdnn.executable"
// CHECK-SAME:    format = "hipdnn", objects = ["{{.*}}MatmulAttributes
// CHECK-SAME:    engine = "HIPBLASLT_ENGINE"
// CHECK-SAME:    sym_name = "product"
// CHECK:       "hipdnn.executable"
// CHECK-SAME:    format = "hsaco"
// CHECK-SAME:    sym_name = "exp"

// JSON: "type": "MatmulAttributes"
// BACK: "hipdnn.matmul"

// MERGE: .mlir:{{[0-9]+:[0-9]+}}: error: 'hipdnn.executable' op '@product' is a graph for engine 'HIPBLASLT_ENGINE', which needs a host with hipDNN; 'hipdnn-compile{fallback=iree}' compiles it instead

// IREE-NOT: HIPBLASLT_ENGINE
// IREE-COUNT-2: format = "hsaco"

func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %c = "hipdnn.graph"(%a, %b) ({
  ^bb0(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>):
    %z = "hipdnn.matmul"(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    "hipdnn.yield"(%z) : (tensor<8x8xf32>) -> ()
  }) {engine = "HIPBLASLT_ENGINE", name = "product"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = "hipdnn.graph"(%c, %b) ({
  ^bb0(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>):
    %z = "hipdnn.matmul"(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    "hipdnn.yield"(%z) : (tensor<8x8xf32>) -> ()
  }) {engine = "HIPBLASLT_ENGINE", name = "again"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = "hipdnn.graph"(%d) ({
  ^bb0(%x: tensor<8x8xf32>):
    %z = "hipdnn.pointwise"(%x) {mode = "exp"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "hipdnn.yield"(%z) : (tensor<8x8xf32>) -> ()
  }) {engine = "iree", name = "exp"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %e : tensor<8x8xf32>
}
