"""Rewrites contributed activations, and operators that ONNX now has."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer


def erf_gelu(writer: Writer, x: str, element: int) -> str:
    """`x/2 · (1 + erf(x/√2))`."""
    scaled = writer.op("Mul", x, writer.like(math.sqrt(0.5), element))
    twice = writer.op("Add", writer.op("Erf", scaled), writer.like(1.0, element))
    return writer.op("Mul", writer.op("Mul", x, writer.like(0.5, element)), twice)


def tanh_gelu(writer: Writer, x: str, element: int) -> str:
    """`x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))`."""
    cube = writer.op("Mul", writer.op("Mul", x, x), x)
    sum_ = writer.op("Add", x, writer.op("Mul", cube, writer.like(0.044715, element)))
    inner = writer.op("Mul", sum_, writer.like(math.sqrt(2 / math.pi), element))
    twice = writer.op("Add", writer.op("Tanh", inner), writer.like(1.0, element))
    return writer.op("Mul", writer.op("Mul", x, writer.like(0.5, element)), twice)


def activated(writer: Writer, x: str, kind: str, element: int, *given: float) -> str:
    """Applies an activation that a fused operator names.

    Args:
        writer: writer of the node.
        x: operand.
        kind: ONNX's operator; empty for none.
        element: type of `x`.
        given: attributes of the activation in the order of ONNX's documentation.

    Raises:
        Refused: no such activation is known.
    """
    if not kind:
        return x
    if kind in ("Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"):
        return writer.op(kind, x)
    if kind == "Gelu":
        return erf_gelu(writer, x, element)
    if kind == "Clip":
        return writer.op("Clip", x, *(writer.like(bound, element) for bound in given))
    names = {"LeakyRelu": ("alpha",), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta")}
    if kind not in names:
        raise Refused(f"with activation '{kind}' is not supported")
    parameters: dict[str, Any] = dict(zip(names[kind], given, strict=False))
    return writer.op(kind, x, **parameters)


def _gelu(writer: Writer) -> None:
    x = writer.node.input[0]
    writer.result(erf_gelu(writer, x, writer.element(x)))


def _bias_gelu(writer: Writer) -> None:
    x, bias = writer.node.input
    writer.result(erf_gelu(writer, writer.op("Add", x, bias), writer.element(x)))


def _fast_gelu(writer: Writer) -> None:
    x = writer.node.input[0]
    biased = writer.op("Add", x, writer.node.input[1]) if writer.has_input(1) else x
    writer.result(tanh_gelu(writer, biased, writer.element(x)))


def _quick_gelu(writer: Writer) -> None:
    x = writer.node.input[0]
    alpha = writer.like(writer.attribute("alpha", 1.702), writer.element(x))
    writer.result(writer.op("Mul", x, writer.op("Sigmoid", writer.op("Mul", x, alpha))))


def _bias_add(writer: Writer) -> None:
    x, bias, skip = writer.node.input
    writer.result(writer.op("Add", writer.op("Add", x, bias), skip))


def _bias_split_gelu(writer: Writer) -> None:
    """Multiplies the left half of the last dimension by the activated right half."""
    x, bias = writer.node.input
    shape, element = writer.shape(x), writer.element(x)
    sum_ = writer.op("Add", x, bias)
    axis, half = len(shape) - 1, shape[-1] // 2
    left = writer.slice(sum_, axis, 0, half)
    right = writer.slice(sum_, axis, half, shape[-1])
    writer.result(writer.op("Mul", left, erf_gelu(writer, right, element)))


def _cdist(writer: Writer) -> None:
    """Writes the distances between the rows of two matrices."""
    a, b = writer.node.input
    (rows, _), (columns, _) = writer.shape(a), writer.shape(b)
    extent = writer.shape(a)[1]
    left = writer.reshape(a, [rows, 1, extent])
    right = writer.reshape(b, [1, columns, extent])
    difference = writer.op("Sub", left, right)
    squares = writer.reduce(
        "ReduceSum", writer.op("Mul", difference, difference), [2], keepdims=False
    )
    is_square = writer.attribute("metric", "sqeuclidean") == "sqeuclidean"
    writer.result(squares if is_square else writer.op("Sqrt", squares))


def _complex_product(writer: Writer, *, conjugate: bool) -> None:
    """Multiplies pairs of real and imaginary parts along the last dimension."""
    parts: list[tuple[str, str]] = []
    for name in writer.node.input:
        axis = len(writer.shape(name)) - 1
        parts.append((writer.slice(name, axis, 0, 1), writer.slice(name, axis, 1, 2)))
    (a, b), (c, d) = parts
    first, second = ("Add", "Sub") if conjugate else ("Sub", "Add")
    real = writer.op(first, writer.op("Mul", a, c), writer.op("Mul", b, d))
    imaginary = writer.op(second, writer.op("Mul", b, c), writer.op("Mul", a, d))
    writer.result(writer.op("Concat", real, imaginary, axis=-1))


def _expand_dims(writer: Writer) -> None:
    x, axis = writer.node.input
    writer.result(writer.op("Unsqueeze", x, writer.const([int(writer.constant(axis).item())])))


def _same(writer: Writer) -> None:
    """Rewrites an operator to ONNX's own with the same attributes."""
    outputs = writer.ops(
        writer.node.op_type,
        *writer.node.input,
        outputs=len(writer.node.output),
        **writer.attributes(),
    )
    for index, name in enumerate(outputs):
        writer.result(name, index)


POINTWISE: dict[str, Rewrite] = {
    "BiasAdd": _bias_add,
    "BiasGelu": _bias_gelu,
    "BiasSplitGelu": _bias_split_gelu,
    "CDist": _cdist,
    "ComplexMul": partial(_complex_product, conjugate=False),
    "ComplexMulConj": partial(_complex_product, conjugate=True),
    "ExpandDims": _expand_dims,
    "FastGelu": _fast_gelu,
    "Gelu": _gelu,
    "QuickGelu": _quick_gelu,
    **dict.fromkeys(("GatherND", "Pad", "Trilu"), _same),
}
"""The rewrites, by operator."""
