"""Computes powers of integers as products, because powers of floats are rounded, then truncated."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.narrow import TYPES
from hipgraft.frontends.onnx.legalization.writer import Rewrite, Writer, is_integer
from hipgraft.ir.diagnostics import Declined

_BITS = 6  # bits of exponents below 64; larger exponents only suit 0, 1 and -1, or overflow

_ROUNDINGS = 1e-12  # relative error of a power of f64


def _power(writer: Writer) -> None:
    """`(x, exponent)`: integers to the power of integers or of floats."""
    x, exponent = writer.node.input
    if not is_integer(writer, x):
        raise Declined("supported", "it is lowered rightly")
    if any(writer.element(name) in TYPES for name in writer.node.input):
        raise Declined("no-form", "it is rewritten where its type is stored")
    values = writer.graph.constants.get(exponent)
    if values is not None and np.isfinite(values).all() and (values == np.floor(values)).all():
        writer.result(_constant_power(writer, x, np.clip(values, -127, 127).astype(np.int64)))
    elif is_integer(writer, exponent):
        writer.result(_integer_power(writer, x, exponent))
    else:
        writer.result(_float_power(writer, x, exponent))


def _constant_power(writer: Writer, x: str, exponents: Array) -> str:
    if exponents.size != 1 or int(exponents.reshape(-1)[0]) < 0:
        return _integer_power(writer, x, writer.const(exponents))
    rest = int(exponents.reshape(-1)[0])
    result = writer.op("Expand", writer.like(1, writer.element(x)), _shape(writer, x, exponents))
    square = x
    while rest:
        if rest & 1:
            result = writer.op("Mul", result, square)
        rest >>= 1
        if rest:
            square = writer.op("Mul", square, square)
    return result


def _shape(writer: Writer, x: str, exponents: Array) -> str:
    """The shape of a result whose exponent has one element, which may add dimensions."""
    return writer.const(np.array(np.broadcast_shapes(writer.shape(x), exponents.shape), np.int64))


def _integer_power(writer: Writer, x: str, exponent: str) -> str:
    """Multiplies the powers that the bits of each exponent choose."""
    kind, element = writer.element(exponent), writer.element(x)

    def count(value: int) -> str:
        return writer.like(value, kind)

    one, zero = writer.like(1, element), writer.like(0, element)
    is_negative = writer.op("Less", exponent, count(0))
    is_far = writer.op("Or", is_negative, writer.op("Greater", exponent, count((1 << _BITS) - 1)))
    same_parity = writer.op("Add", writer.op("Mod", exponent, count(2)), count((1 << _BITS) - 2))
    rest = writer.op("Where", is_far, same_parity, exponent)
    # The inverse of an integer is 1 or -1, or is truncated to zero.
    is_unit = writer.op("Equal", writer.op("Abs", x), one)
    inverse = writer.op("Where", is_unit, x, zero)
    square, result = writer.op("Where", is_negative, inverse, x), one
    for bit in range(_BITS):
        is_odd = writer.op("Equal", writer.op("Mod", rest, count(2)), count(1))
        result = writer.op("Where", is_odd, writer.op("Mul", result, square), result)
        if bit + 1 < _BITS:
            rest = writer.op("Div", rest, count(2))
            square = writer.op("Mul", square, square)
    return result


def _float_power(writer: Writer, x: str, exponent: str) -> str:
    """Truncates powers whose exponents are not integers."""
    wide = writer.cast(exponent, TensorProto.DOUBLE)
    is_whole = writer.op("Equal", writer.op("Floor", wide), wide)
    most, least = (writer.const(np.float64(bound)) for bound in (127, -127))
    near = writer.cast(writer.op("Max", writer.op("Min", wide, most), least), TensorProto.INT64)
    writer.graph.elements[near] = TensorProto.INT64
    power = writer.op("Pow", writer.cast(x, TensorProto.DOUBLE), wide)
    # Rounding errors may have made an integer slightly smaller.
    nearest = writer.op("Round", power)
    error = writer.op("Abs", writer.op("Sub", power, nearest))
    bound = writer.op("Mul", writer.op("Abs", nearest), writer.const(np.float64(_ROUNDINGS)))
    power = writer.op("Where", writer.op("LessOrEqual", error, bound), nearest, power)
    cut = writer.cast(power, writer.element(x))
    return writer.op("Where", is_whole, _integer_power(writer, x, near), cut)


POWERS: dict[str, Rewrite] = {"Pow": _power}
"""Rewrites by operator."""
