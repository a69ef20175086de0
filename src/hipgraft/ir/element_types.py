"""Sizes of element types in memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hipgraft.ir.bindings import ir

if TYPE_CHECKING:
    from collections.abc import Sequence


def byte_width(element_type: ir.Type) -> int | None:
    """Returns the bytes that one element takes in memory.

    i1 takes a byte, as IREE stores it. None for types without a fixed size (index) and types
    that pack several elements into a byte (i4).
    """
    if isinstance(element_type, ir.IntegerType):
        width = element_type.width
        return 1 if width == 1 else _whole_bytes(width)
    if isinstance(element_type, ir.FloatType):
        return _whole_bytes(element_type.width)
    if isinstance(element_type, ir.ComplexType):
        part = byte_width(element_type.element_type)
        return None if part is None else 2 * part
    return None


def byte_size(shape: Sequence[int], element_type: ir.Type) -> int | None:
    """Returns the bytes of a packed tensor, or None if its elements have no byte size."""
    width = byte_width(element_type)
    return None if width is None else width * math.prod(shape)


def _whole_bytes(bits: int) -> int | None:
    return bits // 8 if bits % 8 == 0 else None
