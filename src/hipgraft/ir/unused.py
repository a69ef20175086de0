"""Erases pure ops whose results nothing reads, or that compute what others do."""

from __future__ import annotations

from hipgraft.ir.bindings import ir


def erase_unused(block: ir.Block, *prefixes: str) -> None:
    """Erases ops whose results nothing reads, last first; ops without results stay.

    Args:
        block: block of a function.
        prefixes: how the names of the ops begin; any op if there are none. These ops must be pure.
    """
    for op in reversed([op.operation for op in block.operations]):
        if prefixes and not op.name.startswith(prefixes):
            continue
        if op.results and all(next(iter(result.uses), None) is None for result in op.results):
            op.erase()


def merge_equal(block: ir.Block, prefix: str) -> int:
    """Replaces ops that compute what an earlier one of the block does; these must be pure.

    Args:
        block: the block.
        prefix: how the names of the ops begin.

    Returns:
        How many ops were erased.
    """
    found: dict[object, ir.Operation] = {}
    merged = 0
    for op in [op.operation for op in block.operations]:
        if not op.name.startswith(prefix) or len(op.regions) or not op.results:
            continue
        types = tuple(result.type for result in op.results)
        key = op.name, tuple(op.attributes.items()), tuple(op.operands), types
        first = found.setdefault(key, op)
        if first != op:
            for result, kept in zip(op.results, first.results, strict=True):
                result.replace_all_uses_with(kept)
            op.erase()
            merged += 1
    return merged
