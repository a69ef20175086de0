"""Dispatches that only pad a tensor."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.symbols import symbol_of

LONE_PADDING = Workaround(
    name="lone-padding",
    fault="With fused padding (the flags `FUSE_PADDING` of `codegen/target.py`), a "
    "dispatch of a `tensor.pad` alone writes only parts of the padded tensor.",
    effect=Effect.WRONG,
    targets="AMDGPU",
    remedy="A module with such a dispatch is compiled without these flags.",
)

# IREE names all dispatches after their ops, except these.
_UNNAMED_DISPATCH = re.compile(r".*_dispatch_\d+")


@LONE_PADDING.avoids
def has_lone_padding(module: ir.Module) -> bool:
    """Returns whether a dispatch of a module after the phase `flow` only pads."""
    return any(_UNNAMED_DISPATCH.fullmatch(name) for name in _dispatch_names(module))


def _dispatch_names(module: ir.Module) -> Iterator[str]:
    for executable in module.body.operations:
        if executable.operation.name != "flow.executable":
            continue
        for op in executable.operation.regions[0].blocks[0].operations:
            if op.operation.name == "flow.executable.export":
                yield symbol_of(op)
