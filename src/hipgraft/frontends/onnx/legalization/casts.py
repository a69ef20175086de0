"""Rewrites conversions from and to narrow types."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from hipgraft.frontends.onnx.legalization.narrow import (
    SMALL_FLOATS,
    TYPES,
    Narrow,
)
from hipgraft.frontends.onnx.legalization.unsigned import as_float
from hipgraft.frontends.onnx.legalization.writer import FLOATS, Refused, Writer
from hipgraft.ir.diagnostics import Declined

_UINT64, _INT64 = TensorProto.UINT64, TensorProto.INT64


def cast_node(writer: Writer) -> None:
    """Writes a `Cast`, `CastLike` or `BitCast` from or to a narrow type."""
    x = writer.node.input[0]
    before, after = writer.element(x), writer.element(writer.node.output[0])
    if writer.node.op_type == "BitCast":
        writer.result(_bit_cast(writer, x, before, after))
        return
    value, element = _decoded(writer, x, before, after)
    target = TYPES.get(after)
    if target is None:
        writer.result(value if element == after else writer.cast(value, after))
    elif after in SMALL_FLOATS:
        wide = value if element == TensorProto.FLOAT else writer.cast(value, TensorProto.FLOAT)
        saturates = bool(writer.attribute("saturate", 1))
        writer.result(SMALL_FLOATS[after].encode(writer, wide, saturates))
    else:
        writer.result(_encoded(writer, value, element, target))


def _decoded(writer: Writer, x: str, before: int, after: int) -> tuple[str, int]:
    """Returns the values of an operand, and their type."""
    source = TYPES.get(before)
    if before == _UINT64 and after in (*FLOATS, *SMALL_FLOATS):
        return as_float(writer, x, TensorProto.DOUBLE), TensorProto.DOUBLE
    if source is None:
        return x, before
    return source.decode(writer, x), source.carrier


def _encoded(writer: Writer, value: str, element: int, target: Narrow) -> str:
    """Converts values to integers of another type; floats are truncated to whole numbers."""
    if element not in FLOATS:
        wide = value if element == target.carrier else writer.cast(value, target.carrier)
        return target.encode(writer, wide)
    if target.name == "ui64":
        return _float_as_unsigned(writer, value, element)
    if target.bits < 8:  # ONNX rounds to these types; overflow wraps around
        value = writer.op("Round", writer.cast(value, TensorProto.FLOAT))
    whole = writer.cast(value, target.carrier)
    return target.encode(writer, whole)


def _float_as_unsigned(writer: Writer, value: str, element: int) -> str:
    wide = value if element == TensorProto.DOUBLE else writer.cast(value, TensorProto.DOUBLE)
    limit = writer.const(np.float64(2.0**63))
    is_large = writer.op("GreaterOrEqual", wide, limit)
    rest = writer.op("Where", is_large, writer.op("Sub", wide, limit), wide)
    whole = writer.cast(rest, _INT64)
    return writer.op("Where", is_large, writer.op("Add", whole, writer.like_int(-(1 << 63))), whole)


def _bit_cast(writer: Writer, x: str, before: int, after: int) -> str:
    """Reinterprets bits; integers of equal width keep them."""
    storages = [TYPES[kind].storage if kind in TYPES else kind for kind in (before, after)]
    if storages[0] == storages[1]:
        return x
    if before == TensorProto.BOOL and storages[1] == TensorProto.INT8:
        return writer.cast(x, storages[1])
    if TensorProto.BOOL in storages:
        raise Refused(f"from {_name(before)} to {_name(after)} is not supported")
    return writer.op("BitCast", x, to=storages[1])


def _name(element: int) -> str:
    return helper.tensor_dtype_to_string(element).removeprefix("TensorProto.").lower()


def shrink(writer: Writer) -> None:
    """Computes in f64 for integers, as ONNX's reference does."""
    x = writer.node.input[0]
    element = writer.element(x)
    if element in FLOATS:
        raise Declined("supported", "it is lowered rightly")
    wide = writer.cast(x, TensorProto.DOUBLE)
    bias = writer.const(np.float64(writer.attribute("bias", 0.0)))
    limit = np.float64(writer.attribute("lambd", 0.5))
    is_below = writer.op("Less", wide, writer.const(-limit))
    is_above = writer.op("Less", writer.const(limit), wide)
    less = writer.op("Where", is_above, writer.op("Sub", wide, bias), writer.const(np.float64(0)))
    shrunk = writer.op("Where", is_below, writer.op("Add", wide, bias), less)
    writer.result(writer.cast(shrunk, element))
