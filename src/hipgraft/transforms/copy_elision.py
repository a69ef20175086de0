"""Buffers that are copied into parts of others become these parts, so that nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import byte_size

_KERNEL_ALIGNMENT = 16  # bytes; kernels are compiled for pointers at multiples of it


@dataclass(frozen=True)
class _Part:
    """The bytes `start` to `end` of the buffer that the alloc at position `alloc` makes."""

    alloc: int
    start: int
    end: int

    def meets(self, other: _Part) -> bool:
        return self.alloc == other.alloc and self.start < other.end and other.start < self.end


@dataclass
class _Accesses:
    """What each op of a block touches, by its position."""

    operations: Sequence[ir.Operation]
    parts: dict[ir.Value, _Part] = field(default_factory=dict[ir.Value, _Part])
    touched: list[tuple[int, _Part]] = field(default_factory=list[tuple[int, _Part]])
    escaped: set[int] = field(default_factory=set[int])
    """Allocs that ops other than device ops read, so that they may have unknown aliases."""

    def __post_init__(self) -> None:
        for position, op in enumerate(self.operations):
            self._visit(position, op)

    def _visit(self, position: int, op: ir.Operation) -> None:
        if op.name == "memref.alloc":
            size = _nbytes(op.results[0])
            if size is not None:
                self.parts[op.results[0]] = _Part(position, 0, size)
            return
        touched = [self.parts[value] for value in op.operands if value in self.parts]
        if op.name == "memref.view" and touched:
            self.parts[op.results[0]] = _viewed(op, touched[0])
        elif op.name == "memref.reinterpret_cast" and touched:
            self.parts[op.results[0]] = touched[0]
        else:
            self.touched += [(position, part) for part in touched]
            if not op.name.startswith("gpu."):
                self.escaped.update(part.alloc for part in touched)


def _nbytes(memref: ir.Value) -> int | None:
    kind = ir.MemRefType(memref.type)
    return byte_size(kind.shape, kind.element_type) if kind.has_static_shape else None


def _viewed(view: ir.Operation, base: _Part) -> _Part:
    """The part that a `memref.view` shows; all of `base` if its shift or size is not known."""
    shift, size = builders.defining_op(view.operands[1]), _nbytes(view.results[0])
    if shift is None or shift.name != "arith.constant" or size is None:
        return base
    start = base.start + ir.IntegerAttr(shift.attributes["value"]).value
    return _Part(base.alloc, start, start + size)


def elide_copies(block: ir.Block) -> int:
    """Places buffers in the buffers that they are copied into; returns how many copies that saves.

    A copy goes if its source is a whole buffer that nothing touches afterwards, and if nothing
    touches that part of its target before.

    Args:
        block: of device ops on one chain of async tokens.
    """
    saved = 0
    accesses = _Accesses([op.operation for op in block.operations])
    for copy in [op for op in accesses.operations if op.name == "gpu.memcpy"]:
        position = list(accesses.operations).index(copy)
        if _is_needless(copy, position, accesses):
            _place(copy, accesses)
            accesses = _Accesses([op.operation for op in block.operations])
            saved += 1
    return saved


def _is_needless(copy: ir.Operation, position: int, accesses: _Accesses) -> bool:
    target, source = (accesses.parts.get(copy.operands[index]) for index in (1, 2))
    if target is None or source is None or target.alloc == source.alloc:
        return False
    whole = accesses.parts[accesses.operations[source.alloc].results[0]]
    if source != whole or target.end - target.start != whole.end:
        return False
    if target.start % _KERNEL_ALIGNMENT or {target.alloc, source.alloc} & accesses.escaped:
        return False
    read_later = any(at > position and part.alloc == source.alloc for at, part in accesses.touched)
    used_before = any(at < position and part.meets(target) for at, part in accesses.touched)
    return not read_later and not used_before


def _place(copy: ir.Operation, accesses: _Accesses) -> None:
    """Replaces the copy's source by a view of its target, and erases the copy."""
    target, source = (accesses.parts[copy.operands[index]] for index in (1, 2))
    home, old = accesses.operations[target.alloc], accesses.operations[source.alloc]
    if target.alloc > source.alloc:
        home.move_before(old)
    with ir.InsertionPoint(old):
        shift = builders.index_constant(target.start, old.location)
        view = builders.view(home.results[0], shift, old.results[0].type, old.location)
    copy.results[0].replace_all_uses_with(copy.operands[0])
    copy.erase()
    old.results[0].replace_all_uses_with(view)
    old.erase()
