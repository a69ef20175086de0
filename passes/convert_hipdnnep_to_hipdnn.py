"""Converts hipDNNEP's graphs of ATen ops to hipDNN's graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.hipdnnep import GraphReader
from hipgraft.transforms.torch_to_hipdnn import convert_function, torch_functions


@dataclass(frozen=True)
class ConvertHipdnnepToHipdnnPass(Pass):
    """Converts `torch.operator "hipdnn.graph"` to `hipdnn.graph`, and ops outside of graphs.

    Ops convert as in `convert-torch-to-hipdnn`. Bodies may use constants and lists of the function.
    A view of a graph's operand becomes a `hipdnn.view` before the graph.

    Before:
        ```mlir
        %0 = torch.operator "hipdnn.graph"(%a, %b)
             : (!torch.vtensor<[8,4],f16>, !torch.vtensor<[4,6],f16>) -> !torch.vtensor<[8,6],f16> {
        ^bb0(%ga: !torch.vtensor<[8,4],f16>, %gb: !torch.vtensor<[4,6],f16>):
          %1 = torch.aten.mm %ga, %gb : ... -> !torch.vtensor<[8,6],f16>
          torch.operator_terminator %1 : !torch.vtensor<[8,6],f16>
        }
        ```

    After:
        ```mlir
        %0 = "hipdnn.graph"(%a, %b) ({
        ^bb0(%ga: tensor<8x4xf16>, %gb: tensor<4x6xf16>):
          %1 = "hipdnn.matmul"(%ga, %gb) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
          "hipdnn.yield"(%1) : (tensor<8x6xf16>) -> ()
        }) {name = "matmul_0"} : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
        ```

    Requires:
        Functions as at stage `torch`, with graphs in them.

    Ensures:
        Stage `hipdnn-ops`, with graphs. A graph that hipDNN cannot express is dissolved: its ops
        are outside of graphs, until `hipdnn-outline` forms graphs of them. A missed remark at the
        graph names the reason.

    Errors:
        As `convert-torch-to-hipdnn`. A graph with operands or results that are not value tensors,
        or with a body that is not one block of their types.

    Source:
        own; the form is that of MaheshRavishankar/hipDNNEP.
    """

    name: ClassVar[str] = "convert-hipdnnep-to-hipdnn"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Converts every function that has torch tensors in its signature."""
        reader = GraphReader(state)
        for function in torch_functions(module):
            block = convert_function(function, reader.converter())
            reader.form_graphs(block)
            erase_unused(block)
