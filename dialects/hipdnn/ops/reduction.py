"""Reduction."""

from __future__ import annotations

from hipgraft.dialects.framework.fields import Operand, Result, defaulted, required
from hipgraft.dialects.framework.kinds import BOOL, enum_kind
from hipgraft.dialects.hipdnn.enums import ReductionMode
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.dialects.hipdnn.shapes import shape_text
from hipgraft.ir.tensors import Shape, shape_of


class ReductionOp(ComputeOp, mnemonic="reduction"):
    """Reduces dimensions of a tensor to extent 1.

    The reduced dimensions are those where `out` has extent 1 and `in` has more; so the type of
    `out` must be given, and there is no list of axes.
    """

    in_ = Operand("tensor to reduce")
    out = Result("reduced tensor, of the same rank")
    mode = required(enum_kind(ReductionMode), "the function")
    is_deterministic = defaulted(BOOL, False, "whether repeated runs must agree bit by bit")

    @property
    def axes(self) -> list[int]:
        """The reduced dimensions."""
        before, after = shape_of(self.in_), shape_of(self.out)
        return [dim for dim, extent in enumerate(before) if extent != after[dim]]

    def infer_resized(self) -> dict[str, Shape]:  # noqa: D102
        before, after = shape_of(self.in_), shape_of(self.out)
        if len(before) != len(after):
            return {}
        kept = zip(before, after, strict=True)
        return {"out": tuple(1 if reduced == 1 else extent for extent, reduced in kept)}

    def verify(self) -> None:  # noqa: D102
        before, after = shape_of(self.in_), shape_of(self.out)
        if len(before) != len(after):
            raise self.error(
                f"expected operand and result of one rank, but found {len(before)} and {len(after)}"
            )
        for dim, extent in enumerate(after):
            if extent not in (1, before[dim]):
                raise self.error(
                    f"expected extent 1 or {before[dim]} in dimension {dim} of 'out', "
                    f"but found {shape_text(after)}"
                )
        if before == after:
            raise self.error(f"reduces no dimension of {shape_text(before)}")
