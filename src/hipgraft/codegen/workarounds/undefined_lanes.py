"""Arguments of device functions in lanes beyond the operands of a product."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk

UNDEFINED_LANES = Workaround(
    name="undefined-lanes",
    fault="If the tiles of a product reach beyond its result, an operand that is added to the "
    "product has poison in the lanes beyond, which are never stored. The parameters of the "
    "device functions for `tanh`, `erf` and others are `noundef`: poison makes the kernel "
    "undefined as soon as the functions are inlined. LLVM leaves an empty kernel, or could "
    "drop bounds checks.",
    effect=Effect.FAILS,
    targets="AMDGPU",
    remedy="The arguments are frozen after kernels are in LLVM's dialect; empty kernels are "
    "errors.",
)

_DEVICE_FUNCTIONS = "__ocml_"


def freeze_arguments(module: ir.Module) -> None:
    """Freezes the arguments of device functions.

    Args:
        module: module whose kernels are in LLVM's dialect.
    """
    if not UNDEFINED_LANES.is_on:
        return
    calls = [op for op in walk(module.operation) if _is_device_call(op)]
    for call in calls:
        with call.location, ir.InsertionPoint(call):
            for index, value in enumerate(list(call.operands)):
                frozen = ir.Operation.create("llvm.freeze", results=[value.type], operands=[value])
                call.operands[index] = frozen.result


def _is_device_call(op: ir.Operation) -> bool:
    if op.name != "llvm.call" or "callee" not in op.attributes:
        return False
    callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    return callee.startswith(_DEVICE_FUNCTIONS)
