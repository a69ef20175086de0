"""Computes transposed convolutions of constant filters as convolutions of their input.

With stride `s` and padding `p`, `dx[s * q + f]` is the sum over `t` of the products of `dy[q + t]`
and `w[f + p - s * t]`. So all phases `f` of `dx` are the channels of one convolution of `dy`, whose
filters are elements of `w` and zeros. This avoids the zero-dilated
images of the definition: 3x3 elements of `dy` take the place of 4x4 windows with stride 2 and
padding 1. (W. Shi et al., "Is the deconvolution layer the same as a convolutional
layer?", 2016.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from hipgraft.codegen.products import has_window_products
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import attributes_of
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import Shape, element_type_of, shape_of
from hipgraft.transforms.recognition.constants import Array, build_constant, constant_array
from hipgraft.transforms.recognition.values import make_window, readers, window


@dataclass(frozen=True)
class SubpixelConvolution:
    """The convolution of `dy` that computes all phases of `dx`.

    Attributes:
        op: `hipdnn.conv_dgrad`.
        low: for each spatial dim, the first element of `dy` that adds to `dx[0]`, at most 0.
        taps: for each spatial dim, the number of elements of `dy` that add to an element of `dx`.
        high: zeros after the last element of `dy`.
    """

    op: hipdnn.ConvDgradOp
    low: Shape
    taps: Shape
    high: Shape

    @property
    def filters(self) -> Shape:
        """The shape of the filters `[C * phases, K / groups, taps...]`."""
        channels, k = shape_of(self.op.dx)[1], shape_of(self.op.w)[0]
        groups = channels // shape_of(self.op.w)[1]
        return (channels * prod(self.op.stride), k // groups, *self.taps)


def subpixel_convolution(op: hipdnn.ConvDgradOp, most_bytes: int) -> SubpixelConvolution | None:
    """Returns the convolution that replaces `op`; None if the filters of `op` are not constant.

    Raises:
        Declined: there is no such convolution, or `op` takes less time.
        OpError: the constant's resource is missing.
    """
    if constant_array(op.w) is None or has_window_products(op):
        return None
    if max(op.dilation) > 1:
        raise Declined("dilated", "its filters are dilated")
    dims = list(
        zip(shape_of(op.dx)[2:], shape_of(op.w)[2:], op.stride, op.pre_padding, strict=True)
    )
    low = tuple(-((window - 1 - pad) // step) for _, window, step, pad in dims)
    last = [(step - 1 + pad) // step for _, _, step, pad in dims]
    high = tuple(
        -(-extent // step) + end - read
        for (extent, _, step, _), end, read in zip(dims, last, shape_of(op.dy)[2:], strict=True)
    )
    if max(low) > 0 or min(high) < 0:
        raise Declined("cropped", "it does not read all elements of 'dy'")
    taps = tuple(end - start + 1 for start, end in zip(low, last, strict=True))
    made = SubpixelConvolution(op, low, taps, high)
    if (byte_size(made.filters, element_type_of(op.w)) or 0) > most_bytes:
        raise Declined("large", f"its filters would take more than {most_bytes} bytes")
    return made


def compute(found: SubpixelConvolution) -> None:
    """Replaces a transposed convolution."""
    op, stride = found.op, found.op.stride
    batch, channels, *extents = shape_of(op.dx)
    positions = [-(-extent // step) for extent, step in zip(extents, stride, strict=True)]
    phases = channels * prod(stride)
    kind = ir.RankedTensorType.get((batch, phases, *positions), element_type_of(op.dx))
    attributes = attributes_of(op.operation)
    attributes.pop("conv_mode", None)
    with ir.InsertionPoint(op.operation), op.operation.location:
        filters = build_constant(_phases(found), element_type_of(op.w), "phases")
        made = ir.Operation.create(hipdnn.ConvFpropOp.OP_NAME, [kind], [op.dy, filters], attributes)
        y = hipdnn.ConvFpropOp(made)
        y.pre_padding, y.post_padding = [-start for start in found.low], list(found.high)
        y.stride = [1] * len(stride)
        copied, seen = y.y, StridedView.of_shape(shape_of(op.dx))
        if max(stride) > 1:
            copied, whole = _interleaved(y.y, channels, stride)
            seen = replace(whole, shape=seen.shape)
        _let_views_read(copied, seen, op.dx)
        op.dx.replace_all_uses_with(make_window(copied, seen))
    op.operation.erase()


def _let_views_read(copied: ir.Value, seen: StridedView, dx: ir.Value) -> None:
    """Replaces views of `dx` by views of a tensor that shows it in a window."""
    for reader in readers(dx):
        if reader.name != hipdnn.ViewOp.OP_NAME:
            continue
        direct = window(reader.results[0])[1].on_copied(seen)
        if direct is None:
            reader.operands[0] = hipdnn.pointwise(make_window(copied, seen), mode="identity")
        else:
            reader.results[0].replace_all_uses_with(make_window(copied, direct))
            reader.erase()


def _interleaved(y: ir.Value, channels: int, stride: Sequence[int]) -> tuple[ir.Value, StridedView]:
    """Copies `y` [N, C * phases, positions...] as [N, C, (position, phase)...].

    Returns:
        The copy, and the window that shows it as [N, C, positions * phases...].
    """
    batch, _, *positions = shape_of(y)
    rank = len(stride)
    apart = StridedView.of_shape((batch, channels, *stride, *positions))
    pairs = [dim for first in range(2, 2 + rank) for dim in (first + rank, first)]
    copied = hipdnn.pointwise(make_window(y, apart.permute([0, 1, *pairs])), mode="identity")
    extents = [extent * step for extent, step in zip(positions, stride, strict=True)]
    return copied, StridedView.of_shape((batch, channels, *extents))


def _phases(made: SubpixelConvolution) -> Array:
    """Returns the filters [C * phases, K / groups, taps...]."""
    op = made.op
    w = constant_array(op.w)
    assert w is not None  # as checked before
    rank = w.ndim - 2
    if op.conv_mode is hipdnn.ConvMode.CONVOLUTION:
        w = np.flip(w, tuple(range(2, w.ndim)))
    groups = shape_of(op.dx)[1] // w.shape[1]
    w = w.reshape(groups, -1, *w.shape[1:]).swapaxes(1, 2)
    for dim, (step, pad) in enumerate(zip(op.stride, op.pre_padding, strict=True)):
        axis, taps = 3 + 2 * dim, np.arange(made.taps[dim]) + made.low[dim]
        index = np.arange(step)[:, None] + pad - step * taps
        is_zero = (index < 0) | (index >= w.shape[axis])
        w = np.moveaxis(w, axis, 0)[np.where(is_zero, 0, index)]
        w[is_zero] = 0
        w = np.moveaxis(w, (0, 1), (axis, axis + 1))
    # [groups, C / groups, K / groups, (phase, tap)...]
    steps = range(3, 3 + 2 * rank)
    return w.transpose([0, 1, *steps[::2], 2, *steps[1::2]]).reshape(made.filters)
