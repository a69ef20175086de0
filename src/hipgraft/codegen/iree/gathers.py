"""Fuses reads by index into the elementwise loops that read their results."""

from __future__ import annotations

from hipgraft.codegen.iree.entry import run_passes
from hipgraft.codegen.iree.linalg_loops import iterators
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk

_PIPELINE = "builtin.module(any(linalg-fuse-elementwise-ops))"

_ELEMENTWISE = ("linalg.broadcast", "linalg.fill", "linalg.map", "linalg.transpose")
_PARTS = ("linalg.index", "linalg.yield")


def fuse_gathers(module: ir.Module) -> None:
    """Fuses the loops of a module, in place, if all are elementwise and any reads by index.

    IREE fuses loops with a `tensor.extract` into reductions that read them, but not into other
    loops: sampling an image at four points and weighting them would take five dispatches. Other
        modules stay unchanged, because the pass would move computations per row, such as the root
        of a variance, into the loops over the row's elements.

    Args:
        module: module after torch ops were lowered.

    Raises:
        CodegenError: the pass fails.
    """
    ops = list(walk(module.operation))
    loops = [op for op in ops if op.name.startswith("linalg.") and op.name not in _PARTS]
    if any(op.name == "tensor.extract" for op in ops) and all(map(_is_elementwise, loops)):
        run_passes(_PIPELINE, module)


def _is_elementwise(op: ir.Operation) -> bool:
    if op.name == "linalg.generic":
        return "reduction" not in iterators(op)
    return op.name in _ELEMENTWISE
