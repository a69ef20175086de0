// REQUIRES: slow
// RUN: hipgraft-opt %s --hipdnn-compile="target=gfx942,gfx1100,cpu save-temps=%t.temps" | FileCheck %s
// RUN: FileCheck %s --check-prefix=INPUT < %t.temps/relu_0.gfx942.input.mlir
// RUN: FileCheck %s --check-prefix=SCHEDULE < %t.temps/relu_0.gfx1100.schedule.mlir
// RUN: test -s %t.temps/relu_0.gfx1100.0.hsaco
// RUN: test -s %t.temps/relu_0.cpu.vmfb
// RUN: hipgraft-opt %s --hipdnn-compile="target=gfx942 flags=--iree-opt-level=O1 extra-flags=--iree-opt-level=O2,--iree-opt-data-tiling=false" -o %t
// RUN: not hipgraft-opt %s --hipdnn-compile="target=gfx942 extra-flags=--no-such-flag" 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not hipgraft-opt %s --hipdnn-compile="target=gfx94" 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not hipgraft-opt %s --hipdnn-compile 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not hipgraft-opt %s --hipdnn-compile="target=" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not hipgraft-opt %s --hipdnn-compile="target=gfx942 save-temps=%s" 2>&1 | FileCheck %s --check-prefix=TEMPS
// Several targets make several binaries; intermediate files can be kept.

// INPUT: func.func @main(%{{.*}}: tensor<8xf32>)
// SCHEDULE: stream.cmd.dispatch @main_dispatch_0
// FLAG: error: invalid compiler flags: Unknown command line argument '--no-such-flag'
// TARGET: error: unknown target 'gfx94': did you mean 'gfx942'
// EMPTY: error: option 'target' of 'hipdnn-compile' names no architecture
// TEMPS: error: cannot write '{{.*}}relu_0.gfx942.input.mlir': {{File exists|Not a directory}}
// NONE: 'hipdnn-compile' needs option 'target'

// CHECK-LABEL: func.func @pointwise
// CHECK:         "hipdnn.execute"(%{{.*}}) {callee = @relu_0}
// CHECK:         "hipdnn.executable"
// CHECK-SAME:    format = "hsaco"
// CHECK-SAME:    target = "gfx942"
// CHECK-SAME:    format = "hsaco"
// CHECK-SAME:    target = "gfx1100"
// CHECK-SAME:    format = "vmfb"
// CHECK-SAME:    steps = []
// CHECK-SAME:    target = "cpu"
func.func @pointwise(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "hipdnn.graph"(%x) ({
  ^bb0(%g: tensor<8xf32>):
    %r = "hipdnn.pointwise"(%g) {mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<8xf32>) -> tensor<8xf32>
    "hipdnn.yield"(%r) : (tensor<8xf32>) -> ()
  }) {name = "relu_0"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
