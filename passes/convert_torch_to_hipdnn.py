"""Converts torch functions to hipDNN ops on builtin tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.torch_to_hipdnn import (
    CONVERSIONS,
    Converter,
    convert_function,
    torch_functions,
)


@dataclass(frozen=True)
class ConvertTorchToHipdnnPass(Pass):
    """Converts torch ops to hipDNN ops, op by op; ops that do not convert stay, with a remark.

    The function's signature becomes builtin tensors. Reshapes, transposes, slices and expands
    become `hipdnn.view` if strides can express them. A pointwise op on a reshaped result is
    computed in the shape of the op that made the result. Ops that stay keep their torch form
    between `torch_c` casts.

    Before:
        ```mlir
        func.func @main(%x: !torch.vtensor<[4,8],f32>) -> !torch.vtensor<[4,8],f32> {
          %y = torch.aten.relu %x : !torch.vtensor<[4,8],f32> -> !torch.vtensor<[4,8],f32>
          return %y : !torch.vtensor<[4,8],f32>
        }
        ```

    After:
        ```mlir
        func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
          %y = "hipdnn.pointwise"(%x) {mode = "relu_fwd"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
          return %y : tensor<4x8xf32>
        }
        ```

    Requires:
        Stage `torch`: functions of one block on value tensors with static shapes.

    Ensures:
        Stage `hipdnn-ops`. Each op that stays gets a missed remark that names the reason. The
        function keeps its `hipgraft` attributes and loses others.

    Errors:
        A function with a dynamic shape, with several blocks, or with anything but value tensors of
        known rank and element type in its signature, at the function. An op with regions.

    Source:
        own; the operands of each hipDNN op follow the schemas of ROCm/rocm-libraries.
    """

    name: ClassVar[str] = "convert-torch-to-hipdnn"
    requires: ClassVar[str | None] = "torch"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Converts every function that has torch tensors in its signature."""
        for function in torch_functions(module):
            erase_unused(convert_function(function, Converter(CONVERSIONS, state)))
