"""Values of a container whose elements are computed where they are read.

IREE stores what a gather reads. The elements of a part of a concatenation are cheaper to compute
again: those of elementwise ops, slices, and concatenations of what a container reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.flat import Read, element_at
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.pointwise.pointwise import compute_element
from hipgraft.dialects.hipdnn import PointwiseMode, PointwiseOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.tensors import element_of, shape_of
from hipgraft.ir.torch_dialect import known_int


@dataclass(frozen=True)
class Elements:
    """What computes a value's elements.

    Attributes:
        shape: extents of the value.
        element: element type.
        read: emits the element at given indices, one for each dim.
        tensors: the tensors that it reads an element of, each as often as that.
        source: the tensor whose elements they are, each at its own index; None for all others.
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
    def of(cls, value: ir.Value, lowering: Lowering) -> Elements | None:
        """Returns the elements of a value; None if an op computes them that IREE lowers."""
        op = defining_op(value)
        if op is None or op.name == "arith.constant":
            made = cls.stored(lowering.in_own_type(value))
            return replace(made, is_window=value in lowering.windows)
        if op.name == "torch_c.from_builtin_tensor":
            return cls.of(op.operands[0], lowering)
        if op.name == PointwiseOp.OP_NAME:
            return _computed(PointwiseOp(op), lowering)
        if op.name == "torch.aten.slice.Tensor":
            return _sliced(op, lowering)
        if op.name == "torch.aten.cat":
            return concatenated(op, lowering)
        if value in lowering.tensors:
            return replace(cls.stored(lowering.in_own_type(value)), reads_computed=True)
        return None

    @classmethod
    def stored(cls, tensor: Tensor) -> Elements:
        """Returns the elements of a tensor."""

        def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
            return element_at(scalars, tensor, indices)

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

    Lanes read one element of each part, and use one of these.
    """
    starts = [0, *accumulate(part.shape[dim] for part in parts)]
    shape = parts[0].shape

    def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
        row, values = indices[dim], list[Scalar]()
        for part, (start, end) in zip(parts, pairwise(starts), strict=True):
            # Rows of other parts read the first or last one.
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


def parts_of(op: ir.Operation, lowering: Lowering) -> tuple[list[Elements], int] | None:
    """Returns the operands of a `torch.aten.cat` and its dim; None if IREE lowers one of them."""
    values = list(ir.OpResult(op.operands[0]).owner.operands)
    parts = [part for value in values if (part := Elements.of(value, lowering)) is not None]
    dim, ranks = known_int(op.operands[1]), {part.rank for part in parts}
    if dim is None or len(parts) < len(values) or len(ranks) != 1 or 0 in ranks:
        return None
    is_whole = all(0 not in part.shape for part in parts)
    is_uniform = len({part.element for part in parts}) == 1
    return (parts, dim % parts[0].rank) if is_whole and is_uniform else None


def concatenated(op: ir.Operation, lowering: Lowering) -> Elements | None:
    """Returns the elements of a `torch.aten.cat`; None if other ops compute an operand."""
    found = parts_of(op, lowering)
    return None if found is None else joined(*found)


def _computed(op: PointwiseOp, lowering: Lowering) -> Elements | None:
    shape = shape_of(op.out_0)
    operands = [Elements.of(value, lowering) for value in op.inputs]
    known = [operand for operand in operands if operand is not None]
    if op.mode is PointwiseMode.GEN_INDEX or len(known) < len(operands):
        return None

    def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
        values = [
            operand.read(scalars, _broadcast(scalars, operand.shape, indices)) for operand in known
        ]
        return compute_element(op, scalars, values)

    return _combined(shape, element_of(op.out_0), read, known)


def _broadcast(
    scalars: ScalarEmitter, shape: Sequence[int], indices: Sequence[Scalar]
) -> list[Scalar]:
    """Returns the indices of an operand, whose dims align with the last ones."""
    own = indices[len(indices) - len(shape) :]
    zero = scalars.constant(0, "index")
    return [zero if extent == 1 else at for extent, at in zip(shape, own, strict=True)]


def _sliced(op: ir.Operation, lowering: Lowering) -> Elements | None:
    whole = Elements.of(op.operands[0], lowering)
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
