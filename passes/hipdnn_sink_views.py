"""Moves views past elementwise ops, so that these share the kernels of the viewed tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.io import function_blocks
from hipgraft.ir.unused import erase_unused
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.transforms.kernel_levels import KernelLevels
from hipgraft.transforms.reshape_motion import raise_reshape
from hipgraft.transforms.view_motion import ViewMotion, narrow_view, reorders


@dataclass(frozen=True)
class HipdnnSinkViewsPass(Pass):
    """Moves views that reorder a tensor past the elementwise ops that read them.

    An op that reads a transposed product cannot share the product's kernel, because their shapes
    differ. This pass computes such an op in the shape of the operand that is made last, with its
    other operands viewed in that shape. The op's readers read it through the view. A reduction of
    an elementwise op's result moves likewise if the view only reorders dimensions, or adds and
    drops those of extent 1; a norm does if the dimensions that it normalises stay.

    If only a view reads an elementwise op, and splits or adds dimensions for ops that broadcast or
    reduce the result, such as a sum over parts of the channels, then the op is computed in the
    shape of the view.

    A view of a tensor with widened elements, such as a half of a head that is rotated in f32, is
    taken before they are widened: the view's readers then widen the elements.

    Before:
        ```mlir
        %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
        %1 = "hipdnn.view"(%0) {offset = 0 : i64, strides = array<i64: 1, 6>}
            : (tensor<8x6xf16>) -> tensor<6x8xf16>
        %2 = "hipdnn.pointwise"(%1, %c) {mode = "add"}
            : (tensor<6x8xf16>, tensor<6x8xf16>) -> tensor<6x8xf16>
        ```

    After:
        ```mlir
        %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
        %1 = "hipdnn.view"(%c) {offset = 0 : i64, strides = array<i64: 1, 8>}
            : (tensor<6x8xf16>) -> tensor<8x6xf16>
        %2 = "hipdnn.pointwise"(%0, %1) {mode = "add"}
            : (tensor<8x6xf16>, tensor<8x6xf16>) -> tensor<8x6xf16>
        %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 1, 6>}
            : (tensor<8x6xf16>) -> tensor<6x8xf16>
        ```

    Requires:
        Stage `hipdnn-ops`.

    Ensures:
        Stage `hipdnn-ops`. Results are the same, bit for bit. An op that stays although it could
        share a kernel in the other shape gets a missed remark that names the reason.

    Errors:
        None.

    Source:
        own; IREE moves transposes in the same way.
    """

    name: ClassVar[str] = "hipdnn-sink-views"
    requires: ClassVar[str | None] = "hipdnn-ops"
    ensures: ClassVar[str | None] = "hipdnn-ops"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Moves the views of every function."""
        for block in function_blocks(module):
            levels = KernelLevels()
            raised = sum(raise_reshape(op.operation, levels) for op in list(block.operations))
            if raised:
                state.count("raised-reshapes", raised)
                erase_unused(block, "hipdnn.view", "arith.constant")
            narrowed = sum(narrow_view(op.operation) for op in list(block.operations))
            if narrowed:
                state.count("narrowed-views", narrowed)
                erase_unused(block, "hipdnn.view", "arith.constant")
            ops = [op.operation for op in block.operations]
            if not any(map(reorders, ops)):
                continue
            motion = ViewMotion()
            moved = sum(self._moves(op, motion, state) for op in ops)
            if moved:
                state.count("moved-ops", moved)
                erase_unused(block, "hipdnn.view", "arith.constant")

    def _moves(self, op: ir.Operation, motion: ViewMotion, state: PassState) -> bool:
        try:
            return motion.visit(op) is not None
        except Declined as declined:
            message = f"'{op.name}' op is not computed in its operand's shape: {declined.reason}"
            state.missed(op, declined.name, message)
            return False
