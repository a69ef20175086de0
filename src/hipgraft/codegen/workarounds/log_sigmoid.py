"""Logarithms of sigmoids that underflow to 0."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk
from hipgraft.ir.torch_dialect import aten_name, constant_float, torch_op

LOG_SIGMOID = Workaround(
    name="log-sigmoid",
    fault="torch-mlir lowers `aten.log_sigmoid` to the logarithm of the sigmoid, which is infinite "
    "for numbers below -88 and has few correct digits near it.",
    effect=Effect.WRONG,
    targets="all",
    remedy="`aten.log_sigmoid` is computed as `-softplus(-x)`.",
)

_THRESHOLD = 20.0  # beyond it, softplus returns its operand


def expand_log_sigmoids(module: ir.Module) -> int:
    """Rewrites `aten.log_sigmoid`, in place; returns how many."""
    found = [op for op in walk(module.operation) if _is_unstable(op)]
    for op in found:
        kind = [op.results[0].type]
        with ir.InsertionPoint(op), op.location:
            below = torch_op("aten.neg", [op.operands[0]], kind).result
            options = [constant_float(1.0), constant_float(_THRESHOLD)]
            plus = torch_op("aten.softplus", [below, *options], kind).result
            op.results[0].replace_all_uses_with(torch_op("aten.neg", [plus], kind).result)
        op.erase()
    return len(found)


@LOG_SIGMOID.avoids
def _is_unstable(op: ir.Operation) -> bool:
    return aten_name(op) == "aten.log_sigmoid"
