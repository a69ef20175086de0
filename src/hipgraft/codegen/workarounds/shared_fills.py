"""Tensors filled with 64-bit elements, from which several other tensors are derived."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.ir.io import collect

SHARED_FILLS = Workaround(
    name="shared-fills",
    fault="Devices fill memory with patterns of up to 32 bits; a kernel fills with 64 bits. Where "
    "two `flow.tensor.update` write into one `flow.tensor.splat` of such elements, this kernel "
    "writes only one of the two tensors. IREE's verifier reports an error, but hipgraft compiles "
    "without it.",
    effect=Effect.WRONG,
    targets="all",
    remedy="After the flow phase, each use gets a `flow.tensor.splat` of its own, whose element "
    "passes through a `util.optimization_barrier`, so that IREE does not merge them again. On "
    "GPUs, such a module does not compile, and its ops are compiled one by one.",
)

_FILL = "flow.tensor.splat"
_BARRIER = "util.optimization_barrier"
_BITS = 64


def separate_fills(module: ir.Module) -> int:
    """Gives each use of a filled tensor its own fill; returns how many tensors it added."""
    if not SHARED_FILLS.is_on:
        return 0
    return sum(map(_separate, _shared_fills(module)))


def refuse_shared_fills(module: ir.Module) -> None:
    """Checks that no filled tensor is used twice.

    Raises:
        CodegenError: a filled tensor is used twice.
    """
    if SHARED_FILLS.is_on and _shared_fills(module):
        raise CodegenError("two tensors are made of one that is filled with elements of 64 bits")


def _shared_fills(module: ir.Module) -> list[ir.Operation]:
    found = collect(module, [_FILL])
    return [op for op in found if _is_wide(op) and len(list(op.result.uses)) > 1]


def _is_wide(fill: ir.Operation) -> bool:
    element = fill.operands[0].type
    return isinstance(element, ir.F64Type | ir.IntegerType) and element.width == _BITS


def _separate(fill: ir.Operation) -> int:
    uses = [(use.owner, use.operand_number) for use in fill.result.uses]
    for user, number in uses:
        with ir.InsertionPoint(fill), fill.location:
            element = fill.operands[0]
            hidden = ir.Operation.create(_BARRIER, results=[element.type], operands=[element])
            own = fill.clone()
            own.operands[0] = hidden.result
            user.operands[number] = own.results[0]
    fill.erase()
    return len(uses) - 1
