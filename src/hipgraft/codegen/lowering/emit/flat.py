"""Emits loops over single elements, for rows too short to fill vectors or a tile's lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor

_SHORTEST_ROW = 16

Read = Callable[[ScalarEmitter, list[Scalar]], Scalar]


def has_short_rows(shape: Sequence[int]) -> bool:
    """Whether `shape` has rows, and these are too short for the vectors that lanes read."""
    return len(shape) > 1 and shape[-1] < _SHORTEST_ROW


def by_element(emitter: Emitter, shape: Sequence[int], element: str, read: Read) -> Tensor:
    """Emits a tensor in loops over [..., rows · columns], which IREE tiles as one dim.

    Args:
        emitter: emitter that receives the ops.
        shape: extents [..., rows, columns].
        element: element type.
        read: emits the element at the given indices, one for each dim of `shape`.
    """
    *outer, rows, columns = shape

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        *indices, flat = (scalars.index(loop) for loop in range(len(outer) + 1))
        width = scalars.constant(columns, "index")
        inner = [scalars.op(f"arith.{op}ui", flat, width) for op in ("div", "rem")]
        return [read(scalars, [*indices, *inner])]

    flat = emitter.pointwise("element", [], (*outer, rows * columns), element, body)
    return emitter.reshape(flat, shape)


def in_logical_order(emitter: Emitter, value: Tensor) -> Tensor:
    """Copies a tensor to logical order element by element, without a transpose op."""
    return by_element(
        emitter,
        value.shape,
        value.element,
        lambda scalars, indices: scalars.element(value, *indices),
    )
