"""Maxima, minima and clamps of NaN."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk
from hipgraft.ir.torch_dialect import aten_name, extents_and_element, torch_op, vtensor_type

LOST_NANS = Workaround(
    name="lost-nans",
    fault="torch-mlir lowers maxima, minima and clamps to a comparison and a selection, whose "
    "result is a bound if the first operand is NaN.",
    effect=Effect.WRONG,
    targets="all",
    remedy="Where the first operand is NaN, the result is NaN.",
)

_BOUNDING = frozenset(
    f"aten.{name}"
    for name in (
        "clamp", "clamp.Tensor", "clamp_max", "clamp_max.Tensor", "clamp_min", "clamp_min.Tensor",
        "hardtanh", "maximum", "minimum", "relu6",
    )
)  # fmt: skip


def keep_nans(module: ir.Module) -> int:
    """Rewrites torch ops that bound floats to keep NaN, in place; returns how many."""
    found = [op for op in walk(module.operation) if _loses_nans(op)]
    for op in found:
        with ir.InsertionPoint.after(op), op.location:
            _guard(op)
    return len(found)


@LOST_NANS.avoids
def _loses_nans(op: ir.Operation) -> bool:
    if aten_name(op) not in _BOUNDING:
        return False
    kinds = [extents_and_element(one.type) for one in (op.operands[0], op.results[0])]
    return all(kind is not None and "f" in kind[1] for kind in kinds)


def _guard(op: ir.Operation) -> None:
    x, result = op.operands[0], op.results[0]
    shape, _ = extents_and_element(x.type) or ([], "")
    is_nan = torch_op("aten.ne.Tensor", [x, x], [vtensor_type(shape, "i1")]).result
    kept = torch_op("aten.where.self", [is_nan, x, result], [result.type])
    result.replace_all_uses_except(kept.result, kept)
