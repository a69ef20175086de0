"""Scatters that overwrite elements, which may run side by side."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk

SERIAL_SCATTER = Workaround(
    name="serial-scatter",
    fault="torch-mlir says of every scatter that its indices repeat. IREE then writes the updates "
    "one after the other on a single work item, which copies updates and indices to shared memory "
    "if each update is one element: more than 5,461 f32 elements exceed 64 KiB.",
    effect=Effect.FAILS,
    targets="GPUs",
    remedy="The indices of a scatter that overwrites are declared unique, as ONNX and PyTorch "
    "demand of them: each update has a work item. Where they repeat, one of the updates is kept.",
)


def parallelize_scatters(module: ir.Module) -> int:
    """Declares the indices of overwriting scatters unique, in place; returns of how many.

    Args:
        module: module after torch ops were lowered.
    """
    found = [op for op in walk(module.operation) if _overwrites(op)]
    for op in found:
        op.attributes["unique_indices"] = ir.BoolAttr.get(True, module.context)
    return len(found)


@SERIAL_SCATTER.avoids
def _overwrites(op: ir.Operation) -> bool:
    if op.name != "iree_linalg_ext.scatter":
        return False
    body = op.regions[0].blocks[0]
    return list(body.operations)[-1].operands[0] == body.arguments[0]
