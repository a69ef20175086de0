"""Remainders of floats whose quotients are large or infinite."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk
from hipgraft.ir.torch_dialect import (
    aten_name,
    constant_int,
    extents_and_element,
    torch_op,
    vtensor_type,
)

INEXACT_REMAINDERS = Workaround(
    name="inexact-remainders",
    fault="torch-mlir lowers `aten.fmod` to `x - trunc(x / y) * y`: the rounding of the quotient "
    "makes the remainder of 1e8 by 3 -2, and an infinite y makes it NaN.",
    effect=Effect.WRONG,
    targets="all",
    remedy="`aten.fmod` becomes the exact `aten.remainder` of the absolute values, with the sign "
    "of x.",
)


def rewrite_remainders(module: ir.Module) -> int:
    """Rewrites `aten.fmod` of floats, in place; returns how many."""
    found = [op for op in walk(module.operation) if _is_inexact(op)]
    for op in found:
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(_remainder(op))
        op.erase()
    return len(found)


@INEXACT_REMAINDERS.avoids
def _is_inexact(op: ir.Operation) -> bool:
    kind = extents_and_element(op.results[0].type) if aten_name(op) == "aten.fmod.Tensor" else None
    return kind is not None and "f" in kind[1]


def _remainder(op: ir.Operation) -> ir.Value:
    (x, y), kind = op.operands, op.results[0].type
    shape, _ = extents_and_element(x.type) or ([], "")
    sizes = [torch_op("aten.abs", [one], [one.type]).result for one in (x, y)]
    positive = torch_op("aten.remainder.Tensor", sizes, [kind]).result
    negative = torch_op("aten.neg", [positive], [kind]).result
    options = [x, constant_int(0)]
    is_below = torch_op("aten.lt.Scalar", options, [vtensor_type(shape, "i1")]).result
    return torch_op("aten.where.self", [is_below, negative, positive], [kind]).result
