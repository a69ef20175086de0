"""Converts convolutions and matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import add

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp
from hipgraft.transforms.torch_to_hipdnn.padding import padded_operand
from hipgraft.transforms.torch_to_hipdnn.pointwise import scaled


def _convolution(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups)`.

    `conv2d` and its like have neither `transposed` nor `output_padding`. Groups need no attribute:
    hipDNN reads them from the channels of x and w.
    """
    w = op.float_tensor(1)
    padding = op.per_dim(4, len(w.shape) - 2)
    x, before, after = padded_operand(op, len(padding))
    if len(x.shape) != len(w.shape):
        raise Declined("unbatched", "hipDNN's convolutions have a batch dimension")
    rank = len(x.shape) - 2
    # A transposed convolution is a data gradient: its operand is the gradient of the output.
    is_transposed = len(op) == 9 and op.constant(6)
    build = hipdnn.conv_dgrad if is_transposed else hipdnn.conv_fprop
    y = build(
        converter.materialize(x),
        converter.materialize(w),
        pre_padding=[*map(add, padding, before)],
        post_padding=[*map(add, padding, after)],
        stride=op.per_dim(3, rank),
        dilation=op.per_dim(5, rank),
        result_type=ir.RankedTensorType.get(op.result_shape(), op.result_element()),
        loc=converter.location,
    )
    bias = op.optional_tensor(2)
    result = converter.whole(y)
    return [result if bias is None else _channel_bias(converter, result, bias)]


def _channel_bias(converter: Converter, y: Tensor, bias: Tensor) -> Tensor:
    shape = (1, bias.shape[0], *[1] * (len(y.shape) - 2))
    return converter.pointwise("add", [y, bias.reshape(shape)], y.element_type)


def matmul(
    converter: Converter,
    a: Tensor,
    b: Tensor,
    shape: Sequence[int],
    element: ir.Type | None = None,
) -> Tensor:
    """Emits the product of `a` [..., M, K] and `b` [..., K, N] as a tensor of `shape`.

    The element type defaults to that of `a`.

    Vectors get a unit dimension. A stack of matrices times one matrix becomes one tall product, and
    so does one matrix times a stack of columns. Columns times rows are multiplied by element.
    """
    a = a.reshape((1, *a.shape)) if len(a.shape) == 1 else a
    b = b.reshape((*b.shape, 1)) if len(b.shape) == 1 else b
    if math.prod(a.shape[:-2]) == b.shape[-1] == 1 and math.prod(b.shape[:-2]) > 1:
        rows = b.view.reshape((math.prod(b.shape[:-2]), b.shape[-2]))
        if rows is not None:
            matrix = a.reshape(a.shape[-2:])
            a, b = b.through(rows), matrix.through(matrix.view.permute((1, 0)))
    if math.prod(b.shape[:-2]) == 1 and len(a.shape) > 2:
        tall = a.view.reshape((math.prod(a.shape[:-1]), a.shape[-1]))
        if tall is not None:
            a, b = a.through(tall), b.reshape(b.shape[-2:])
    rank = max(len(a.shape), len(b.shape))
    a, b = (t.reshape((1,) * (rank - len(t.shape)) + t.shape) for t in (a, b))
    if a.shape[-1] == 1 and isinstance(a.element_type, ir.FloatType):
        return converter.pointwise("mul", [a, b], element or a.element_type).reshape(shape)
    c = hipdnn.matmul(
        converter.materialize(a),
        converter.materialize(b),
        result_type=ir.RankedTensorType.get(_product_shape(a, b), element or a.element_type),
        loc=converter.location,
    )
    return converter.whole(c).reshape(shape)


def _product_shape(a: Tensor, b: Tensor) -> list[int]:
    batch = [max(left, right) for left, right in zip(a.shape[:-2], b.shape[:-2], strict=True)]
    return [*batch, a.shape[-2], b.shape[-1]]


def _matmul(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    element = op.result_element()
    if element == ir.IntegerType.get_signless(32):
        a, b, i8 = op.tensor(0), op.tensor(1), ir.IntegerType.get_signless(8)
        if {a.element_type, b.element_type} != {i8}:
            raise Declined("integer-arithmetic", "multiplies other integers than signed bytes")
    else:
        a, b = op.float_tensor(0), op.float_tensor(1)
    return [matmul(converter, a, b, op.result_shape(), element)]


def _linear(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`linear(x, w [N, K], bias)`: the weight is read transposed."""
    weight = op.float_tensor(1)
    transposed = weight.through(weight.view.permute((1, 0)))
    result = matmul(converter, op.float_tensor(0), transposed, op.result_shape())
    bias = op.optional_tensor(2)
    if bias is not None:
        result = converter.pointwise("add", [result, bias], op.result_element())
    return [result]


def _addmm(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`beta * bias + alpha * (a @ b)`."""
    bias, beta, alpha = op.float_tensor(0), op.constant(3), op.constant(4)
    product = matmul(converter, op.float_tensor(1), op.float_tensor(2), op.result_shape())
    addend = scaled(converter, bias, beta)
    return [
        converter.pointwise("add", [scaled(converter, product, alpha), addend], op.result_element())
    ]


CONTRACTIONS: dict[str, Conversion] = {
    "torch.aten.convolution": _convolution,
    "torch.aten.conv1d": _convolution,
    "torch.aten.conv2d": _convolution,
    "torch.aten.conv3d": _convolution,
    "torch.aten.mm": _matmul,
    "torch.aten.bmm": _matmul,
    "torch.aten.matmul": _matmul,
    "torch.aten.linear": _linear,
    "torch.aten.addmm": _addmm,
    "torch.aten.baddbmm": _addmm,
}
"""Conversions by torch op name."""
