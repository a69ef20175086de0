"""Splits a kernel's workspace into buffers, which memory planning places one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hipgraft.codegen.iree.step_rewrites import WORKSPACE_ALIGNMENT, Range, moved, mover, ranges
from hipgraft.codegen.kernel import Step


def split_workspace(steps: Sequence[Step], workspace: int) -> tuple[list[Step], list[int]]:
    """Assigns a separate buffer to each group of overlapping ranges in the workspace.

    The host program can then reuse the memory of parts that are dead within the kernel.

    Args:
        steps: steps of a kernel.
        workspace: buffer number of its workspace; the new buffers are numbered from here on.

    Returns:
        The steps on these buffers, and the bytes of each.
    """
    used = (one for step in steps for one in ranges(step) if one.buffer == workspace)
    parts = _parts(used)
    for index, part in enumerate(parts):
        move = mover(part, workspace + index, 0)
        steps = [moved(step, move) for step in steps]
    return list(steps), [part.end - part.start for part in parts]


def _parts(used: Iterable[Range]) -> list[Range]:
    """Merges overlapping ranges into parts that start where an allocation may start."""
    parts: list[Range] = []
    for one in sorted(used, key=lambda one: one.start):
        start, end = one.start - one.start % WORKSPACE_ALIGNMENT, one.end
        if parts and start < parts[-1].end:
            last = parts.pop()
            start, end = last.start, max(last.end, end)
        parts.append(Range(one.buffer, start, end, True))
    return parts
