"""Defines the type `!migraphx.shaped`: a logical shape with strides in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import bit_width, is_float, is_integer
from hipgraft.ir.strided_view import row_major_strides

PREFIX = "!migraphx.shaped"

_BODY = re.compile(r"<\s*((?:(?:\d+|\?)\s*x\s*)*)([A-Za-z]\w*)\s*([^>]*)>")
_STRIDES = re.compile(r",\s*((?:\d+|\?)(?:\s*x\s*(?:\d+|\?))*)\s*")

Extent = int | None
"""An extent or stride; None if it is dynamic (`?`)."""


class ShapedTypeError(ValueError):
    """The text is not a valid `!migraphx.shaped` type; the message says why."""


@dataclass(frozen=True)
class ShapedType:
    """A tensor type with strides.

    Attributes:
        shape: logical extents.
        strides: elements between neighbours, per dimension; 0 is a broadcast.
        element: MLIR text of the element type, with its signedness.
    """

    shape: tuple[Extent, ...]
    strides: tuple[Extent, ...]
    element: str

    @classmethod
    def parse(cls, text: str) -> ShapedType:
        """Reads `<2x3xf32, 3x1>`, with or without the type's name before it.

        Raises:
            ShapedTypeError: the text is malformed or breaks a rule of the type.
        """
        match = _BODY.fullmatch(text.removeprefix(PREFIX).strip())
        if match is None or not (is_float(match[2]) or is_integer(match[2])):
            raise ShapedTypeError("expected shaped dimension list with type")
        dims, element, rest = match.groups()
        strides = _STRIDES.fullmatch(rest)
        if dims and strides is None:
            raise ShapedTypeError(
                "expected `,` and a `x`-separated list in non-scalar migraphx.shaped type"
            )
        if not dims and rest:
            raise ShapedTypeError("expected `>`")
        made = cls(_extents(dims), _extents(strides[1] if strides else ""), element)
        if len(made.shape) != len(made.strides):
            raise ShapedTypeError(
                f"migraphx.shaped type has {len(made.shape)} elements in its shape but "
                f"{len(made.strides)} strides defined"
            )
        return made

    @classmethod
    def of(cls, kind: ir.Type) -> ShapedType | None:
        """Returns a type of the IR as a shaped type; None if it is neither shaped nor a tensor.

        A builtin tensor, as older modules have, is a shaped type with row-major strides.
        """
        if isinstance(kind, ir.RankedTensorType):
            shape = tuple(
                None if kind.is_dynamic_dim(dim) else kind.shape[dim] for dim in range(kind.rank)
            )
            return cls(shape, row_major(shape), str(kind.element_type))
        text = str(kind)
        return cls.parse(text) if text.startswith(PREFIX) else None

    @property
    def body(self) -> str:
        """The text of the type in the native syntax of operations."""
        dims = "".join(f"{_text(extent)}x" for extent in self.shape)
        strides = "x".join(map(_text, self.strides))
        return f"<{dims}{self.element}, {strides}>" if self.shape else f"<{self.element}>"

    def __str__(self) -> str:
        return PREFIX + self.body

    @property
    def is_static(self) -> bool:
        """Whether all extents are known."""
        return None not in self.shape

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of a static shape.

        Raises:
            ShapedTypeError: one is dynamic.
        """
        return _static(self.shape, f"{self} has a dynamic shape")

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, all of them known.

        Raises:
            ShapedTypeError: one is dynamic.
        """
        return _static(self.strides, f"{self} has dynamic strides")

    @property
    def is_float(self) -> bool:
        """Whether elements are floating-point numbers."""
        return is_float(self.element)

    @property
    def is_unsigned(self) -> bool:
        """Whether elements are unsigned integers."""
        return self.element.startswith("ui")

    @property
    def bits(self) -> int:
        """The width of an element in bits; 0 if its type is neither an integer nor a float."""
        known = self.is_float or is_integer(self.element)
        return bit_width(self.element) if known else 0

    @property
    def signless(self) -> str:
        """The element type of builtin tensors that hold such elements."""
        return self.element if self.is_float else f"i{self.bits}"


def row_major(shape: Sequence[Extent]) -> tuple[Extent, ...]:
    """Returns packed row-major strides; they are unknown for dimensions outside unknown extents."""
    last = max((dim for dim, extent in enumerate(shape) if extent is None), default=0)
    return (None,) * last + row_major_strides([extent or 1 for extent in shape])[last:]


def _extents(text: str) -> tuple[Extent, ...]:
    words = [word.strip() for word in text.split("x") if word.strip()]
    return tuple(None if word == "?" else int(word) for word in words)


def _text(extent: Extent) -> str:
    return "?" if extent is None else str(extent)


def _static(extents: Sequence[Extent], message: str) -> tuple[int, ...]:
    known = tuple(extent for extent in extents if extent is not None)
    if len(known) != len(extents):
        raise ShapedTypeError(message)
    return known
