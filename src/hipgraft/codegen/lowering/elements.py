"""Recomputes elements of a container's values where other ops read them.

IREE stores the operand of a gather. Recomputing the elements of a concatenation's part is cheaper
if the part is an elementwise op, a slice, or a concatenation of the container's operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.flat import Read
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.pointwise.pointwise import compute_element
from hipgraft.dialects.hipdnn import PointwiseMode, PointwiseOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.tensors import element_of, shape_of
from hipgraft.ir.torch_dialect import known_int, shape_and_element

MOST_READS = 16
"""The most elements to read for one element; for a concatenation, only one of them is used."""

MOST_OPS = 32
"""The longest chain of ops to recompute for each element."""


@dataclass(frozen=True)
class Source:
    """The values of a container that is lowered.

    Attributes:
        lowering: the lowering of the container.
        store: stores the result of another op of the container, and returns the stored tensor; None
            to read the lowered forms of such values.
    """

    lowering: Lowering
    store: Callable[[ir.Value], Tensor] | None = None


@dataclass(frozen=True)
class Elements:
    """A function that computes a value's elements.

    Attributes:
        shape: extents of the value.
        element: element type.
        read: emits the element at given indices, one for each dim.
        tensors: the tensors that `read` reads, each repeated once per element read.
        source: the tensor that has these elements at the same indices; None if there is none.
        is_window: whether `source` is a part of a tensor in memory.
        reads_computed: whether other ops of the container compute one of the tensors.
    """

    shape: tuple[int, ...]
    element: str
    read: Read
    tensors: tuple[Tensor, ...]
    source: Tensor | None = None
    is_window: bool = False
    reads_computed: bool = False

    @property
    def rank(self) -> int:
        """Number of dims."""
        return len(self.shape)

    @classmethod
    def of(cls, value: ir.Value, source: Source, depth: int = MOST_OPS) -> Elements | None:
        """Returns the elements of a value; None if they should not be computed where they are read.

        This is the case if the value is the result of an op that IREE lowers and `source` does not
        store it, depends on a chain of more than `depth` ops, or reads more than `MOST_READS`
        elements.
        """
        op, lowering = defining_op(value), source.lowering
        if op is None or op.name == "arith.constant":
            made = cls.stored(lowering.in_own_type(value))
            return replace(made, is_window=value in lowering.windows)
        if op.name == "torch_c.from_builtin_tensor":
            return cls.of(op.operands[0], source, depth)
        make = _OPS.get(op.name)
        if make is not None:
            return make(op, source, depth - 1) if depth else None
        if source.store is not None:
            return cls.stored(source.store(value))
        if value in lowering.tensors:
            return replace(cls.stored(lowering.in_own_type(value)), reads_computed=True)
        return None

    @classmethod
    def stored(cls, tensor: Tensor) -> Elements:
        """Returns the elements of a tensor."""

        def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
            return scalars.element(tensor, *indices)

        return cls(tensor.shape, tensor.element, read, (tensor,), tensor)

    def split(self, columns: int) -> Elements:
        """Returns the elements with the last dim as [..., extent / columns, columns]."""
        *outer, extent = self.shape

        def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
            *lead, row, column = indices
            start = scalars.op("arith.muli", row, scalars.constant(columns, "index"))
            return self.read(scalars, [*lead, scalars.op("arith.addi", start, column)])

        shape = (*outer, extent // columns, columns)
        return replace(self, shape=shape, read=read, source=None)


def joined(parts: Sequence[Elements], dim: int) -> Elements:
    """Returns the elements of a concatenation.

    Each lane reads one element of each part and selects one of them.
    """
    starts = [0, *accumulate(part.shape[dim] for part in parts)]
    shape = parts[0].shape

    def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
        row, values = indices[dim], list[Scalar]()
        for part, (start, end) in zip(parts, pairwise(starts), strict=True):
            # For rows of other parts, lanes read the first or last row of this part.
            first, last = (scalars.constant(at, "index") for at in (start, end - 1))
            bounded = scalars.op("arith.minui", scalars.op("arith.maxui", row, first), last)
            own = scalars.op("arith.subi", bounded, first)
            values.append(part.read(scalars, [*indices[:dim], own, *indices[dim + 1 :]]))
        found = values.pop()
        for value, end in zip(reversed(values), reversed(starts[1:-1]), strict=True):
            is_before = scalars.compare("lt", row, scalars.constant(end, "index"))
            found = scalars.select(is_before, value, found)
        return found

    whole = (*shape[:dim], starts[-1], *shape[dim + 1 :])
    return _combined(whole, parts[0].element, read, parts)


def _combined(
    shape: Sequence[int], element: str, read: Read, parts: Sequence[Elements]
) -> Elements:
    tensors = tuple(tensor for part in parts for tensor in part.tensors)
    is_computed = any(part.reads_computed for part in parts)
    return Elements(tuple(shape), element, read, tensors, reads_computed=is_computed)


def _operands(values: Iterable[ir.Value], source: Source, depth: int) -> list[Elements] | None:
    """Returns the elements of each value; None if there are none of one, or too many reads."""
    found: list[Elements] = []
    for value in values:
        each = Elements.of(value, source, depth)
        if each is None:
            return None
        found.append(each)
        if sum(len(one.tensors) for one in found) > MOST_READS:
            return None
    return found


def parts_of(
    op: ir.Operation, source: Source, depth: int = MOST_OPS
) -> tuple[list[Elements], int] | None:
    """Returns the operands of a `torch.aten.cat` and its dim; None where `Elements.of` is None."""
    parts = _operands(ir.OpResult(op.operands[0]).owner.operands, source, depth)
    dim = known_int(op.operands[1])
    if dim is None or not parts or len({(one.rank, one.element) for one in parts}) > 1:
        return None
    return parts, dim % parts[0].rank


def _concatenated(op: ir.Operation, source: Source, depth: int) -> Elements | None:
    found = parts_of(op, source, depth)
    return None if found is None else joined(*found)


def _computed(operation: ir.Operation, source: Source, depth: int) -> Elements | None:
    op = PointwiseOp(operation)
    operands = _operands(op.inputs, source, depth)
    if op.mode is PointwiseMode.GEN_INDEX or operands is None:
        return None

    def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
        values = [
            operand.read(scalars, _broadcast(scalars, operand.shape, indices))
            for operand in operands
        ]
        return compute_element(op, scalars, values)

    return _combined(shape_of(op.out_0), element_of(op.out_0), read, operands)


def _broadcast(
    scalars: ScalarEmitter, shape: Sequence[int], indices: Sequence[Scalar]
) -> list[Scalar]:
    """Returns the indices of an operand, whose dims align with the last ones."""
    own = indices[len(indices) - len(shape) :]
    zero = scalars.constant(0, "index")
    return [zero if extent == 1 else at for extent, at in zip(shape, own, strict=True)]


def _sliced(op: ir.Operation, source: Source, depth: int) -> Elements | None:
    whole = Elements.of(op.operands[0], source, depth)
    numbers = [known_int(value) for value in list(op.operands)[1:]]
    if whole is None or any(number is None for number in numbers):
        return None
    dim, start, end, step = (number or 0 for number in numbers)
    dim %= len(whole.shape)
    taken = range(whole.shape[dim])[start:end:step]

    def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
        first, by = (scalars.constant(number, "index") for number in (taken.start, step))
        at = scalars.op("arith.addi", scalars.op("arith.muli", indices[dim], by), first)
        return whole.read(scalars, [*indices[:dim], at, *indices[dim + 1 :]])

    shape = (*whole.shape[:dim], len(taken), *whole.shape[dim + 1 :])
    return replace(whole, shape=shape, read=read, source=None) if taken else None


def _expanded(op: ir.Operation, source: Source, depth: int) -> Elements | None:
    narrow, found = (
        Elements.of(op.operands[0], source, depth),
        shape_and_element(op.results[0].type),
    )
    if narrow is None or found is None:
        return None

    def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
        return narrow.read(scalars, _broadcast(scalars, narrow.shape, indices))

    return replace(narrow, shape=tuple(found[0]), read=read, source=None)


def _unsqueezed(op: ir.Operation, source: Source, depth: int) -> Elements | None:
    narrow, dim = Elements.of(op.operands[0], source, depth), known_int(op.operands[1])
    if narrow is None or dim is None:
        return None
    at = dim % (narrow.rank + 1)

    def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
        return narrow.read(scalars, [*indices[:at], *indices[at + 1 :]])

    shape = (*narrow.shape[:at], 1, *narrow.shape[at:])
    return replace(narrow, shape=shape, read=read, source=None)


_OPS: dict[str, Callable[[ir.Operation, Source, int], Elements | None]] = {
    PointwiseOp.OP_NAME: _computed,
    "torch.aten.broadcast_to": _expanded,
    "torch.aten.cat": _concatenated,
    "torch.aten.slice.Tensor": _sliced,
    "torch.aten.unsqueeze": _unsqueezed,
}
