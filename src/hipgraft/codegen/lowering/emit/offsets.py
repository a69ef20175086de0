"""Maps memory offsets to elements, to write results whose strides do not nest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor


def write_places(emitter: Emitter, value: Tensor, layout: Layout) -> Tensor:
    """Emits the physical tensor of `layout`, offset by offset; gaps between elements hold 0."""
    source = emitter.logical(value)

    def element(scalars: ScalarEmitter, offset: Scalar) -> Scalar:
        indices, inside = indices_at(scalars, offset, layout.shape, layout.strides)
        return chosen(scalars, inside, source, indices)

    return written(emitter, layout, element)


def written(
    emitter: Emitter, layout: Layout, element: Callable[[ScalarEmitter, Scalar], Scalar]
) -> Tensor:
    """Emits the physical tensor of `layout`; `element` emits the element at an offset."""
    count = layout.physical_elements

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        return [element(scalars, scalars.index(0))]

    init = emitter.empty(Tensor.logical("", (count,), layout.element_type))
    flat = emitter.generic("written", [], [init], body, shape=(count,))[0]
    return emitter.reshape(flat, layout.physical_shape)


def indices_at(
    scalars: ScalarEmitter, offset: Scalar, shape: Sequence[int], strides: Sequence[int]
) -> tuple[list[Scalar], Scalar]:
    """Emits the indices of the element at `offset`, and whether it exists.

    If no two elements overlap, each stride exceeds the span of all dims with smaller strides.
    Division by the strides, largest first, therefore yields the indices.

    Args:
        scalars: emitter that receives the ops.
        offset: offset from the first element, in elements.
        shape: extents.
        strides: elements between neighbours.
    """
    zero = scalars.constant(0, "index")
    indices, rest = [zero] * len(shape), offset
    inside = scalars.compare("ge", offset, zero)
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
    """Emits the element of `source` at `indices` if `inside` holds, else 0.

    If `inside` does not hold, the indices are replaced by 0, so that the read stays in bounds.
    """
    zero = scalars.constant(0, "index")
    safe = [scalars.select(inside, index, zero) for index in indices]
    value = scalars.element(source, *safe)
    return scalars.select(inside, value, scalars.constant(0, value.type))
