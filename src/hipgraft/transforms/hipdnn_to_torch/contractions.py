"""Writes matrix products and convolutions as ATen ops."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.hipdnn_to_torch.expressions import Torch


def matmul(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes a product whose batches broadcast."""
    assert isinstance(op, hipdnn.MatmulOp)
    return [t.matmul(t.read(op.a), t.read(op.b))]


def conv_fprop(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes a convolution; padding that torch cannot express is added before it."""
    assert isinstance(op, hipdnn.ConvFpropOp)
    x, w, pad = t.read(op.x), _filters(t, op, t.read(op.w)), list(op.pre_padding)
    if pad != list(op.post_padding):
        x, pad = t.padded(x, op.pre_padding, op.post_padding), [0] * len(pad)
    groups = shape_of(op.x)[1] // shape_of(op.w)[1]
    return [_convolution(t, x, w, op.stride, pad, op.dilation, groups, shape_of(op.y))]


def conv_dgrad(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes a transposed convolution."""
    assert isinstance(op, hipdnn.ConvDgradOp)
    dy, w, shape = t.read(op.dy), _filters(t, op, t.read(op.w)), shape_of(op.dx)
    groups = shape[1] // shape_of(op.w)[1]
    reached = [
        (extent - 1) * step + span
        for extent, step, span in zip(shape_of(op.dy)[2:], op.stride, _spans(op, op.w), strict=True)
    ]
    extra = [
        extent + 2 * pad - reach
        for extent, pad, reach in zip(shape[2:], op.pre_padding, reached, strict=True)
    ]
    limits = zip(extra, op.stride, op.dilation, strict=True)
    if all(0 <= more < max(step, spread) for more, step, spread in limits):
        pad = op.pre_padding
        return [_convolution(t, dy, w, op.stride, pad, op.dilation, groups, shape, extra)]
    zeros = [0] * len(extra)
    whole = [*shape[:2], *reached]
    dx = _convolution(t, dy, w, op.stride, zeros, op.dilation, groups, whole, zeros)
    low = [-pad for pad in op.pre_padding]
    high = [
        extent + pad - reach
        for extent, pad, reach in zip(shape[2:], op.pre_padding, reached, strict=True)
    ]
    return [t.padded(dx, low, high)]


def conv_wgrad(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes the convolution of x with dy; batch and channels, stride and dilation are swapped."""
    assert isinstance(op, hipdnn.ConvWgradOp)
    x, dy, shape = t.read(op.x), t.read(op.dy), shape_of(op.dw)
    batch, channels = shape_of(op.x)[:2]
    groups, filters = channels // shape[1], shape_of(op.dy)[1]
    spans = [
        (extent - 1) * step + span
        for extent, step, span in zip(
            shape_of(op.dy)[2:], op.stride, _spans(op, op.dw), strict=True
        )
    ]
    # Crop the elements that no window reads, so that there are as many results as taps.
    after = [
        span - extent - pad
        for span, extent, pad in zip(spans, shape_of(op.x)[2:], op.pre_padding, strict=True)
    ]
    x = t.padded(x, op.pre_padding, after)
    spatial = t.shape(x)[2:]
    split = t.view(x, [batch, groups, shape[1], *spatial])
    order = [2, 1, 0, *range(3, 3 + len(spatial))]
    x = t.view(t.permute(split, order), [shape[1], groups * batch, *spatial])
    turned = [shape[1], filters, *shape[2:]]
    zeros = [0] * len(spatial)
    dw = _convolution(t, x, t.transpose(dy, 0, 1), op.dilation, zeros, op.stride, groups, turned)
    return [_filters(t, op, t.transpose(dw, 0, 1))]


def _spans(op: hipdnn.ConvolutionOp, w: ir.Value) -> list[int]:
    """Returns the elements from the first to the last of a window, per spatial dimension."""
    extents = shape_of(w)[2:]
    return [(extent - 1) * step + 1 for extent, step in zip(extents, op.dilation, strict=True)]


def _filters(t: Torch, op: hipdnn.ConvolutionOp, w: ir.Value) -> ir.Value:
    """Returns filters in the form of a cross-correlation."""
    if op.conv_mode is not hipdnn.ConvMode.CONVOLUTION:
        return w
    return t.unary("flip", w, list(range(2, len(t.shape(w)))))


def _convolution(
    t: Torch,
    x: ir.Value,
    w: ir.Value,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    shape: Sequence[int],
    extra: Sequence[int] | None = None,
) -> ir.Value:
    """Writes a convolution to `shape`; a transposed one if `extra` gives its output padding."""
    transposed = extra is not None
    if t.shape(x)[1] == groups > 1 and (transposed or len(stride) == 3):
        x, w = _with_two_channels(t, x, w, groups, transposed=transposed)
    window = [list(stride), list(padding), list(dilation)]
    ends = [0] * len(stride) if extra is None else list(extra)
    return t.op("aten.convolution", [x, w, None, *window, transposed, ends, groups], shape)


def _with_two_channels(
    t: Torch, x: ir.Value, w: ir.Value, groups: int, *, transposed: bool
) -> tuple[ir.Value, ir.Value]:
    """Gives each group a second channel of zeros.

    torch-mlir does not lower these convolutions if a group has one channel.
    """
    (batch, _, *spatial), (_, others, *window) = t.shape(x), t.shape(w)
    first, second = ([0] * (1 + len(spatial)), [1] + [0] * len(spatial))
    x = t.padded(t.view(x, [batch, groups, 1, *spatial]), first, second)
    if transposed:
        w = t.padded(t.view(w, [groups, 1, others, *window]), [0, *first], [1, 0, *second[1:]])
        w = t.view(w, [2 * groups, others, *window])
    else:
        w = t.padded(w, first, second)
    return t.view(x, [batch, 2 * groups, *spatial]), w
