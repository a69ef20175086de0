"""A kernel's workspace as buffers of their own, which memory planning places one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hipgraft.codegen.kernel import Step
from hipgraft.codegen.step_rewrites import KERNEL_ALIGNMENT, Range, moved, mover, ranges


def split_workspace(steps: Sequence[Step], workspace: int) -> tuple[list[Step], list[int]]:
    """Gives each part of the workspace that no step uses together with others its own buffer.

    What dies within the kernel then leaves its place to other buffers of the program.

    Args:
        steps: of a kernel.
        workspace: number of its workspace; the buffers are numbered from here on.

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
    """Joins ranges that overlap; each part begins where the workspace is as aligned as a buffer."""
    parts: list[Range] = []
    for one in sorted(used, key=lambda one: one.start):
        start, end = one.start - one.start % KERNEL_ALIGNMENT, one.end
        if parts and start < parts[-1].end:
            last = parts.pop()
            start, end = last.start, max(last.end, end)
        parts.append(Range(one.buffer, start, end, True))
    return parts
