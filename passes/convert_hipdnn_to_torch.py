"""Converts hipDNN ops back to torch ops, which dissolves graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import collect, function_blocks
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.hipdnn_to_torch import convert_block


def _convert_block(block: ir.Block, state: PassState) -> None:
    for op, declined in convert_block(block, state):
        state.missed(op, declined.name, f"'{op.name}' op stays: {declined.reason}")


def _as_fallback(op: ir.Operation) -> None:
    """Replaces a graph by a fallback with its body."""
    graph = hipdnn.GraphOp(op)
    with ir.InsertionPoint(op):
        fallback = hipdnn.fallback(
            graph.inputs,
            [value.type for value in graph.outputs],
            name=graph.name,
            arg_strides=graph.arg_strides,
            arg_offsets=graph.arg_offsets,
            result_strides=graph.result_strides,
            loc=op.location,
        )
    for old, new in zip(graph.body.arguments, fallback.body.arguments, strict=True):
        old.replace_all_uses_with(new)
    for inner in [inner.operation for inner in graph.body.operations]:
        fallback.body.append(inner)
    for old, new in zip(op.results, fallback.outputs, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


@dataclass(frozen=True)
class ConvertHipdnnToTorchPass(Pass):
    """Converts hipDNN ops to torch ops between casts; graphs of torch ops become fallbacks.

    Like hipDNN, the torch ops compute in f32 (f64 for f64) and round to the type of the op's
    result.

    Before:
        ```mlir
        %0 = "hipdnn.graph"(%x) ({
        ^bb0(%a: tensor<4xf32>):
          %1 = "hipdnn.pointwise"(%a) {mode = "relu_fwd"} : (tensor<4xf32>) -> tensor<4xf32>
          "hipdnn.yield"(%1) : (tensor<4xf32>) -> ()
        }) : (tensor<4xf32>) -> tensor<4xf32>
        ```

    After:
        ```mlir
        %0 = "hipdnn.fallback"(%x) ({
        ^bb0(%a: tensor<4xf32>):
          %1 = torch_c.from_builtin_tensor %a : tensor<4xf32> -> !torch.vtensor<[4],f32>
          %2 = torch.aten.clamp %1, %float0, %none : ... -> !torch.vtensor<[4],f32>
          %3 = torch_c.to_builtin_tensor %2 : !torch.vtensor<[4],f32> -> tensor<4xf32>
          "hipdnn.yield"(%3) : (tensor<4xf32>) -> ()
        }) : (tensor<4xf32>) -> tensor<4xf32>
        ```

    Requires:
        Stage `hipdnn-ops` or `hipdnn-graphs`.

    Ensures:
        The stage does not change. Each op that does not convert gets a missed remark that names
        the reason. If other ops of its graph convert, the graph becomes a fallback that contains
        both kinds; otherwise it stays a graph.

    Errors:
        None.

    Source:
        own.
    """

    name: ClassVar[str] = "convert-hipdnn-to-torch"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Converts ops of functions, then those of each graph."""
        for block in function_blocks(module):
            _convert_block(block, state)
        for graph in collect(module, [hipdnn.GraphOp.OP_NAME]):
            if hipdnn.GraphOp(graph).is_ragged:
                state.missed(graph, "kept", "a fallback has no ragged tensors")
                continue
            before = state.counters["converted-ops"]
            _convert_block(graph.regions[0].blocks[0], state)
            if state.counters["converted-ops"] > before:
                _as_fallback(graph)
