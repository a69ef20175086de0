"""Compiles exported programs of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hipgraft.compiler import program as compiler
from hipgraft.compiler.program import Program
from hipgraft.frontends.models import ExportedProgram


def compile(
    exported_program: Any,
    target: str | Sequence[str] = "gfx942",
    *,
    dims: Mapping[str, int] | None = None,
    specialize: Mapping[str, Sequence[int]] | None = None,
    **options: Any,
) -> Program:
    """Compiles a `torch.export.ExportedProgram`; parameters and buffers become constants.

    Args:
        exported_program: the program, which must not write its inputs or buffers.
        target: architecture or product (`gfx942`, `mi300x`), several, or `cpu`.
        dims: extents of symbolic dimensions by name. Those without one stay dynamic.
        specialize: several extents of symbolic dimensions by name.
        **options: further arguments of `hipgraft.compile`.

    Raises:
        HipgraftError: an op cannot be imported or compiled, or draws random numbers; located.
        TypeError: it is not an exported program.
    """
    if not isinstance(exported_program, ExportedProgram):
        kind = type(exported_program).__name__
        raise TypeError(f"expected a torch.export.ExportedProgram, not '{kind}'")
    return compiler.compile(exported_program, target, dims=dims, specialize=specialize, **options)
