"""Rewrites contributed products and convolutions with transpositions and activations."""

from __future__ import annotations

from typing import Any

from hipgraft.frontends.onnx.legalization.contributed.pointwise import activated
from hipgraft.frontends.onnx.legalization.writer import Rewrite, Writer


def _transposed(writer: Writer, side: str, index: int) -> str:
    """Transposes the matrix and the batch dimensions of an operand by the attributes."""
    x = writer.node.input[index]
    batch = bool(writer.attribute(f"transBatch{side}", 0))
    matrix = bool(writer.attribute(f"trans{side}", 0))
    if not batch and not matrix:
        return x
    rank = len(writer.shape(x))
    if rank < 2:
        return x
    order = list(range(rank))
    if batch:  # the first dimension is one of the matrix
        order = [*order[1:-1], order[0], order[-1]]
    if matrix:
        order[-2:] = order[:-3:-1]
    return writer.transpose(x, order)


def _fused_matmul(writer: Writer) -> None:
    """Writes `activation(alpha · A · B)`."""
    y = writer.op("MatMul", _transposed(writer, "A", 0), _transposed(writer, "B", 1))
    alpha = writer.attribute("alpha", 1.0)
    if alpha != 1.0:
        y = writer.op("Mul", y, writer.like(alpha, writer.element(writer.node.input[0])))
    writer.result(_activated(writer, y))


def _activated(writer: Writer, y: str) -> str:
    """Applies an activation whose parameters are attributes."""
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    given = [value for name in names if (value := writer.attribute(name)) is not None]
    element = writer.element(writer.node.input[0])
    return activated(writer, y, writer.attribute("activation", ""), element, *given)


def _unfused(writer: Writer) -> dict[str, Any]:
    """Returns the attributes that ONNX's operator has, too."""
    return {name: value for name, value in writer.attributes().items() if "activation" not in name}


def _fused_gemm(writer: Writer) -> None:
    y = writer.op("Gemm", *writer.node.input, **_unfused(writer))
    writer.result(_activated(writer, y))


def _fused_conv(writer: Writer) -> None:
    """Writes `activation(conv(X, W) + B + Z)`."""
    operands = [name for name in writer.node.input[:3] if name]
    y = writer.op("Conv", *operands, **_unfused(writer))
    if writer.has_input(3):
        y = writer.op("Add", y, writer.node.input[3])
    given = writer.attribute("activation_params", ())
    element = writer.element(operands[0])
    writer.result(activated(writer, y, writer.attribute("activation", ""), element, *given))


def _nhwc_conv(writer: Writer) -> None:
    """Convolves images in layout `N, …, C` with filters in layout `M, …, C / groups`."""
    x, filters = writer.node.input[:2]
    last = len(writer.shape(x)) - 1
    order = [0, last, *range(1, last)]
    planes = [writer.transpose(one, order) for one in (x, filters)]
    y = writer.op("Conv", *planes, *writer.node.input[2:3], **writer.attributes())
    writer.result(writer.transpose(y, [0, *range(2, last + 1), 1]))


PRODUCTS: dict[str, Rewrite] = {
    "FusedConv": _fused_conv,
    "FusedGemm": _fused_gemm,
    "NhwcConv": _nhwc_conv,
    **dict.fromkeys(("FusedMatMul", "FusedMatMulActivation", "TransposeMatMul"), _fused_matmul),
}
"""The rewrites, by operator."""
