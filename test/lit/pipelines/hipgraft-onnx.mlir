// RUN: hipgraft-opt %s --hipgraft-onnx="target=gfx942 compile-to=torch" \
// RUN:   | FileCheck %s --check-prefix=TORCH
// RUN: hipgraft-opt %s --hipgraft-onnx=target=gfx942 --verify-contracts \
// RUN:   | FileCheck %s --check-prefix=HOST

// An import of ONNX becomes torch ops, and a host program.

// TORCH-LABEL: func.func @main
// TORCH:         torch.aten.relu
// TORCH-NOT:     torch.operator

// HOST-DAG: gpu.binary
// HOST-DAG: gpu.launch_func
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
    attributes {torch.onnx_meta.opset_version = 17 : si64, torch.onnx_meta.ir_version = 9 : si64} {
  %0 = torch.operator "onnx.Relu"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
