"""Views of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.dialects.framework.fields import Operand, Result, required
from hipgraft.dialects.framework.kinds import INT, INTS
from hipgraft.dialects.hipdnn.op import HipdnnOp
from hipgraft.dialects.hipdnn.shapes import furthest_element, shape_text
from hipgraft.ir.bindings import ir
from hipgraft.ir.strided_view import row_major_strides
from hipgraft.ir.tensors import Shape, element_type_of, shape_of


class ViewOp(HipdnnOp, mnemonic="view"):
    """A strided window on a tensor, which costs no kernel.

    Element `[i, j, ...]` of the result is element `offset + i·strides[0] + j·strides[1] + ...`
    of the operand's own storage. That is row-major, unless the graph that yields the operand
    says otherwise by `result_strides`. Stride 0 is a broadcast.
    """

    base = Operand("tensor that is looked at; not itself a view")
    window = Result("the viewed window")
    offset = required(INT, "first element, in elements of the operand")
    strides = required(INTS, "step in elements of the operand, per dimension of the result")

    def verify(self) -> None:  # noqa: D102
        if element_type_of(self.window) != element_type_of(self.base):
            raise self.error(
                f"expected element type {element_type_of(self.base)} of the result, "
                f"but found {element_type_of(self.window)}"
            )
        shape = shape_of(self.window)
        if len(self.strides) != len(shape):
            raise self.error(f"expected {len(shape)} strides, but found {len(self.strides)}")
        if self.offset < 0 or any(stride < 0 for stride in self.strides):
            raise self.error("expected an offset and strides of at least 0")
        self._check_bounds(shape)
        owner = self.base.owner
        if not isinstance(owner, ir.Block) and owner.name == self.OP_NAME:
            raise self.error("operand is itself a view")

    def _check_bounds(self, shape: Shape) -> None:
        last = self.offset + furthest_element(shape, self.strides)
        size = prod(shape_of(self.base))
        if last >= size:
            raise self.error(
                f"reaches element {last} of an operand of {size} elements "
                f"({shape_text(shape_of(self.base))})"
            )


def view(
    base: ir.Value,
    result_type: ir.RankedTensorType,
    *,
    offset: int = 0,
    strides: Sequence[int] | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    """Creates a view of `base` at the current insertion point.

    Args:
        base: the tensor that is looked at; not itself a view.
        result_type: type of the view.
        offset: first element, in elements of `base`.
        strides: per dimension of the result; row-major, a reshape, by default.
        loc: location of the op, the current one by default.
    """
    steps = row_major_strides(result_type.shape) if strides is None else strides
    return ViewOp.build(
        base, results={"window": result_type}, offset=offset, strides=steps, loc=loc
    ).window
