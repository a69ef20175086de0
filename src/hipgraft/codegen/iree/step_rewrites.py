"""Rewrites steps so that they never write operands, and write results without a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hipgraft.codegen.kernel import Binding, Copy, Fill, Step

WORKSPACE_ALIGNMENT = 64
"""Alignment in bytes of the allocations in a workspace."""


@dataclass(frozen=True)
class Range:
    """The bytes from `start` to `end` of a buffer, and whether a step writes them."""

    buffer: int
    start: int
    end: int
    written: bool

    def overlaps(self, other: Range) -> bool:
        """Whether the two ranges share a byte."""
        return self.buffer == other.buffer and self.start < other.end and other.start < self.end

    def contains(self, other: Range) -> bool:
        """Whether this range includes all bytes of `other`."""
        return self.buffer == other.buffer and self.start <= other.start and other.end <= self.end


def aligned(size: int) -> int:
    """Returns `size` rounded up to the alignment of allocations in a workspace."""
    return -(-size // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT


def uses(steps: Sequence[Step], buffer: int) -> bool:
    """Returns whether any step reads or writes `buffer`."""
    return any(used.buffer == buffer for step in steps for used in ranges(step))


def protect_operands(
    steps: Sequence[Step], num_operands: int, workspace: int, workspace_size: int
) -> tuple[list[Step], int]:
    """Makes steps that update an operand in place update a copy of it in the workspace instead.

    IREE may overwrite an argument at its last use, but a host program may still read the operand.

    Returns:
        The steps and the size of the workspace.
    """
    result = list(steps)
    accesses = [used for step in steps for used in ranges(step)]
    for operand in sorted({used.buffer for used in accesses if used.written}):
        if operand >= num_operands:
            continue
        size = max(used.end for used in accesses if used.buffer == operand)
        move = mover(Range(operand, 0, size, True), workspace, workspace_size)
        result = [moved(step, move) for step in result]
        result.insert(0, Copy(operand, 0, workspace, workspace_size, size))
        workspace_size += aligned(size)
    return result, workspace_size


def write_results_directly(steps: Sequence[Step], workspace: int) -> list[Step]:
    """Removes copies from the workspace to a result by working on the result's memory.

    A copy is removed if no other step touches the result, and if all steps that use the copied
    range run before the copy and stay within the range.
    """
    result = list(steps)
    for copy in [step for step in steps if isinstance(step, Copy) and step.source == workspace]:
        index = result.index(copy)
        if _is_forwardable(copy, result[:index], result[index + 1 :]):
            source = Range(workspace, copy.source_offset, copy.source_offset + copy.length, False)
            move = mover(source, copy.target, copy.target_offset)
            result = [moved(step, move) for step in result if step is not copy]
    return result


def _is_forwardable(copy: Copy, before: Sequence[Step], after: Sequence[Step]) -> bool:
    source, target = ranges(copy)
    earlier = [used for step in before for used in ranges(step)]
    later = [used for step in after for used in ranges(step)]
    return (
        all(not used.overlaps(source) or source.contains(used) for used in earlier)
        and not any(used.overlaps(source) for used in later)
        and not any(used.buffer == target.buffer for used in (*earlier, *later))
    )


def ranges(step: Step) -> Iterator[Range]:
    """Yields the ranges that a step reads and writes."""
    if isinstance(step, Fill):
        yield Range(step.buffer, step.offset, step.offset + step.length, True)
    elif isinstance(step, Copy):
        yield Range(step.source, step.source_offset, step.source_offset + step.length, False)
        yield Range(step.target, step.target_offset, step.target_offset + step.length, True)
    else:
        for b in step.bindings:
            yield Range(b.buffer, b.offset, b.offset + b.length, b.access != "read")


Mover = Callable[[int, int], tuple[int, int]]


def mover(source: Range, buffer: int, offset: int) -> Mover:
    """Returns a map of (buffer, offset) that moves `source` to `offset` of `buffer`."""

    def move(used: int, at: int) -> tuple[int, int]:
        if used == source.buffer and source.start <= at < source.end:
            return buffer, at - source.start + offset
        return used, at

    return move


def moved(step: Step, move: Mover) -> Step:
    """Returns a step with its buffers and offsets mapped by `move`."""
    if isinstance(step, Fill):
        buffer, offset = move(step.buffer, step.offset)
        return replace(step, buffer=buffer, offset=offset)
    if isinstance(step, Copy):
        source = move(step.source, step.source_offset)
        return Copy(*source, *move(step.target, step.target_offset), step.length)
    return replace(step, bindings=tuple(_moved_binding(b, move) for b in step.bindings))


def _moved_binding(binding: Binding, move: Mover) -> Binding:
    buffer, offset = move(binding.buffer, binding.offset)
    return replace(binding, buffer=buffer, offset=offset)
