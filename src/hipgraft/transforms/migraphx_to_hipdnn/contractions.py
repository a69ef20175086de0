"""Converts convolutions and matrix products, accumulated in f32 or i32 and rounded once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.dialects.migraphx import (
    AnyConvolutionOp,
    DotOp,
    PoolingOp,
    QuantDotOp,
)
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.migraphx_to_hipdnn.converter import Conversion, Converter, tensor_type
from hipgraft.transforms.tensor_builder import Tensor


def split_padding(op: AnyConvolutionOp | PoolingOp, spatial: int) -> tuple[list[int], list[int]]:
    """Returns all low ends, and all high ends; older modules give one list for both."""
    padding = op.padding
    if len(padding) == spatial:
        return padding, padding
    if len(padding) != 2 * spatial:
        raise Declined("padding", f"expected {2 * spatial} paddings, but found {len(padding)}")
    return padding[:spatial], padding[spatial:]


def _check_rank(op: AnyConvolutionOp) -> int:
    spatial = len(op.input_type().shape) - 2
    if spatial not in (1, 2, 3):
        raise Declined("rank", f"expected 1 to 3 spatial dimensions, but found {spatial}")
    return spatial


def _convolution(converter: Converter, op: AnyConvolutionOp) -> Sequence[Tensor]:
    """Groups need no attribute: their number follows from the channels of both operands."""
    low, high = split_padding(op, _check_rank(op))
    x, w = converter.tensor(op.input), converter.tensor(op.filter)
    if x.shape[1] != w.shape[1] * op.group:
        raise Declined(
            "group",
            f"has {op.group} groups of {w.shape[1]} channels, but its input has "
            f"{x.shape[1]} channels",
        )
    y = hipdnn.conv_fprop(
        converter.materialize(x),
        converter.materialize(w),
        pre_padding=low,
        post_padding=high,
        stride=op.stride,
        dilation=op.dilation,
        result_type=tensor_type(op.output_type()),
        loc=converter.location,
    )
    return [converter.whole(y)]


def _backwards_data(converter: Converter, op: AnyConvolutionOp) -> Sequence[Tensor]:
    low, high = split_padding(op, _check_rank(op))
    dx = hipdnn.conv_dgrad(
        converter.materialize(converter.tensor(op.input)),
        converter.materialize(converter.tensor(op.filter)),
        pre_padding=low,
        post_padding=high,
        stride=op.stride,
        dilation=op.dilation,
        result_type=tensor_type(op.output_type()),
        loc=converter.location,
    )
    return [converter.whole(dx)]


def matmul(converter: Converter, a: Tensor, b: Tensor, element: ir.Type) -> Tensor:
    """Emits the product of `a` [batch..., M, K] and `b` [batch or 1..., K, N].

    All batch dimensions are collapsed into one if strides allow it, because IREE 3.13.0 crashes on
    some extents of several batch dimensions.
    """
    shape = (*a.shape[:-1], b.shape[-1])
    if math.prod(b.shape[:-2]) == 1:
        b = b.reshape((*[1] * (len(a.shape) - 2), *b.shape[-2:]))
    folded = [_with_one_batch(tensor) for tensor in (a, b)]
    if all(folded):
        a, b = (tensor for tensor in folded if tensor is not None)
    c = hipdnn.matmul(
        converter.materialize(a),
        converter.materialize(b),
        result_type=ir.RankedTensorType.get((*a.shape[:-1], b.shape[-1]), element),
        loc=converter.location,
    )
    return converter.whole(c).reshape(shape)


def _with_one_batch(tensor: Tensor) -> Tensor | None:
    count = math.prod(tensor.shape[:-2])
    view = tensor.view.reshape((count, *tensor.shape[-2:]))
    return None if view is None else tensor.through(view)


def _dot(converter: Converter, op: DotOp) -> Sequence[Tensor]:
    a, b = converter.tensor(op.in_a), converter.tensor(op.in_b)
    return [matmul(converter, a, b, tensor_type(op.output_type()).element_type)]


def _quant_dot(converter: Converter, op: QuantDotOp) -> Sequence[Tensor]:
    """Operands with scales are multiplied by them first, in f32."""
    a, b = _scaled(converter, op.in_a, op.scaleA), _scaled(converter, op.in_b, op.scaleB)
    return [matmul(converter, a, b, tensor_type(op.output_type()).element_type)]


def _scaled(converter: Converter, value: ir.Value, scale: ir.Value | None) -> Tensor:
    operand = converter.tensor(value)
    if scale is None:
        return operand
    return converter.pointwise("mul", [operand, converter.tensor(scale)], ir.F32Type.get())


CONTRACTIONS: dict[str, Conversion] = {
    "backwards_data_convolution": _backwards_data,
    "convolution": _convolution,
    "dot": _dot,
    "quant_convolution": _convolution,
    "quant_dot": _quant_dot,
}
"""The conversions by mnemonic."""
