"""Stores element types that compilers lack as the bits of signed integers of the same width.

The bits in memory do not change. An operator that computes with such values converts them to a
wider type, the carrier, and back. So nothing depends on torch-mlir's and IREE's unsigned
integers, integers of four and two bits, and floats of eight bits and fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.writer import Array, Refused, Writer

_INT8, _INT16, _INT32 = TensorProto.INT8, TensorProto.INT16, TensorProto.INT32
_INT64, _FLOAT = TensorProto.INT64, TensorProto.FLOAT


@dataclass(frozen=True)
class Narrow:
    """The representation of a narrow type.

    Attributes:
        name: name of the element type in `hipgraft.elements`, for the program's boundary.
        bits: of an element.
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


@dataclass(frozen=True)
class SmallFloat:
    """A float of at most eight bits.

    Attributes:
        name: as MLIR spells it.
        dtype: NumPy's.
        mantissa: its bits.
        least: exponent of the least normal number.
        largest: code of the largest finite number.
        overflow: code of numbers that are too large and are not saturated.
        nan: code of NaN.
        has_negative_zero: whether a zero has a sign.
    """

    name: str
    dtype: np.dtype
    mantissa: int
    least: int
    largest: int
    overflow: int
    nan: int
    has_negative_zero: bool = True

    @property
    def sign(self) -> int:
        """The code of a negative zero."""
        return 8 if self.largest < 8 else 128

    def narrow(self) -> Narrow:
        """Returns the representation of the type."""
        return Narrow(
            self.name,
            8 if self.sign == 128 else 4,
            _INT8,
            _FLOAT,
            self._decode,
            partial_encode(self, True),
        )

    def values(self) -> Array:
        """Returns the value of each code."""
        codes = np.arange(256, dtype=np.uint8)
        return codes.view(self.dtype).astype(np.float32)

    def _decode(self, writer: Writer, x: str) -> str:
        codes = low_bits(writer, writer.cast(x, _INT32), 8, _INT32)
        return writer.op("Gather", writer.const(self.values()), codes)

    def encode(self, writer: Writer, x: str, *, saturate: bool) -> str:
        """Rounds f32 to the nearest code, ties to even."""

        def scalar(value: float) -> str:
            return writer.const(np.float32(value))

        largest = float(self.values()[self.largest])
        size = writer.op("Min", writer.op("Abs", x), scalar(4 * largest))
        quantum, steps = self._quantum(writer, size, largest)
        parts = writer.op("Round", writer.op("Div", size, quantum))
        code = writer.op("Add", writer.op("Mul", steps, scalar(1 << self.mantissa)), parts)
        overflow = self.largest if saturate else self.overflow
        fits = writer.op("LessOrEqual", code, scalar(self.largest))
        code = writer.op("Where", fits, code, scalar(overflow))
        inverse = writer.op("Reciprocal", x)
        is_negative = writer.op("Less", inverse, scalar(0))
        # The inverse shows the sign of -0, but not that of the least numbers and of infinities.
        is_negative = writer.op("Or", is_negative, writer.op("Less", x, scalar(0)))
        if not self.has_negative_zero:
            is_number = writer.op("And", writer.op("Greater", code, scalar(0)), fits)
            is_number = is_number if not saturate else writer.op("Greater", code, scalar(0))
            is_negative = writer.op("And", is_negative, is_number)
        signed = writer.op("Add", code, scalar(self.sign))
        code = writer.op("Where", is_negative, signed, code)
        code = writer.op("Where", writer.op("IsNaN", x), scalar(self.nan), code)
        return TYPES[TensorProto.UINT8].encode(writer, writer.cast(code, _INT32))

    def _quantum(self, writer: Writer, size: str, largest: float) -> tuple[str, str]:
        """Writes the spacing of numbers around `size`, and its binade above the least one.

        It halves `size`, which is exact, because ONNX has no operator for exponents.
        """

        def scalar(value: float) -> str:
            return writer.const(np.float32(value))

        binades = int(np.log2(4 * largest)) - self.least
        quantum, steps, rest = scalar(2.0 ** (self.least - self.mantissa)), scalar(0), size
        step = 1 << binades.bit_length()
        while step := step >> 1:
            is_large = writer.op("GreaterOrEqual", rest, scalar(2.0 ** (self.least + step)))
            factor = writer.op("Where", is_large, scalar(2.0**step), scalar(1))
            rest = writer.op("Div", rest, factor)
            quantum = writer.op("Mul", quantum, factor)
            more = writer.op("Where", is_large, scalar(step), scalar(0))
            steps = writer.op("Add", steps, more)
        return quantum, steps


def partial_encode(kind: SmallFloat, saturate: bool) -> Callable[[Writer, str], str]:
    """Returns `encode` of a float with or without saturation."""

    def encode(writer: Writer, x: str) -> str:
        return kind.encode(writer, x, saturate=saturate)

    return encode


SMALL_FLOATS: dict[int, SmallFloat] = {
    TensorProto.FLOAT8E4M3FN: SmallFloat(
        "f8E4M3FN", np.dtype(ml_dtypes.float8_e4m3fn), 3, -6, 0x7E, 0x7F, 0x7F
    ),
    TensorProto.FLOAT8E4M3FNUZ: SmallFloat(
        "f8E4M3FNUZ", np.dtype(ml_dtypes.float8_e4m3fnuz), 3, -7, 0x7F, 0x80, 0x80, False
    ),
    TensorProto.FLOAT8E5M2: SmallFloat(
        "f8E5M2", np.dtype(ml_dtypes.float8_e5m2), 2, -14, 0x7B, 0x7C, 0x7F
    ),
    TensorProto.FLOAT8E5M2FNUZ: SmallFloat(
        "f8E5M2FNUZ", np.dtype(ml_dtypes.float8_e5m2fnuz), 2, -15, 0x7F, 0x80, 0x80, False
    ),
    TensorProto.FLOAT4E2M1: SmallFloat(
        "f4E2M1FN", np.dtype(ml_dtypes.float4_e2m1fn), 1, 0, 7, 7, 8
    ),
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
    # Its carrier stores bits, not values; operations that differ between them have own forms.
    TensorProto.UINT64: Narrow("ui64", 64, _INT64, _INT64, _same, _same),
    TensorProto.UINT4: _unsigned("ui4", 4, _INT8, _INT32),
    TensorProto.INT4: _signed("i4", 4),
    TensorProto.UINT2: _unsigned("ui2", 2, _INT8, _INT32),
    TensorProto.INT2: _signed("i2", 2),
    TensorProto.FLOAT8E8M0: Narrow("f8E8M0FNU", 8, _INT8, _FLOAT, _decode_scale, _encode_scale),
    **{number: kind.narrow() for number, kind in SMALL_FLOATS.items()},
}
"""Narrow types by their numbers in `TensorProto.DataType`."""
