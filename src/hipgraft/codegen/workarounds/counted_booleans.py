"""Rows of booleans that are reduced as integers."""

from __future__ import annotations

from collections.abc import Iterable

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir

COUNTED_BOOLEANS = Workaround(
    name="counted-booleans",
    fault="LLVM combines nodes forever if the lanes of a wavefront share rows of booleans that are "
    "reduced as integers, for example rows of 16 or 40.",
    effect=Effect.HANGS,
    targets="gfx942, gfx1100",
    remedy="Each lane reduces whole rows.",
)


@COUNTED_BOOLEANS.avoids
def counts_booleans(ops: Iterable[ir.Operation]) -> bool:
    """Returns whether generic ops extend booleans to integers."""
    inner = (one.operation for op in ops for one in op.regions[0].blocks[0].operations)
    return any(one.name == "arith.extui" and _is_boolean(one.operands[0].type) for one in inner)


def _is_boolean(kind: ir.Type) -> bool:
    return isinstance(kind, ir.IntegerType) and kind.width == 1
