"""Classifies element types and computes their sizes."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from hipgraft.ir.bindings import ir

if TYPE_CHECKING:
    from collections.abc import Sequence


_INTEGER = re.compile(r"(?:si|ui|i)[1-9]\d*")
_FLOAT = re.compile(r"bf16|tf32|f(?:16|32|64|80|128)|f[468]E\d+M\d+[A-Z0-9]*")
_WIDTH = re.compile(r"\d+")


def is_float(element: str) -> bool:
    """Whether an element type, given as text, is a floating-point type."""
    return _FLOAT.fullmatch(element) is not None


def is_integer(element: str) -> bool:
    """Whether an element type, given as text, is an integer type; index is not one."""
    return _INTEGER.fullmatch(element) is not None


def bit_width(element: str) -> int:
    """Returns the width in bits of an integer or floating-point type, given as text.

    An index has 64 bits.

    Raises:
        ValueError: the text is not such a type.
    """
    if element == "index":
        return 64
    width = _WIDTH.search(element) if is_float(element) or is_integer(element) else None
    if width is None:
        raise ValueError(f"'{element}' is no integer or floating-point type")
    return int(width[0])


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
