"""Stores element types that compilers lack as the bits of signed integers of the same width.

The bits in memory do not change. An operator that computes with such values converts them to a
wider type, the carrier, and back. So nothing depends on torch-mlir's and IREE's unsigned
integers, integers of four and two bits, and floats of eight bits and fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle

import ml_dtypes
import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.writer import Refused, Writer

_INT8, _INT16, _INT32 = TensorProto.INT8, TensorProto.INT16, TensorProto.INT32
_INT64, _FLOAT = TensorProto.INT64, TensorProto.FLOAT


@dataclass(frozen=True)
class Narrow:
    """The representation of a narrow type.

    Attributes:
        name: name of the element type in `hipgraft.elements`, for the program's boundary.
        bits: width of an element.
        storage: type that holds the bits of an element.
        carrier: type that holds the values of elements.
        decode: writes the conversion from storage to carrier.
        encode: writes the conversion from carrier to storage; integers wrap around.
    """

    name: str
    bits: int
    storage: int
    carrier: int
    decode: Callable[[Writer, str], str]
    encode: Callable[[Writer, str], str]


def _unsigned(name: str, bits: int, storage: int, carrier: int) -> Narrow:
    def decode(writer: Writer, x: str) -> str:
        return low_bits(writer, writer.cast(x, carrier), bits, carrier)

    def encode(writer: Writer, x: str) -> str:
        if bits < 8:
            return writer.cast(low_bits(writer, x, bits, carrier), storage)
        return writer.cast(wrapped(writer, x, bits, carrier), storage)

    return Narrow(name, bits, storage, carrier, decode, encode)


def _signed(name: str, bits: int) -> Narrow:
    """Returns signed integers of fewer than eight bits, stored in the low bits of a byte."""

    def decode(writer: Writer, x: str) -> str:
        return wrapped(writer, writer.cast(x, _INT32), bits, _INT32)

    def encode(writer: Writer, x: str) -> str:
        return writer.cast(low_bits(writer, x, bits, _INT32), _INT8)

    return Narrow(name, bits, _INT8, _INT32, decode, encode)


def low_bits(writer: Writer, x: str, bits: int, element: int) -> str:
    """Writes the low bits of integers, interpreted as unsigned numbers."""
    return writer.op("Mod", x, writer.like(1 << bits, element))


def wrapped(writer: Writer, x: str, bits: int, element: int) -> str:
    """Writes the low bits of integers, interpreted as signed numbers."""
    half = writer.like(1 << (bits - 1), element)
    return writer.op("Sub", low_bits(writer, writer.op("Add", x, half), bits, element), half)


def _same(writer: Writer, x: str) -> str:
    return x


DECODE, ENCODE = "DecodeFloat", "EncodeFloat"
"""Our own operators between bytes and the f32 values of the floats of eight bits that they encode.

Their attribute `element` is the float's name in MLIR. Numbers out of range become NaN or infinite.
"""


@dataclass(frozen=True)
class _Float8:
    """A float of eight bits: its name in MLIR and the largest finite number."""

    name: str
    largest: float
    bits = 8

    def decode(self, writer: Writer, x: str) -> str:
        return writer.op(DECODE, x, element=self.name)

    def encode(self, writer: Writer, x: str, saturate: bool = True) -> str:
        if saturate:  # finite numbers only: `Clip` may replace NaN
            for op, bound in (("Greater", self.largest), ("Less", -self.largest)):
                limit = writer.const(np.float32(bound))
                x = writer.op("Where", writer.op(op, x, limit), limit, x)
        return writer.op(ENCODE, x, element=self.name)


class _Float4:
    """`f4E2M1FN`, which has no infinities and no NaN; conversions saturate."""

    name, bits = "f4E2M1FN", 4
    _DTYPE = np.dtype(ml_dtypes.float4_e2m1fn)

    def decode(self, writer: Writer, x: str) -> str:
        codes = low_bits(writer, writer.cast(x, _INT32), 8, _INT32)
        values = np.arange(256, dtype=np.uint8).view(self._DTYPE).astype(np.float32)
        return writer.op("Gather", writer.const(values), codes)

    def encode(self, writer: Writer, x: str, saturate: bool = True) -> str:
        """Counts the midpoints between codes below the value; ties are rounded to even codes."""
        size, code = writer.op("Abs", x), writer.like(0, _FLOAT)
        for op, middle in zip(cycle(("Greater", "GreaterOrEqual")), self._middles(), strict=False):
            is_larger = writer.op(op, size, writer.const(middle))
            code = writer.op("Add", code, writer.cast(is_larger, _FLOAT))
        # The inverse has the sign of -0, but not that of the smallest numbers and of infinities.
        zero = writer.like(0, _FLOAT)
        is_negative = writer.op("Less", writer.op("Reciprocal", x), zero)
        is_negative = writer.op("Or", is_negative, writer.op("Less", x, zero))
        sign = writer.op("Where", is_negative, writer.like(8, _FLOAT), zero)
        code = writer.op("Add", code, sign)
        code = writer.op("Where", writer.op("IsNaN", x), writer.like(8, _FLOAT), code)
        return writer.cast(code, _INT8)

    def _middles(self) -> Array:
        values = np.arange(8, dtype=np.uint8).view(self._DTYPE).astype(np.float32)
        return (values[1:] + values[:-1]) / 2


SMALL_FLOATS: dict[int, _Float8 | _Float4] = {
    TensorProto.FLOAT8E4M3FN: _Float8("f8E4M3FN", 448),
    TensorProto.FLOAT8E4M3FNUZ: _Float8("f8E4M3FNUZ", 240),
    TensorProto.FLOAT8E5M2: _Float8("f8E5M2", 57344),
    TensorProto.FLOAT8E5M2FNUZ: _Float8("f8E5M2FNUZ", 57344),
    TensorProto.FLOAT4E2M1: _Float4(),
}
"""Small floats by type."""


def _decode_scale(writer: Writer, x: str) -> str:
    values = np.exp2(np.arange(256.0) - 127).astype(np.float32)
    values[255] = np.nan
    codes = low_bits(writer, writer.cast(x, _INT32), 8, _INT32)
    return writer.op("Gather", writer.const(values), codes)


def _encode_scale(writer: Writer, x: str) -> str:
    raise Refused("makes elements of type float8e8m0, which is not supported")


TYPES: dict[int, Narrow] = {
    TensorProto.UINT8: _unsigned("ui8", 8, _INT8, _INT32),
    TensorProto.UINT16: _unsigned("ui16", 16, _INT16, _INT32),
    TensorProto.UINT32: _unsigned("ui32", 32, _INT32, _INT64),
    # Its carrier stores bits, not values; operations for which this matters have their own forms.
    TensorProto.UINT64: Narrow("ui64", 64, _INT64, _INT64, _same, _same),
    TensorProto.UINT4: _unsigned("ui4", 4, _INT8, _INT32),
    TensorProto.INT4: _signed("i4", 4),
    TensorProto.UINT2: _unsigned("ui2", 2, _INT8, _INT32),
    TensorProto.INT2: _signed("i2", 2),
    TensorProto.FLOAT8E8M0: Narrow("f8E8M0FNU", 8, _INT8, _FLOAT, _decode_scale, _encode_scale),
    **{
        number: Narrow(kind.name, kind.bits, _INT8, _FLOAT, kind.decode, kind.encode)
        for number, kind in SMALL_FLOATS.items()
    },
}
"""Narrow types by their numbers in `TensorProto.DataType`."""
