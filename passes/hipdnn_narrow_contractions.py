"""Lets contractions of f32 read f16, or floats of eight bits, where that is exact."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.codegen.products import few_rows, sharing_rows
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import function_blocks
from hipgraft.ir.tensors import element_type_of
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.partition.kindred import PRODUCT
from hipgraft.transforms.recognition.constants import is_float_constant
from hipgraft.transforms.recognition.exactness import (
    converted_from,
    floats_of_eight_bits,
    in_f16,
    is_exact_in_f16,
    merge_integers,
)

_CONTRACTIONS = ("hipdnn.conv_dgrad", "hipdnn.conv_fprop", PRODUCT)


def _is_in_f32(op: ir.Operation) -> bool:
    """Whether an op is a contraction of f32."""
    if op.name not in _CONTRACTIONS:
        return False
    return {element_type_of(value) for value in (*op.operands, *op.results)} == {ir.F32Type.get()}


def _multiplies_bytes(op: ir.Operation, native: Collection[str]) -> bool:
    """Whether floats of 8 bits are multiplied in less time than f16.

    A kernel of few rows reads each factor once. Others widen floats in each tile, unless matrix
    instructions multiply them, which the lowering of convolutions does not use.
    """
    if op.name != PRODUCT:
        return False
    kinds = {str(kind) for kind in map(converted_from, op.operands) if kind is not None}
    return sharing_rows(op) <= few_rows(8) or kinds <= set(native)


def _is_exact_in_f16(op: ir.Operation) -> bool:
    # Constants, which may be large, come last.
    return all(map(is_exact_in_f16, sorted(op.operands, key=is_float_constant)))


@dataclass(frozen=True)
class HipdnnNarrowContractionsPass(Pass):
    """Lets products and convolutions of f32 read narrower floats where these are exact.

    Operands are converted to f16 where all are exact in f16: differences of bytes, with which
    quantised models compute, floats of 8 bits, and constants of numbers that f16 has. Matrix
    instructions multiply f16 several times as fast as f32. The products are exact in f32, and sums
    stay in f32. Products that were converted from floats of 8 bits read these instead if there are
    few rows, or if matrix instructions of all targets multiply them.

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

    target: tuple[str, ...] = option((), "architectures to compile for: gfx942, gfx950, ...")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Narrows the contractions of every function."""
        kinds = [Target.parse(name).matrix_bytes for name in self.target]
        native = frozenset[str]().union(*kinds).intersection(*kinds)
        for block in function_blocks(module):
            wide = [op.operation for op in block.operations if _is_in_f32(op.operation)]
            exact = {op for op in wide if _is_exact_in_f16(op)}
            if exact:
                merge_integers(block)
            narrowed: dict[ir.Value, ir.Value] = {}
            before = state.counters["narrowed-contractions"]
            for op in wide:
                keeps_bytes = op not in exact or _multiplies_bytes(op, native)
                small = floats_of_eight_bits(op) if keeps_bytes else None
                if small is not None:
                    self._replace(op, small, "floats of 8 bits", state)
                elif op in exact:
                    self._replace(op, [in_f16(one, narrowed) for one in op.operands], "f16", state)
            if state.counters["narrowed-contractions"] > before:
                erase_unused(block, "hipdnn.", "arith.constant")

    @staticmethod
    def _replace(
        op: ir.Operation, operands: Sequence[ir.Value], name: str, state: PassState
    ) -> None:
        for index, operand in enumerate(operands):
            op.operands[index] = operand
        state.passed(op, "narrowed", f"'{op.name}' op reads {name}, which is exact here")
        state.count("narrowed-contractions")
