"""Converts pooling, which rocMLIR has dropped but older modules contain."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.dialects.migraphx import PoolingOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.migraphx_to_hipdnn.contractions import split_padding
from hipgraft.transforms.migraphx_to_hipdnn.converter import Conversion, Converter, element_type
from hipgraft.transforms.tensor_builder import Tensor

_MODES = {
    "max": ("MAXPOOL", "NEG_INF_PAD"),
    # MIGraphX excludes padding from means by default.
    "average": ("AVGPOOL_EXCLUDE_PADDING", "ZERO_PAD"),
}
_WITH_PADDING = ("AVGPOOL_INCLUDE_PADDING", "ZERO_PAD")


def _pooling(converter: Converter, op: PoolingOp) -> Sequence[Tensor]:
    x, element, mode = converter.tensor(op.input), element_type(op.output_type()), op.mode
    if mode == "lpnorm":
        return [_lp_norm(converter, op, x)]
    if mode not in _MODES:
        raise Declined(
            "pooling-mode", f"expected mode 'max', 'average' or 'lpnorm', but found '{mode}'"
        )
    counts_padding = mode == "average" and op.count_include_pad
    modes = _WITH_PADDING if counts_padding else _MODES[mode]
    return [_resampled(converter, op, x, modes, element)]


def _lp_norm(converter: Converter, op: PoolingOp, x: Tensor) -> Tensor:
    """`(sum of |x|^p)^(1/p)`, of the mean of windows whose padding counts as zeros; 1 if p is 0."""
    order, element = _order(op), element_type(op.output_type())
    if order == 0:
        return converter.whole(converter.splat(1, op.output_type().extents, element))
    is_double = isinstance(element, ir.F64Type)
    wide = element if is_double else ir.F32Type.get()
    size = math.prod(_window(op))
    powers = converter.pointwise("abs", [x], wide)
    powers = converter.pointwise("pow", [powers, converter.scalar(order, powers)], wide)
    mean = _resampled(converter, op, powers, _WITH_PADDING, wide)
    total = converter.pointwise("mul", [mean, converter.scalar(size, mean)], wide)
    return converter.pointwise("pow", [total, converter.scalar(1 / order, total)], element)


def _order(op: PoolingOp) -> int:
    order = op.lp_order
    if order < 0:
        raise Declined("pooling-order", f"expected 'lp_order' of 0 or more, but found {order}")
    return order


def _resampled(
    converter: Converter, op: PoolingOp, x: Tensor, modes: tuple[str, str], element: ir.Type
) -> Tensor:
    window = _window(op)
    low, high = split_padding(op, len(window))
    y = hipdnn.resample_fwd(
        converter.materialize(x),
        resample_mode=modes[0],
        padding_mode=modes[1],
        window=window,
        stride=op.stride,
        pre_padding=low,
        post_padding=_reaching(op, window, low, high),
        result_type=ir.RankedTensorType.get(op.output_type().extents, element),
        loc=converter.location,
    )
    return converter.whole(y)


def _window(op: PoolingOp) -> list[int]:
    window = op.lengths if op.length is None else op.length
    if window is None:
        raise Declined("window", "requires attribute 'length'")
    spatial = len(op.input_type().shape) - 2
    if not len(window) == len(op.stride) == spatial:
        raise Declined("rank", f"expected {spatial} spatial dimensions in 'length' and 'stride'")
    if any(step != 1 for step in op.dilations or ()):
        raise Declined("dilation", "hipDNN has no windows with gaps")
    return window


def _reaching(
    op: PoolingOp, window: Sequence[int], low: Sequence[int], high: Sequence[int]
) -> list[int]:
    """The padding after each dimension that makes the last window fit; more with `ceil_mode`."""
    extents, results = op.input_type().extents[2:], op.output_type().extents[2:]
    padding: list[int] = []
    for dim, (extent, count, step) in enumerate(zip(extents, results, op.stride, strict=True)):
        if step < 1:
            raise Declined("stride", f"expected a positive stride, but found {step}")
        needed = (count - 1) * step + window[dim] - extent - low[dim]
        expected = _positions(extent + low[dim] + high[dim] - window[dim], step, op.ceil_mode)
        if count != expected:
            raise Declined(
                "result-shape",
                f"expected {expected} windows in spatial dimension {dim}, but its result has "
                f"{count}",
            )
        padding.append(max(needed, high[dim]))
    return padding


def _positions(room: int, step: int, rounds_up: bool) -> int:
    return (-(-room // step) if rounds_up else room // step) + 1


POOLING: dict[str, Conversion] = {"pooling": _pooling}
"""The conversions by mnemonic."""
