"""Erases ops without side effects whose results are unused."""

from __future__ import annotations

from hipgraft.ir.bindings import ir


def erase_unused(block: ir.Block, *prefixes: str) -> None:
    """Erases ops whose results are unused, last first; ops without results stay.

    Args:
        block: block of a function.
        prefixes: prefixes of the names of ops to erase; empty for any op. These ops must be pure.
    """
    for op in reversed([op.operation for op in block.operations]):
        if prefixes and not op.name.startswith(prefixes):
            continue
        if op.results and all(next(iter(result.uses), None) is None for result in op.results):
            op.erase()
