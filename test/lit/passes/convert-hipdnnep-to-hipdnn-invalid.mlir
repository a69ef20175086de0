// RUN: hipgraft-opt %s --split-input-file --convert-hipdnnep-to-hipdnn --verify-diagnostics
// Graphs that are no graphs of hipDNNEP, and functions that do not convert.

func.func @no_body(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error @below {{'hipdnn.graph' op expected a body of one block, but found 0}}
  %0 = torch.operator "hipdnn.graph"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----

func.func @no_tensor(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %int1 = torch.constant.int 1
  // expected-error @below {{'hipdnn.graph' op expected value tensors, but found !torch.int}}
  %0 = torch.operator "hipdnn.graph"(%x, %int1) : (!torch.vtensor<[4],f32>, !torch.int) -> !torch.vtensor<[4],f32> {
  ^bb0(%gx: !torch.vtensor<[4],f32>, %i: !torch.int):
    torch.operator_terminator %gx : !torch.vtensor<[4],f32>
  }
  return %0 : !torch.vtensor<[4],f32>
}

// -----

func.func @other_types(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error @below {{'hipdnn.graph' op expected a body typed like its operands and results}}
  %0 = torch.operator "hipdnn.graph"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  ^bb0(%gx: !torch.vtensor<[2,2],f32>):
    %1 = torch.aten.relu %gx : !torch.vtensor<[2,2],f32> -> !torch.vtensor<[2,2],f32>
    torch.operator_terminator %1 : !torch.vtensor<[2,2],f32>
  }
  return %0 : !torch.vtensor<[4],f32>
}

// -----

// expected-error @below {{'func.func' op !torch.vtensor<[?],f32> has a dynamic dimension}}
func.func @dynamic(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  return %x : !torch.vtensor<[?],f32>
}

// -----

func.func @control_flow(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.operator "hipdnn.graph"(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  ^bb0(%gx: !torch.vtensor<[4],f32>):
    %true = torch.constant.bool true
    // expected-error @below {{'torch.prim.If' op has regions: control flow is not supported}}
    %1 = torch.prim.If %true -> (!torch.vtensor<[4],f32>) {
      %2 = torch.aten.relu %gx : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      torch.prim.If.yield %2 : !torch.vtensor<[4],f32>
    } else {
      torch.prim.If.yield %gx : !torch.vtensor<[4],f32>
    }
    torch.operator_terminator %1 : !torch.vtensor<[4],f32>
  }
  return %0 : !torch.vtensor<[4],f32>
}
