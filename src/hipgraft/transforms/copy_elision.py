"""Elides copies: places a buffer directly in the part of the buffer that it is copied into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.iree.pointer_alignment import POINTER_ALIGNMENT
from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import byte_size
from hipgraft.passmanager.base import PassState
from hipgraft.transforms.memory_plan import Interval, most_live

# The most memory to spend on avoiding copies: GPUs allocate memory in pages of this size.
_PAGE_BYTES = 1 << 16


@dataclass(frozen=True)
class _Part:
    """The bytes `start` to `end` of a buffer, which has the number `buffer`."""

    buffer: int
    start: int
    end: int

    def meets(self, other: _Part) -> bool:
        return self.buffer == other.buffer and self.start < other.end and other.start < self.end

    def inside(self, home: _Part) -> _Part:
        """Returns the same bytes in another buffer, where `home` holds this part's buffer."""
        return _Part(home.buffer, home.start + self.start, home.start + self.end)


@dataclass(frozen=True)
class _Access:
    """The op at `position` of the block touches `part`."""

    position: int
    part: _Part


def elide_copies(block: ir.Block, state: PassState) -> None:
    """Places buffers in the buffers that they are copied into, and erases the copies.

    A copy is erased if its source is a whole buffer that no op accesses afterwards, if no op
    accesses that part of its target before, and if peak memory grows by at most one page. Each
    remaining copy gets a missed remark.

    Args:
        block: device ops on one chain of async tokens.
        state: receives remarks and counters.
    """
    operations = [op.operation for op in block.operations]
    buffers = _Buffers(operations)
    for position, op in enumerate(operations):
        if op.name != "gpu.memcpy":
            continue
        try:
            buffers.merge(op, position)
        except Declined as reason:
            state.missed(op, reason.name, f"'{op.name}' op stays: {reason}")
        else:
            state.count("copies-elided")


class _Buffers:
    """The buffers of a block, by the positions of the ops that allocate them."""

    def __init__(self, operations: Sequence[ir.Operation]):
        self._end = len(operations)
        self._allocs: dict[int, ir.Operation] = {}
        self._parts: dict[ir.Value, _Part] = {}
        self._accesses: dict[int, list[_Access]] = {}
        # Buffers that ops other than device ops read: they may have unknown aliases.
        self._escaped: set[int] = set()
        for position, op in enumerate(operations):
            self._visit(position, op)
        self._most_live = most_live(list(self._intervals(self._accesses).values()))

    def _visit(self, position: int, op: ir.Operation) -> None:
        if op.name == "memref.alloc":
            size = _nbytes(op.results[0])
            if size is not None:
                self._parts[op.results[0]] = _Part(position, 0, size)
                self._allocs[position], self._accesses[position] = op, []
            return
        touched = [self._parts[value] for value in op.operands if value in self._parts]
        if op.name == "memref.view" and touched:
            self._parts[op.results[0]] = _viewed(op, touched[0])
        elif op.name == "memref.reinterpret_cast" and touched:
            self._parts[op.results[0]] = touched[0]
        else:
            for part in touched:
                self._accesses[part.buffer].append(_Access(position, part))
                if not op.name.startswith("gpu."):
                    self._escaped.add(part.buffer)

    def merge(self, copy: ir.Operation, position: int) -> None:
        """Places the source of a copy in its target, and erases the copy.

        Raises:
            Declined: the copy is needed.
        """
        if len(copy.operands) != 3 or len(copy.results) != 1:
            raise Declined("order", "it does not wait for one token and return one")
        target, source = (self._parts.get(copy.operands[index]) for index in (1, 2))
        if target is None or source is None:
            raise Declined("boundary", "it copies from or to memory of the caller")
        self._check(position, target, source)
        moved = [_Access(one.position, one.part.inside(target)) for one in self._of(source)]
        kept = [one for one in (*self._of(target), *moved) if one.position != position]
        after = {**self._accesses, target.buffer: kept}
        del after[source.buffer]
        live = most_live(list(self._intervals(after).values()))
        if live > self._most_live + _PAGE_BYTES:
            raise Declined("memory", f"{live} instead of {self._most_live} bytes would be live")
        self._accesses, self._most_live = after, min(live, self._most_live)
        _place(copy, self._allocs[target.buffer], self._allocs.pop(source.buffer), target)
        for value, part in self._parts.items():
            if part.buffer == source.buffer:
                self._parts[value] = part.inside(target)

    def _check(self, position: int, target: _Part, source: _Part) -> None:
        whole = _nbytes(self._allocs[source.buffer].results[0])
        if (source.start, source.end) != (0, whole) or target.end - target.start != whole:
            raise Declined("part", "it copies a part of a buffer")
        if target.buffer == source.buffer:
            raise Declined("part", "it copies within a buffer")
        if target.start % POINTER_ALIGNMENT:
            raise Declined("alignment", f"its target is at byte {target.start} of a buffer")
        if {target.buffer, source.buffer} & self._escaped:
            raise Declined("alias", "an op that is not on the device reads one of its buffers")
        if any(one.position > position for one in self._of(source)):
            raise Declined("reader", "its source is used afterwards")
        if any(one.position < position and one.part.meets(target) for one in self._of(target)):
            raise Declined("writer", "its target is used before")

    def _of(self, part: _Part) -> Sequence[_Access]:
        return self._accesses[part.buffer]

    def _intervals(self, accesses: dict[int, list[_Access]]) -> dict[int, Interval]:
        found: dict[int, Interval] = {}
        for buffer, touched in accesses.items():
            positions = [one.position for one in touched]
            if buffer in self._escaped:
                positions.append(self._end)
            size = _nbytes(self._allocs[buffer].results[0]) or 0
            found[buffer] = Interval(size, min(positions, default=0), max(positions, default=0))
        return found


def _nbytes(memref: ir.Value) -> int | None:
    kind = ir.MemRefType(memref.type)
    return byte_size(kind.shape, kind.element_type) if kind.has_static_shape else None


def _viewed(view: ir.Operation, base: _Part) -> _Part:
    """Returns the part that a `memref.view` shows; all of `base` if shift or size is unknown."""
    shift, size = builders.defining_op(view.operands[1]), _nbytes(view.results[0])
    if shift is None or shift.name != "arith.constant" or size is None:
        return base
    start = base.start + ir.IntegerAttr(shift.attributes["value"]).value
    return _Part(base.buffer, start, start + size)


def _place(copy: ir.Operation, home: ir.Operation, old: ir.Operation, part: _Part) -> None:
    """Replaces the buffer `old` by a part of `home`, and erases the copy."""
    if old.is_before_in_block(home):
        home.move_before(old)
    with ir.InsertionPoint(old):
        shift = builders.index_constant(part.start, old.location)
        view = builders.view(home.results[0], shift, old.results[0].type, old.location)
    copy.results[0].replace_all_uses_with(copy.operands[0])
    copy.erase()
    old.results[0].replace_all_uses_with(view)
    old.erase()
