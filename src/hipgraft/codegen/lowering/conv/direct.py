"""Lowers padded convolutions on AMDGPU where IREE's padding costs more than the convolution.

If IREE fuses the padding, every read is masked per element and dim; if it materializes the padding,
it copies row by row. So this file copies images into zero-filled tensors: all images on targets
without matrix instructions, and small images with few channels on all targets. Depthwise
convolutions read each element of a window directly: an index outside the image is clamped, and the
element read there is replaced by 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product

from hipgraft.codegen.lowering.conv.geometry import ConvParams, is_depthwise
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind

# The most elements of a window that is unrolled, by wavefront size; unrolling larger windows would
# need more registers than a lane has.
_READS = {64: 64, 32: 25}

# With at most this many channels a copy pays off if windows read at least `_READS_OF_ROW` elements
# per copied row. In images of at least `_WIDE` columns masks cost no more than a copy.
_FEW_CHANNELS = 4
_READS_OF_ROW = 200
_WIDE = 192

Position = tuple[Scalar, Scalar]
"""An index in one spatial dim, clamped to the image, and whether it was inside before clamping."""


def is_read_directly(params: ConvParams, x: Tensor, w: Tensor, target: Target) -> bool:
    """Returns whether `convolve_directly` is the cheapest lowering."""
    if not (_is_padded(params, target) and is_depthwise(x, w)):
        return False
    return math.prod(w.shape[2:]) <= _READS[target.wavefront_size]


def is_copied(params: ConvParams, x: Tensor, w: Tensor, result: Tensor, target: Target) -> bool:
    """Returns whether convolving a `padded_copy` is the cheapest lowering."""
    if not _is_padded(params, target):
        return False
    if is_depthwise(x, w) or x.element not in target.matrix_elements:
        return True  # without matrix instructions, each product would mask its operand
    reads = math.prod((*w.shape[2:], *result.shape[2:]))
    often = reads >= _READS_OF_ROW * math.prod(x.shape[2:-1])
    return often and x.shape[1] == w.shape[1] <= _FEW_CHANNELS and x.shape[-1] < _WIDE


def _is_padded(params: ConvParams, target: Target) -> bool:
    pads = (*params.before, *params.after)
    return target.kind is TargetKind.AMDGPU and max(pads) > 0


def padded_copy(emitter: Emitter, params: ConvParams, x: Tensor) -> tuple[ConvParams, Tensor]:
    """Emits a copy of `x` surrounded by zeros, and the parameters without padding."""
    none = [0] * len(params.stride)
    within = replace(params, before=none, after=none)
    pads = [(0, 0)] * 2 + list(zip(params.before, params.after, strict=True))
    # Merged dims take less index arithmetic to copy: batch and channels, or channels and columns.
    if x.dims == tuple(range(x.rank)):
        channels = emitter.reshape(x, (math.prod(x.shape[:2]), *x.shape[2:]))
        wide = _placed(emitter, channels, pads[1:])
        return within, emitter.reshape(wide, (*x.shape[:2], *wide.shape[1:]))
    *outer, columns, channels = x.dims
    if len(x.dims) < x.rank or channels != 1:
        return within, _placed(emitter, x, pads)
    before, after = (x.shape[1] * each for each in pads[columns])
    stored = x.permuted(x.dims)
    rows = emitter.reshape(stored, (*stored.shape[:-2], math.prod(stored.shape[-2:])))
    wide = _placed(emitter, rows, [*(pads[dim] for dim in outer), (before, after)])
    extents = (*wide.shape[:-1], wide.shape[-1] // x.shape[1], x.shape[1])
    copied = emitter.reshape(wide, extents)
    return within, copied.permuted([x.dims.index(dim) for dim in range(x.rank)])


def _placed(emitter: Emitter, x: Tensor, pads: Sequence[tuple[int, int]]) -> Tensor:
    """Emits zeros around `x`, so many before and after each dim."""
    shape = tuple(
        before + extent + after for (before, after), extent in zip(pads, x.shape, strict=True)
    )
    zeros = emitter.filled(replace(x, shape=shape), 0)
    low = [pads[dim][0] for dim in x.dims]
    box = f"{low} {list(x.extents)} {[1] * len(x.dims)}"
    text = f"tensor.insert_slice {x.name} into {zeros.name}{box} : {x.type} into {zeros.type}"
    return replace(zeros, name=emitter.op("padded", text))


def convolve_directly(
    emitter: Emitter,
    params: ConvParams,
    x: Tensor,
    w: Tensor,
    result: Tensor,
    order: Sequence[int],
) -> Tensor:
    """Emits a depthwise convolution.

    Args:
        emitter: emitter that receives the ops.
        params: padding and steps of the window.
        x: activations [N, C, spatial...].
        w: filters [C, 1, window...].
        result: shape and accumulator type of the result.
        order: order of dims in which the result is computed and stored.
    """
    window = w.shape[2:]

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, result.element)
        image, channel = scalars.index(0), scalars.index(1)
        along = [
            [_position(scalars, params, dim, tap, x) for tap in range(extent)]
            for dim, extent in enumerate(window)
        ]
        terms: list[Scalar] = []
        for taps in product(*map(range, window)):
            positions = [along[dim][tap] for dim, tap in enumerate(taps)]
            value = scalars.cast(read_or_zero(scalars, x, [image, channel], positions), m.type)
            constants = (scalars.constant(tap, "index") for tap in (0, *taps))
            weight = scalars.element(w, channel, *constants)
            terms.append(m.mul(value, scalars.cast(weight, m.type)))
        return [reduce(m.add, terms)]

    init = emitter.empty(replace(result, dims=tuple(order)))
    return emitter.generic("conv", [], [init], body, shape=result.shape, order=order)[0]


def _position(
    scalars: ScalarEmitter, params: ConvParams, dim: int, tap: int, x: Tensor
) -> Position:
    """Emits the index in spatial dim `dim` that tap `tap` of the current window reads."""
    step = scalars.constant(params.stride[dim], "index")
    start = scalars.op("arith.muli", scalars.index(dim + 2), step)
    distance = tap * params.dilation[dim] - params.before[dim]
    position = scalars.op("arith.addi", start, scalars.constant(distance, "index"))
    return clamped(scalars, position, x.shape[dim + 2])


def clamped(scalars: ScalarEmitter, position: Scalar, extent: int) -> Position:
    """Emits the index nearest to `position` in a dim, and whether `position` is an index."""
    zero, end, last = (scalars.constant(value, "index") for value in (0, extent, extent - 1))
    inside = scalars.op("arith.cmpi ult,", position, end, result="i1")
    return scalars.op("arith.minsi", scalars.op("arith.maxsi", position, zero), last), inside


def read_or_zero(
    scalars: ScalarEmitter, x: Tensor, outer: Sequence[Scalar], positions: Sequence[Position]
) -> Scalar:
    """Emits an element of `x`, or 0 outside of it."""
    value = scalars.element(x, *outer, *(position for position, _ in positions))
    inside = reduce(
        lambda a, b: scalars.op("arith.andi", a, b), (inside for _, inside in positions)
    )
    return scalars.select(inside, value, scalars.constant(0, x.element))


def stored_order(x: Tensor) -> tuple[int, ...]:
    """Returns the order in which a tensor is stored; logical order if it lacks dims."""
    return x.dims if len(x.dims) == x.rank else tuple(range(x.rank))
