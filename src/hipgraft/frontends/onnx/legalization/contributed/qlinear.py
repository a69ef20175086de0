"""Rewrites contributed operators on quantised tensors: dequantise, compute, quantise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.quantization import whole_number
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_F32 = TensorProto.FLOAT


def real(writer: Writer, first: int) -> str:
    """Dequantises input `first`, whose scale and zero point follow it."""
    x, scale = writer.node.input[first : first + 2]
    zero = writer.node.input[first + 2] if writer.has_input(first + 2) else ""
    return dequantized(writer, x, scale, zero)


def dequantized(writer: Writer, x: str, scale: str, zero: str) -> str:
    """Writes `(x - zero) · scale`, with one scale or one for each index of dimension 1."""
    operands = [x, _scalar(writer, scale), *([_scalar(writer, zero)] if zero else [])]
    return writer.op("DequantizeLinear", *operands)


def _scalar(writer: Writer, name: str) -> str:
    """Converts a tensor of one element to a scalar, which has no axis."""
    shape = writer.shape(name)
    known = writer.graph.constants.get(name)
    if known is not None and not np.isfinite(known.astype(np.float64)).all():
        # Calibrating a mask of -inf yields such a scale; onnxruntime's tables give other results.
        raise Refused("by a scale that is not finite is not supported")
    return writer.reshape(name, []) if shape == [1] else name


def _input(writer: Writer, index: int) -> str:
    """Input `index`, a scale or a zero point; empty if it is omitted."""
    return _scalar(writer, writer.node.input[index]) if writer.has_input(index) else ""


def quantize(writer: Writer, y: str, scale: int, like: str) -> None:
    """Makes the result from `y`, by the scale in input `scale` and the zero point after it."""
    zero = _input(writer, scale + 1) or writer.zero(like)
    writer.result(writer.op("QuantizeLinear", y, _input(writer, scale), zero))


def _quantize_at_once(writer: Writer, y: str, scale: int, like: str) -> None:
    """Makes the result like `quantize`, but rounds the sum with the zero point.

    `QuantizeLinear` rounds before it adds the zero point. The results differ for an odd zero point
    if `y / scale` is half-way between integers, because the sum then rounds to the other neighbour.
    """
    element = writer.element(like)
    zero = _input(writer, scale + 1) or writer.zero(like)
    ratio = writer.op("Div", y, _input(writer, scale))
    total = writer.op("Add", ratio, writer.cast(zero, _F32))
    writer.result(whole_number(writer, total, element, ""))


def _unary(writer: Writer, compute: Callable[[Writer, str], str]) -> None:
    """Rewrites the operator on `(x, scale, zero, y scale, y zero)`."""
    quantize(writer, compute(writer, real(writer, 0)), 3, writer.node.input[0])


def _binary(writer: Writer, op_type: str) -> None:
    """Rewrites the operator on `(a, scale, zero, b, scale, zero, c scale, c zero)`."""
    y = writer.op(op_type, real(writer, 0), real(writer, 3))
    _quantize_at_once(writer, y, 6, writer.node.input[0])


def _sigmoid(writer: Writer, x: str) -> str:
    return writer.op("Sigmoid", x)


def _leaky_relu(writer: Writer, x: str) -> str:
    return writer.op("LeakyRelu", x, alpha=writer.attribute("alpha", 0.01))


def _softmax(writer: Writer, x: str) -> str:
    shape = writer.shape(writer.node.input[0])
    axis = int(writer.attribute("axis", -1))
    if int(writer.attribute("opset")) >= 13:
        return writer.op("Softmax", x, axis=axis)
    # Before, all dimensions from the axis on were one row.
    rows = int(np.prod(shape[: axis % len(shape)]))
    flat = writer.op("Softmax", writer.reshape(x, [rows, -1]), axis=-1)
    return writer.reshape(flat, shape)


def _mean(writer: Writer, x: str) -> str:
    axes, keepdims = writer.attribute("axes"), bool(writer.attribute("keepdims", 1))
    return writer.reduce("ReduceMean", x, list(axes), keepdims=keepdims)


def _planes_first(writer: Writer, x: str, compute: Callable[[str], str]) -> str:
    """Computes in layout `N, C, …` on a tensor whose layout may be `N, …, C`."""
    if not writer.attribute("channels_last", 0):
        return compute(x)
    last = len(writer.shape(writer.node.input[0])) - 1
    y = compute(writer.transpose(x, [0, last, *range(1, last)]))
    return writer.transpose(y, [0, *range(2, last + 1), 1])


def _global_average_pool(writer: Writer) -> None:
    """Sums integers and scales once, as onnxruntime does: ties are rounded in the same way."""
    x = writer.node.input[0]
    shape = writer.shape(x)
    first = 1 if writer.attribute("channels_last", 0) else 2
    axes = range(first, first + len(shape) - 2)
    one, zero = writer.like(1.0, _F32), _input(writer, 2) or writer.zero(x)
    total = writer.reduce("ReduceSum", dequantized(writer, x, one, zero), list(axes))
    size = writer.like(float(np.prod([shape[axis] for axis in axes])), _F32)
    scale = writer.op("Div", _input(writer, 1), writer.op("Mul", _input(writer, 3), size))
    y = writer.op("Mul", total, scale)
    zero = _input(writer, 4) or writer.zero(x)
    writer.result(writer.op("QuantizeLinear", y, one, zero))


def _average_pool(writer: Writer) -> None:
    kept = {name: value for name, value in writer.attributes().items() if name != "channels_last"}
    y = _planes_first(writer, real(writer, 0), partial(writer.op, "AveragePool", **kept))
    _quantize_at_once(writer, y, 3, writer.node.input[0])


def _concat(writer: Writer) -> None:
    """Rewrites the operator on `(y scale, y zero, (x, scale, zero)…)`."""
    parts = [real(writer, first) for first in range(2, len(writer.node.input), 3)]
    y = writer.op("Concat", *parts, axis=writer.attribute("axis"))
    quantize(writer, y, 0, writer.node.input[2])


def _where(writer: Writer) -> None:
    """Rewrites the operator on `(condition, x, scale, zero, y, scale, zero, z scale, z zero)`."""
    y = writer.op("Where", writer.node.input[0], real(writer, 1), real(writer, 4))
    quantize(writer, y, 7, writer.node.input[1])


def _conv(writer: Writer) -> None:
    kept = {name: value for name, value in writer.attributes().items() if name != "channels_last"}
    rest = writer.node.input[1:]

    def compute(x: str) -> str:
        return writer.op("QLinearConv", x, *rest, **kept)

    writer.result(_planes_first(writer, writer.node.input[0], compute))


def _max_pool(writer: Writer) -> None:
    last = len(writer.shape(writer.node.input[0])) - 1
    planes = writer.transpose(writer.node.input[0], [0, last, *range(1, last)])
    pooled = writer.op("MaxPool", planes, **writer.attributes())
    writer.result(writer.transpose(pooled, [0, *range(2, last + 1), 1]))


def _gemm(writer: Writer) -> None:
    """`(a, scale, zero, b, scale, zero, c[, y scale, y zero])`; c is in units of the product."""
    product = _whole_product(writer, _matrix(writer, 0, "A"), _matrix(writer, 3, "B"), 2, 5)
    if writer.has_input(6):
        product = writer.op("Add", product, writer.node.input[6])
    alpha = writer.like(writer.attribute("alpha", 1.0), _F32)
    scale = writer.op("Mul", _scale(writer, 1, 4), alpha)
    y = writer.op("Mul", writer.cast(product, _F32), scale)
    if writer.has_input(7):
        quantize(writer, y, 7, writer.node.input[0])
    else:
        writer.result(y)


def _matrix(writer: Writer, index: int, side: str) -> str:
    """Input `index`, transposed if its attribute says so."""
    x = writer.node.input[index]
    if not writer.attribute(f"trans{side}", 0):
        return x
    data = writer.data(x)  # so that it remains a constant
    return writer.transpose(x, [1, 0]) if data is None else writer.const(data.T)


def _whole_product(writer: Writer, a: str, b: str, a_zero: int, b_zero: int) -> str:
    """Writes the product of `a` and `b` minus their zero points, the inputs of these indices."""
    return writer.op("MatMulInteger", a, b, _input(writer, a_zero), _input(writer, b_zero))


def _scale(writer: Writer, a: int, b: int) -> str:
    """Writes the product of the scales in the inputs of these indices."""
    return writer.op("Mul", _input(writer, a), _input(writer, b))


def _scaled(writer: Writer, product: str, scale: str, bias: int) -> None:
    """Makes the result from a product of integers, a scale, and the bias in input `bias`."""
    y = writer.op("Mul", writer.cast(product, _F32), scale)
    if writer.has_input(bias):
        y = writer.op("Add", y, writer.node.input[bias])
    writer.result(y)


def _matmul_integer_to_float(writer: Writer) -> None:
    """Rewrites the operator on `(a, b, a scale, b scale, a zero, b zero, bias)`."""
    if writer.element(writer.node.input[2]) != _F32:
        raise Refused("with scales of other types than float is not supported")
    a, b = writer.node.input[:2]
    _scaled(writer, _whole_product(writer, a, b, 4, 5), _scale(writer, 2, 3), 6)


def dynamic_product(writer: Writer, x: str, b: str, scale: str, zero: str) -> str:
    """Multiplies `x`, quantised by its own range, by `b`; `zero` may be empty."""
    a, a_scale, a_zero = writer.ops("DynamicQuantizeLinear", x, outputs=3)
    product = writer.op("MatMulInteger", a, b, a_zero, zero)
    return writer.op("Mul", writer.cast(product, _F32), writer.op("Mul", a_scale, scale))


def _dynamic_quantize_matmul(writer: Writer) -> None:
    """Rewrites the operator on `(a, b, b scale, b zero, bias)`; a is quantised by its own range."""
    x, b = writer.node.input[:2]
    y = dynamic_product(writer, x, b, _input(writer, 2), _input(writer, 3))
    if writer.has_input(4):
        y = writer.op("Add", y, writer.node.input[4])
    writer.result(y)


def _quantize_linear(writer: Writer) -> None:
    """Rewrites to ONNX's operator; the axis only matters if there are several scales."""
    operands = [_scalar(writer, name) if name else "" for name in writer.node.input[1:]]
    axis = int(writer.attribute("axis", 1))
    writer.result(writer.op(writer.node.op_type, writer.node.input[0], *operands, axis=axis))


QLINEAR: dict[str, Rewrite] = {
    "DynamicQuantizeMatMul": _dynamic_quantize_matmul,
    "MatMulIntegerToFloat": _matmul_integer_to_float,
    "NhwcMaxPool": _max_pool,
    "QGemm": _gemm,
    "QLinearAdd": partial(_binary, op_type="Add"),
    "QLinearAveragePool": _average_pool,
    "QLinearConcat": _concat,
    "QLinearConv": _conv,
    "QLinearGlobalAveragePool": _global_average_pool,
    "QLinearLeakyRelu": partial(_unary, compute=_leaky_relu),
    "QLinearMul": partial(_binary, op_type="Mul"),
    "QLinearReduceMean": partial(_unary, compute=_mean),
    "QLinearSigmoid": partial(_unary, compute=_sigmoid),
    "QLinearSoftmax": partial(_unary, compute=_softmax),
    "QLinearWhere": _where,
    **dict.fromkeys(("DequantizeLinear", "QuantizeLinear"), _quantize_linear),
}
"""The rewrites, by operator."""
