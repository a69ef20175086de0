// REQUIRES: slow
// RUN: hipgraft-compile %s --compile-to=hipdnn-graphs --remarks -q -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=MI300X
// RUN: hipgraft-compile %s --compile-to=hipdnn-graphs --remarks -q -o %t.out.mlir --gpu=mi325x 2>&1 | FileCheck %s --check-prefix=MI325X
// RUN: hipgraft-compile %s --compile-to=hipdnn-graphs --remarks -q -o %t.out.mlir --target=mi325x 2>&1 | FileCheck %s --check-prefix=MI325X
// RUN: hipgraft-compile %s --compile-to=hipdnn-graphs --remarks -q -o %t.out.mlir --target=gfx1151 2>&1 | FileCheck %s --check-prefix=STRIX
// RUN: echo '{"hipgraft_calibration": 1, "architectures": {"gfx942": {"launch_us": 6}}}' > %t.json
// RUN: hipgraft-compile %s --compile-to=hipdnn-graphs --remarks -q -o %t.out.mlir --calibration=%t.json 2>&1 | FileCheck %s --check-prefix=MEASURED
// RUN: not hipgraft-compile %s --gpu=mi1000x -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not hipgraft-compile %s --gpu=mi300x --target=gfx1100,gfx950 -o %t.out.mlir 2>&1 | FileCheck %s --check-prefix=OTHER
// Graphs are formed for the target's GPU, for the product that is named, or by measurements.

// 512 MB are read and written: 1073.7 MB by 4.3, 4.9 and 0.215 TB/s.
// MI300X:   graph 'tanh_fwd_0' takes 253.{{[0-9]+}} us
// MI325X:   graph 'tanh_fwd_0' takes 222.{{[0-9]+}} us
// STRIX:    graph 'tanh_fwd_0' takes 4997.{{[0-9]+}} us
// MEASURED: graph 'tanh_fwd_0' takes 255.{{[0-9]+}} us
// UNKNOWN:  error: unknown GPU 'mi1000x'; expected one of mi250x, mi300x
// OTHER:    error: GPU 'mi300x' is of 'gfx942', but the target is 'gfx1100', 'gfx950'
func.func @main(%x: tensor<16384x8192xf32>) -> tensor<16384x8192xf32> {
  %0 = "hipdnn.pointwise"(%x) {mode = "tanh_fwd"} : (tensor<16384x8192xf32>) -> tensor<16384x8192xf32>
  return %0 : tensor<16384x8192xf32>
}
