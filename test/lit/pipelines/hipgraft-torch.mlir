// RUN: hipgraft-opt %s --hipgraft-torch="target=gfx942 compile-to=hipdnn-graphs" \
// RUN:   | FileCheck %s --check-prefix=GRAPHS
// RUN: hipgraft-opt %s --hipgraft-torch=target=gfx942 --verify-contracts \
// RUN:   | FileCheck %s --check-prefix=HOST
// RUN: not hipgraft-opt %s --hipgraft-torch=compile-to=linalg 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STAGE

// A torch module becomes graphs, and a host program that launches the code made of them.

// GRAPHS-LABEL: func.func @main
// GRAPHS:         "hipdnn.graph"
// GRAPHS:           "hipdnn.pointwise"{{.*}}mode = "relu_fwd"
// GRAPHS-NOT:     torch.aten

// HOST-DAG: gpu.binary
// HOST-DAG: gpu.launch_func

// STAGE: error: unknown stage 'linalg'; expected one of torch,
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
