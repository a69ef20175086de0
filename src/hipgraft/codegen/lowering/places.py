"""Which element lies at a place in memory: how results are written that are not rows in rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter
from hipgraft.codegen.lowering.tensor import Tensor


def write_places(emitter: Emitter, value: Tensor, layout: Layout) -> Tensor:
    """Emits the physical tensor of `layout`, place by place; 0 where no element lies."""
    source = emitter.logical(value)

    def element(scalars: ScalarEmitter, place: Scalar) -> Scalar:
        indices, inside = indices_at(scalars, place, layout.shape, layout.strides)
        return chosen(scalars, inside, source, indices)

    return written(emitter, layout, element)


def written(
    emitter: Emitter, layout: Layout, element: Callable[[ScalarEmitter, Scalar], Scalar]
) -> Tensor:
    """Emits the physical tensor of `layout`, whose element at each place `element` emits."""
    count = layout.physical_elements

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        return [element(scalars, scalars.index(0))]

    init = emitter.empty(Tensor.logical("", (count,), layout.element_type))
    flat = emitter.generic("written", [], [init], body, shape=(count,))[0]
    return emitter.reshape(flat, layout.physical_shape)


def indices_at(
    scalars: ScalarEmitter, place: Scalar, shape: Sequence[int], strides: Sequence[int]
) -> tuple[list[Scalar], Scalar]:
    """Emits the indices of the element at `place`, and whether one lies there.

    Where no two elements overlap, each stride is more than the reach of all smaller ones, so that
    division by the largest first finds the element.

    Args:
        scalars: where the ops go.
        place: elements from the first one, at least 0.
        shape: extents.
        strides: elements between neighbours.
    """
    zero = scalars.constant(0, "index")
    indices, rest = [zero] * len(shape), place
    inside = scalars.compare("ge", place, zero)
    moving = [dim for dim in range(len(shape)) if shape[dim] > 1]
    for dim in sorted(moving, key=lambda dim: -strides[dim]):
        step = scalars.constant(strides[dim], "index")
        indices[dim] = scalars.op("arith.divui", rest, step)
        rest = scalars.op("arith.remui", rest, step)
        extent = scalars.constant(shape[dim], "index")
        within = scalars.compare("lt", indices[dim], extent)
        inside = scalars.op("arith.andi", inside, within)
    return indices, scalars.op("arith.andi", inside, scalars.compare("eq", rest, zero))


def chosen(
    scalars: ScalarEmitter, inside: Scalar, source: Tensor, indices: Sequence[Scalar]
) -> Scalar:
    """Emits the element of `source` at `indices` if `inside` holds, else 0 without reading it."""
    zero = scalars.constant(0, "index")
    safe = [scalars.select(inside, index, zero) for index in indices]
    value = scalars.element(source, *safe)
    return scalars.select(inside, value, scalars.constant(0, value.type))
