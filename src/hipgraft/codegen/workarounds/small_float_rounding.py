"""Conversions to floats of 4 and 8 bits."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround

SMALL_FLOAT_ROUNDING = Workaround(
    name="small-float-rounding",
    fault="`arith.truncf` to a float of 4 or 8 bits returns 0 for numbers that round up to the "
    "smallest normal number: 0.8 as f4E2M1FN should be 1.",
    effect=Effect.WRONG,
    targets="all",
    remedy="Values are rounded to a multiple of the result's spacing first, which makes the "
    "conversion exact.",
)

_FORMATS = ("f4E2M1FN", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ")


@SMALL_FLOAT_ROUNDING.avoids
def is_rounded_wrongly(element: str) -> bool:
    """Returns whether values must be rounded before a conversion to `element`."""
    return element in _FORMATS
