"""Conversions of floats of 4 and 8 bits to integers."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.element_types import bit_width, is_float

SMALL_FLOAT_TO_INTEGER = Workaround(
    name="small-float-to-integer",
    fault="`arith.fptosi` of an f8E8M0FNU returns 0 for every number.",
    effect=Effect.WRONG,
    targets="cpu",
    remedy="The float is extended to f32 first.",
)


@SMALL_FLOAT_TO_INTEGER.avoids
def is_converted_by_bits(source: str, element: str) -> bool:
    """Returns whether a conversion must go through f32."""
    return is_float(source) and bit_width(source) < 16 and not is_float(element)
