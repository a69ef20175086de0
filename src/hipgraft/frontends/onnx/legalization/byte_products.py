"""Writes products of bytes minus their zero points as products of signed bytes.

Matrix instructions multiply signed bytes. Over K products, `Σ (a - p) · (b - q)` is
`Σ a · b - p · (Σ b - K · q) - q · Σ a`. Subtracting 128 makes an unsigned byte signed, and
likewise its zero point. All sums are exact modulo 2³², like ONNX's own 32-bit sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.writer import Writer

_INT8, _UINT8, _INT32 = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32


@dataclass(frozen=True)
class Factor:
    """A factor of signed or unsigned bytes.

    Attributes:
        bytes: `[…, rows, columns]`.
        zero: their zero point, which broadcasts to `bytes`; empty if it is 0.
    """

    bytes: str
    zero: str


def product_of_bytes(writer: Writer, a: Factor, b: Factor) -> str:
    """Writes the product of matrices minus their zero points, in 32 bits.

    Args:
        writer: writer of the node.
        a: left matrices of known shape, with one zero point, or one for each row.
        b: right matrices, with one zero point, or one for each column.
    """
    depth = writer.shape(a.bytes)[-1]
    a_zero, b_zero = (_signed_zero(writer, factor) for factor in (a, b))
    left = _signed(writer, a.bytes)
    right = _right(writer, b.bytes)
    product = writer.op("MatMulInteger", left, right)
    if a_zero:
        columns = _column_sums(writer, b.bytes, right)
        if b_zero:
            many = writer.op("Mul", b_zero, writer.like(depth, _INT32))
            columns = writer.op("Sub", columns, many)
        product = writer.op("Sub", product, writer.op("Mul", a_zero, columns))
    if b_zero:
        rows = writer.reduce("ReduceSum", writer.cast(left, _INT32), [-1])
        product = writer.op("Sub", product, writer.op("Mul", rows, b_zero))
    return product


def is_product_of_bytes(writer: Writer, a: str, b: str) -> bool:
    """Whether the operands are matrices of bytes, not vectors."""
    elements = {writer.element(name) for name in (a, b)}
    ranks = [len(writer.graph.shapes.get(name, ())) for name in (a, b)]
    return elements <= {_INT8, _UINT8} and min(ranks) >= 2


def _signed_zero(writer: Writer, factor: Factor) -> str:
    """Writes the zero point of signed bytes, in 32 bits; returns '' if it is known to be 0."""
    middle = _middle(writer, factor.bytes)
    known = writer.graph.constants.get(factor.zero) if factor.zero else np.zeros([])
    if known is not None and (known == middle).all():
        return ""
    return _less(writer, factor.zero, middle) if factor.zero else writer.like(-middle, _INT32)


def _right(writer: Writer, x: str) -> str:
    """Converts right matrices to signed bytes."""
    data = writer.data(x)
    if data is None:
        return _signed(writer, x)
    # This layout keeps elements along K contiguous, as lanes of matrix instructions read them.
    order = [*range(data.ndim - 2), data.ndim - 1, data.ndim - 2]
    signed = (data ^ _middle(writer, x)).view(np.int8)
    return writer.transpose(writer.const(signed.transpose(order)), order)


def _column_sums(writer: Writer, x: str, signed: str) -> str:
    """Writes the sums over K of right matrices; those of weights are constants."""
    data = writer.mapped_data(x)
    if data is None:
        return writer.reduce("ReduceSum", writer.cast(signed, _INT32), [-2])
    sums = data.sum(axis=-2, dtype=np.int32, keepdims=True)
    return writer.const(sums - np.int32(data.shape[-2] * _middle(writer, x)))


def _signed(writer: Writer, x: str) -> str:
    middle = _middle(writer, x)
    return writer.cast(_less(writer, x, middle), _INT8) if middle else x


def _middle(writer: Writer, x: str) -> int:
    """Returns the number whose subtraction makes the bytes signed."""
    return 0 if writer.element(x) == _INT8 else 128


def _less(writer: Writer, x: str, middle: int) -> str:
    wide = writer.cast(x, _INT32)
    return writer.op("Sub", wide, writer.like(middle, _INT32)) if middle else wide
