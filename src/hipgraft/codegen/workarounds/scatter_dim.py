"""Scattered reductions along a dimension that counts from the last."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import extents_and_element, known_int

SCATTER_DIM = Workaround(
    name="scatter-dim",
    fault="torch-mlir's lowering of `aten.scatter_reduce.two` takes a negative dim as an offset "
    "into its list of extents.",
    effect=Effect.CRASH,
    targets="all",
    remedy="The dim is counted from the first.",
)


@SCATTER_DIM.avoids
def extents_to_add(op: ir.Operation) -> int:
    """Returns the number to add to an op's dim, its second operand; 0 if the dim is right."""
    if op.name != "torch.aten.scatter_reduce.two":
        return 0
    dim = known_int(op.operands[1])
    read = extents_and_element(op.operands[0].type)
    if dim is None or dim >= 0 or read is None:
        return 0
    return len(read[0])
