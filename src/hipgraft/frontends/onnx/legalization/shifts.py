"""Rewrites shifts by any amount, which drop the bits shifted out, and remainders."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.narrow import TYPES, Narrow
from hipgraft.frontends.onnx.legalization.unsigned import halved
from hipgraft.frontends.onnx.legalization.writer import Rewrite, Writer
from hipgraft.ir.diagnostics import Declined

_INT64 = TensorProto.INT64


def shift_node(writer: Writer, kind: Narrow) -> None:
    """Shifts unsigned numbers."""
    x, amounts = (kind.decode(writer, name) for name in writer.node.input)
    counts = _counts(writer, writer.cast(amounts, _INT64), kind.bits)
    if writer.attribute("direction") == "LEFT":
        result = writer.op("Mul", x, _powers(writer, counts, kind.bits, kind.carrier))
    elif kind.name == "ui64":
        result = _shifted_right_64(writer, x, counts)
    else:
        wide = writer.cast(x, _INT64)
        shifted = writer.op("Div", wide, writer.op("Gather", writer.const(_halves(32)), counts))
        result = writer.cast(shifted, kind.carrier)
    writer.result(kind.encode(writer, result))


def _counts(writer: Writer, amounts: str, bits: int) -> str:
    """Returns the bits to shift by: all of them if an amount is negative or too large."""
    low = writer.op("Less", amounts, writer.like_int(0))
    high = writer.op("Greater", amounts, writer.like_int(bits))
    return writer.op("Where", writer.op("Or", low, high), writer.like_int(bits), amounts)


def _powers(writer: Writer, counts: str, bits: int, element: int) -> str:
    """Returns the factors: powers of two, and 0 for a shift by all bits."""
    values = [1 << count for count in range(bits)] + [0]
    signed = [value - (1 << 64) if value >> 63 else value for value in values]
    table = np.array(signed, np.int64).astype(helper.tensor_dtype_to_np_dtype(element))
    return writer.op("Gather", writer.const(table), counts)


def _halves(bits: int) -> Array:
    return np.array([1 << count for count in range(bits + 1)], np.int64)


def _shifted_right_64(writer: Writer, x: str, counts: str) -> str:
    """Shifts right by one bit first, so that the rest is not negative."""
    powers = np.array([1, *(1 << count for count in range(63)), 1], np.int64)
    divisor = writer.op("Gather", writer.const(powers), counts)
    shifted = writer.op("Div", halved(writer, x), divisor)
    zero = writer.like_int(0)
    kept = writer.op("Where", writer.op("Equal", counts, zero), x, shifted)
    return writer.op("Where", writer.op("Equal", counts, writer.like_int(64)), zero, kept)


def _signed_shift(writer: Writer) -> None:
    """Shifts signed numbers: right shifts round down."""
    x, amounts = writer.node.input
    element = writer.element(x)
    if element in TYPES:
        raise Declined("no-form", "it is rewritten where its type is stored")
    bits = 8 * helper.tensor_dtype_to_np_dtype(element).itemsize
    counts = _counts(writer, writer.cast(amounts, _INT64), bits)
    wide = writer.cast(x, _INT64)
    if writer.attribute("direction") == "LEFT":
        product = writer.op("Mul", wide, _powers(writer, counts, bits, _INT64))
        result = _wrapped(writer, product, bits)
    else:
        powers = [1 << min(count, 62) for count in range(bits + 1)]
        divisor = writer.op("Gather", writer.const(np.array(powers, np.int64)), counts)
        rest = writer.op("Mod", wide, divisor)
        result = writer.op("Div", writer.op("Sub", wide, rest), divisor)
        if bits == 64:
            is_negative = writer.op("Less", wide, writer.like_int(0))
            sign = writer.op("Where", is_negative, writer.like_int(-1), writer.like_int(0))
            far = writer.op("Greater", counts, writer.like_int(62))
            result = writer.op("Where", far, sign, result)
    writer.result(result if element == _INT64 else writer.cast(result, element))


def _wrapped(writer: Writer, x: str, bits: int) -> str:
    """Writes the low bits as signed numbers."""
    if bits == 64:
        return x
    half, whole = writer.like_int(1 << (bits - 1)), writer.like_int(1 << bits)
    return writer.op("Sub", writer.op("Mod", writer.op("Add", x, half), whole), half)


def _remainder(writer: Writer) -> None:
    """Writes integer remainders with the dividend's sign; torch-mlir uses the divisor's sign."""
    x, y = writer.node.input
    dtype = helper.tensor_dtype_to_np_dtype(writer.element(x))
    if not writer.attribute("fmod", 0) or dtype.kind != "i":
        raise Declined("supported", "it is lowered rightly")
    product = writer.op("Mul", writer.op("Div", x, y), y)
    writer.result(writer.op("Sub", x, product))


SHIFTS: dict[str, Rewrite] = {"BitShift": _signed_shift, "Mod": _remainder}
"""The rewrites, by operator."""
