"""Padded convolutions on AMDGPU where IREE's ways to pad cost more than the work itself.

Fused, padding is masked element by element and in each dim at every read; apart, it is copied row
by row. So images are copied where there are no matrix instructions, and small ones of few channels
anywhere; depthwise convolutions read each element of a window by itself: a place outside is
clamped, and what is read there does not count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING

from hipgraft.codegen.lowering.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.flat import element_at
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind

if TYPE_CHECKING:
    from hipgraft.codegen.lowering.convolution import Sliding

# Windows of more elements are loops: unrolled, they need more registers than a lane has.
_READS = {64: 64, 32: 25}

# Of so few channels a copy costs little, if windows read at least so many elements for each row
# that is copied; in images as wide as this, masks cost no more.
_FEW_CHANNELS = 4
_READS_OF_ROW = 200
_WIDE = 192

# A place in one spatial dim, moved inside, and whether it was.
_Place = tuple[Scalar, Scalar]


def is_read_directly(sliding: Sliding, x: Tensor, w: Tensor, target: Target) -> bool:
    """Returns whether `convolve_directly` does the least work."""
    if not (_is_padded(sliding, target) and is_depthwise(x, w)):
        return False
    return math.prod(w.shape[2:]) <= _READS[target.wavefront_size]


def is_copied(sliding: Sliding, x: Tensor, w: Tensor, result: Tensor, target: Target) -> bool:
    """Returns whether a convolution of `padded_copy` does the least work."""
    if not _is_padded(sliding, target):
        return False
    if is_depthwise(x, w) or x.element not in target.matrix_elements:
        return True  # without matrix instructions, each product masks its operand again
    reads = math.prod((*w.shape[2:], *result.shape[2:]))
    often = reads >= _READS_OF_ROW * math.prod(x.shape[2:-1])
    return often and x.shape[1] == w.shape[1] <= _FEW_CHANNELS and x.shape[-1] < _WIDE


def is_depthwise(x: Tensor, w: Tensor) -> bool:
    """Returns whether each channel of `x` [N, C, spatial...] has one filter of its own."""
    return x.shape[1] == w.shape[0] > 1 == w.shape[1]


def _is_padded(sliding: Sliding, target: Target) -> bool:
    pads = (*sliding.before, *sliding.after)
    return target.kind is TargetKind.AMDGPU and max(pads) > 0


def padded_copy(emitter: Emitter, sliding: Sliding, x: Tensor) -> tuple[Sliding, Tensor]:
    """Emits `x` within zeros, and how windows slide over that."""
    none = [0] * len(sliding.stride)
    within = replace(sliding, before=none, after=none)
    if x.dims != tuple(range(x.rank)):
        return within, _placed(emitter, sliding, x)
    # Rows of one image of many channels are copied with less arithmetic than of several.
    channels = emitter.reshape(x, (math.prod(x.shape[:2]), *x.shape[2:]))
    wide = _placed(emitter, sliding, channels)
    return within, emitter.reshape(wide, (*x.shape[:2], *wide.shape[1:]))


def _placed(emitter: Emitter, sliding: Sliding, x: Tensor) -> Tensor:
    """Puts zeros around the last dims of `x`."""
    none = [0] * (x.rank - len(sliding.stride))
    low, high = [*none, *sliding.before], [*none, *sliding.after]
    shape = tuple(map(sum, zip(x.shape, low, high, strict=True)))
    zeros = emitter.filled(replace(x, shape=shape), 0)
    box = f"{[low[dim] for dim in x.dims]} {list(x.extents)} {[1] * len(x.dims)}"
    text = f"tensor.insert_slice {x.name} into {zeros.name}{box} : {x.type} into {zeros.type}"
    return replace(zeros, name=emitter.op("padded", text))


def convolve_directly(
    emitter: Emitter, sliding: Sliding, x: Tensor, w: Tensor, result: Tensor
) -> Tensor:
    """Emits a depthwise convolution, stored as `x` is.

    Args:
        emitter: where the ops go.
        sliding: how the window moves.
        x: activations [N, C, spatial...].
        w: filters [C, 1, window...].
        result: shape and accumulator type of the result.
    """
    order = _stored_order(x)
    window = w.shape[2:]

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, result.element)
        image, channel = scalars.index(order.index(0)), scalars.index(order.index(1))
        along = [
            [_place(scalars, sliding, dim, tap, x, order) for tap in range(extent)]
            for dim, extent in enumerate(window)
        ]
        terms: list[Scalar] = []
        for taps in product(*map(range, window)):
            places = [along[dim][tap] for dim, tap in enumerate(taps)]
            value = scalars.cast(_read(scalars, x, [image, channel], places), m.type)
            constants = (scalars.constant(tap, "index") for tap in (0, *taps))
            weight = element_at(scalars, w, [channel, *constants])
            terms.append(m.mul(value, scalars.cast(weight, m.type)))
        return [reduce(m.add, terms)]

    init = emitter.empty(replace(result, dims=order))
    return emitter.generic("conv", [], [init], body, shape=result.shape, order=order)[0]


def _place(
    scalars: ScalarEmitter, sliding: Sliding, dim: int, tap: int, x: Tensor, order: Sequence[int]
) -> _Place:
    """Emits where tap `tap` of the window at hand reads in spatial dim `dim`."""
    step = scalars.constant(sliding.stride[dim], "index")
    start = scalars.op("arith.muli", scalars.index(order.index(dim + 2)), step)
    distance = tap * sliding.dilation[dim] - sliding.before[dim]
    place = scalars.op("arith.addi", start, scalars.constant(distance, "index"))
    zero, end = (scalars.constant(value, "index") for value in (0, x.shape[dim + 2]))
    last = scalars.constant(x.shape[dim + 2] - 1, "index")
    inside = scalars.op("arith.cmpi ult,", place, end, result="i1")
    return scalars.op("arith.minsi", scalars.op("arith.maxsi", place, zero), last), inside


def _read(
    scalars: ScalarEmitter, x: Tensor, outer: Sequence[Scalar], places: Sequence[_Place]
) -> Scalar:
    """Reads an element of `x`, or 0 outside."""
    value = element_at(scalars, x, [*outer, *(place for place, _ in places)])
    inside = reduce(lambda a, b: scalars.op("arith.andi", a, b), (inside for _, inside in places))
    return scalars.select(inside, value, scalars.constant(0, x.element))


def _stored_order(x: Tensor) -> tuple[int, ...]:
    return x.dims if len(x.dims) == x.rank else tuple(range(x.rank))
