"""Rewrites products of integers with factors, which torch-mlir truncates to integers."""

from __future__ import annotations

from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.narrow import TYPES
from hipgraft.frontends.onnx.legalization.writer import Rewrite, Writer, is_integer
from hipgraft.ir.diagnostics import Declined


def _gemm(writer: Writer) -> None:
    """`alpha * a @ b + beta * c` of integers, truncated once, at the end."""
    a, b = writer.node.input[:2]
    element = writer.element(a)
    alpha, beta = (float(writer.attribute(name, 1.0)) for name in ("alpha", "beta"))
    if not is_integer(writer, a) or alpha == beta == 1:
        raise Declined("supported", "it is lowered rightly")
    if element in TYPES:
        raise Declined("no-form", "it is rewritten where its type is stored")
    is_whole = alpha.is_integer() and beta.is_integer()
    kind = element if is_whole else TensorProto.DOUBLE
    if writer.attribute("transA", 0):
        a = writer.transpose(a, [1, 0])
    if writer.attribute("transB", 0):
        b = writer.transpose(b, [1, 0])

    def scaled(x: str, factor: float) -> str:
        x = x if is_whole else writer.cast(x, kind)
        return x if factor == 1 else writer.op("Mul", x, writer.like(factor, kind))

    y = scaled(writer.op("MatMul", a, b), alpha)
    if writer.has_input(2):
        y = writer.op("Add", y, scaled(writer.node.input[2], beta))
    writer.result(y if is_whole else writer.cast(y, element))


PRODUCTS: dict[str, Rewrite] = {"Gemm": _gemm}
"""Rewrites by operator."""
