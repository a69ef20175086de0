"""Converts hipDNN's graphs to hipDNNEP's graphs of ATen ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.io import collect, function_blocks
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.hipdnn_to_torch import convert_block
from hipgraft.transforms.hipdnnep import write_function
from hipgraft.transforms.torch_to_hipdnn import torch_functions


def _to_torch(block: ir.Block, state: PassState) -> None:
    """Converts a block's hipDNN ops to torch ops; each of them must have a torch form."""
    declined = convert_block(block, state)
    for op, reason in declined:
        raise PassFailure(f"'{op.name}' op has no torch form: {reason}", op)


@dataclass(frozen=True)
class ConvertHipdnnToHipdnnepPass(Pass):
    """Converts `hipdnn.graph` to `torch.operator "hipdnn.graph"`, and the function to torch types.

    Fallbacks become torch ops of the function, and views become `aten.as_strided`. An ATen op on
    f16 or bf16 computes in f32 and rounds once, like hipDNN's; a chain that a graph rounds only at
    its end has casts to f32.

    Before:
        ```mlir
        %0 = "hipdnn.graph"(%a, %b) ({
        ^bb0(%ga: tensor<8x4xf16>, %gb: tensor<4x6xf16>):
          %1 = "hipdnn.matmul"(%ga, %gb) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
          "hipdnn.yield"(%1) : (tensor<8x6xf16>) -> ()
        }) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
        ```

    After:
        ```mlir
        %0 = torch.operator "hipdnn.graph"(%a, %b)
             : (!torch.vtensor<[8,4],f16>, !torch.vtensor<[4,6],f16>) -> !torch.vtensor<[8,6],f16> {
        ^bb0(%ga: !torch.vtensor<[8,4],f16>, %gb: !torch.vtensor<[4,6],f16>):
          %1 = torch.aten.matmul %ga, %gb : ... -> !torch.vtensor<[8,6],f16>
          torch.operator_terminator %1 : !torch.vtensor<[8,6],f16>
        }
        ```

    Requires:
        Stage `hipdnn-ops` or `hipdnn-graphs`.

    Ensures:
        Functions as at stage `torch`, with graphs in them. Names, engines and the layouts of
        results are lost, because hipDNNEP's graphs have none.

    Errors:
        An op, an element type or a dynamic shape that torch-mlir's value tensors do not have, a
        graph of ragged tensors, a view of a result with gaps, or integers of a resource, at the op.

    Source:
        own; the form is that of MaheshRavishankar/hipDNNEP.
    """

    name: ClassVar[str] = "convert-hipdnn-to-hipdnnep"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Converts the ops of functions and containers first, then the functions."""
        for container in collect(module, [hipdnn.GraphOp.OP_NAME, hipdnn.FallbackOp.OP_NAME]):
            if container.name == hipdnn.GraphOp.OP_NAME and hipdnn.GraphOp(container).is_ragged:
                raise PassFailure("'hipdnn.graph' op has ragged tensors, torch has none", container)
            _to_torch(container.regions[0].blocks[0], state)
        written = [function.regions[0].blocks[0] for function in torch_functions(module)]
        for block in function_blocks(module):
            if block in written:
                continue
            _to_torch(block, state)
            state.count("functions")
            write_function(block.owner.operation)
