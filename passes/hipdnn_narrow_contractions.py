"""Lets contractions of f32 read f16 where that is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.io import function_blocks
from hipgraft.ir.tensors import element_type_of
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.recognition.constants import is_float_constant
from hipgraft.transforms.recognition.exactness import in_f16, is_exact_in_f16, merge_integers

_CONTRACTIONS = ("hipdnn.conv_dgrad", "hipdnn.conv_fprop", "hipdnn.matmul")


def _is_narrowed(op: ir.Operation) -> bool:
    if op.name not in _CONTRACTIONS:
        return False
    f32 = ir.F32Type.get()
    kinds = [element_type_of(value) for value in (*op.operands, *op.results)]
    if any(kind != f32 for kind in kinds):
        return False
    # Constants, which may be large, come last.
    return all(map(is_exact_in_f16, sorted(op.operands, key=is_float_constant)))


@dataclass(frozen=True)
class HipdnnNarrowContractionsPass(Pass):
    """Converts operands of products and convolutions from f32 to f16 where both are exact in f16.

    These are differences of bytes, with which quantised models compute, and constants of numbers
    that f16 has. Matrix instructions multiply f16 several times as fast as f32. The products are
    exact in f32, and sums stay in f32.

    Before:
        ```mlir
        %0 = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<4x8xi8>) -> tensor<4x8xf32>
        %1 = "hipdnn.pointwise"(%b) {mode = "identity"} : (tensor<8x4xi8>) -> tensor<8x4xf32>
        %2 = "hipdnn.matmul"(%0, %1) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
        ```

    After:
        ```mlir
        %0 = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<4x8xi8>) -> tensor<4x8xf32>
        %1 = "hipdnn.pointwise"(%0) {mode = "identity"} : (tensor<4x8xf32>) -> tensor<4x8xf16>
        %2 = "hipdnn.pointwise"(%b) {mode = "identity"} : (tensor<8x4xi8>) -> tensor<8x4xf32>
        %3 = "hipdnn.pointwise"(%2) {mode = "identity"} : (tensor<8x4xf32>) -> tensor<8x4xf16>
        %4 = "hipdnn.matmul"(%1, %3) : (tensor<4x8xf16>, tensor<8x4xf16>) -> tensor<4x4xf32>
        ```

    Requires:
        Stage `hipdnn-ops`.

    Ensures:
        Stage `hipdnn-ops`. Results differ only by the order of sums.

    Errors:
        A constant's resource is missing.

    Source:
        own; PyTorch's `_int_mm` and onnxruntime's QDQ fusion narrow to bytes, which need sums for
        zero points and padding.
    """

    name: ClassVar[str] = "hipdnn-narrow-contractions"
    requires: ClassVar[str | None] = "hipdnn-ops"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Narrows the contractions of every function."""
        for block in function_blocks(module):
            found = [op.operation for op in block.operations if _is_narrowed(op.operation)]
            if found:
                merge_integers(block)
            narrowed: dict[ir.Value, ir.Value] = {}
            for op in found:
                state.passed(op, "narrowed", f"'{op.name}' op reads f16, which is exact here")
                state.count("narrowed-contractions")
                for index, operand in enumerate(op.operands):
                    op.operands[index] = in_f16(operand, narrowed)
            if found:
                erase_unused(block, "hipdnn.", "arith.constant")
