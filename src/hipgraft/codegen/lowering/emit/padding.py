"""Pads and crops the spatial dims of `[N, C, spatial...]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.tensor import Tensor


def padded(
    emitter: Emitter, x: Tensor, before: Sequence[int], after: Sequence[int], value: float = 0
) -> Tensor:
    """Returns `x` with elements of `value` around its spatial dims.

    Args:
        emitter: emitter that receives the ops.
        x: tensor to pad.
        before: elements before the first one, per spatial dim; negative numbers crop.
        after: elements after the last one, per spatial dim; negative numbers crop.
        value: value of the new elements.
    """
    wide = _widened(emitter, x, positive(before), positive(after), value)
    return cropped(emitter, wide, before, after)


def cropped(emitter: Emitter, x: Tensor, low: Sequence[int], high: Sequence[int]) -> Tensor:
    """Crops `-low` and `-high` elements from the sides with negative padding."""
    offsets = [0, 0, *(max(-pad, 0) for pad in low)]
    ends = [0, 0, *(max(-pad, 0) for pad in high)]
    if not any(offsets) and not any(ends):
        return x
    shape = tuple(
        extent - first - last for extent, first, last in zip(x.shape, offsets, ends, strict=True)
    )
    result = replace(x, shape=shape)
    steps = [1] * len(x.dims)
    text = (
        f"tensor.extract_slice {x.name}{[offsets[dim] for dim in x.dims]} "
        f"{list(result.extents)} {steps} : {x.type} to {result.type}"
    )
    return replace(result, name=emitter.op("cropped", text))


def resized(emitter: Emitter, value: Tensor, dim: int, more: int) -> Tensor:
    """Appends `more` zeros to a dim of `value`, or crops `-more` elements if that is negative."""
    if more == 0:
        return value
    if dim not in value.dims:
        value = emitter.in_order(value, range(value.rank))
    # `padded` does not pad the two outermost dims.
    wide = value.with_unit_dim(0).with_unit_dim(0)
    after = [0] * value.rank
    after[dim] = more
    changed = padded(emitter, wide, [0] * value.rank, after)
    shape = tuple(extent + size for extent, size in zip(value.shape, after, strict=True))
    return replace(value, name=changed.name, shape=shape)


def positive(pads: Sequence[int]) -> list[int]:
    """Returns the paddings, with 0 in place of negative ones."""
    return [max(pad, 0) for pad in pads]


def _widened(
    emitter: Emitter, x: Tensor, before: Sequence[int], after: Sequence[int], value: float = 0
) -> Tensor:
    if not any(before) and not any(after):
        return x
    low = [0, 0, *before]
    high = [0, 0, *after]
    shape = [sum(extents) for extents in zip(x.shape, low, high, strict=True)]
    padding = emitter.constant(value, x.element)
    result = replace(x, shape=tuple(shape))
    indices = ", ".join(f"%p{dim}: index" for dim in range(len(x.dims)))
    text = (
        f"tensor.pad {x.name} low{[low[dim] for dim in x.dims]} "
        f"high{[high[dim] for dim in x.dims]} {{\n"
        f"^bb0({indices}):\n"
        f"  tensor.yield {padding.name} : {x.element}\n"
        f"}} : {x.type} to {result.type}"
    )
    return replace(result, name=emitter.op("padded", text))
