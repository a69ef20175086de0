"""Matrix product."""

from __future__ import annotations

from hipgraft.dialects.framework.fields import Operand, Result
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.dialects.hipdnn.shapes import broadcast, shape_text
from hipgraft.ir.tensors import Shape, shape_of


class MatmulOp(ComputeOp, mnemonic="matmul"):
    """Batched matrix product `c = a · b`.

    Batch dimensions broadcast. There are no transpose flags: a transposed operand is one with
    other strides.
    """

    a = Operand("left matrices `[batch..., M, K]`")
    b = Operand("right matrices `[batch..., K, N]`")
    c = Result("products `[batch..., M, N]`")

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        a, b = shape_of(self.a), shape_of(self.b)
        if len(a) < 2 or len(a) != len(b):
            raise self.error(
                f"expected operands of one rank, 2 or more, but found ranks {len(a)} and {len(b)}"
            )
        if a[-1] != b[-2]:
            raise self.error(f"columns of 'a' ({a[-1]}) differ from rows of 'b' ({b[-2]})")
        batch = broadcast(a[:-2], b[:-2])
        if batch is None:
            raise self.error(
                f"batch dimensions of 'a' ({shape_text(a[:-2])}) and of 'b' "
                f"({shape_text(b[:-2])}) do not broadcast"
            )
        return {"c": (*batch, a[-2], b[-1])}
