"""Lowers views inside of a container."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.context import Lowering, lowers
from hipgraft.codegen.lowering.emit.boundary import read_window
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import ViewOp
from hipgraft.ir.tensors import shape_of


@lowers(ViewOp)
def lower_view(op: ViewOp, lowering: Lowering) -> Sequence[Tensor]:
    """Reads the window from the operand, as at a kernel's boundary."""
    base = lowering.tensor(op.base)
    layout = Layout(shape_of(op.window), tuple(op.strides), op.offset, base.element)
    return [read_window(lowering.emitter, base, layout)]
