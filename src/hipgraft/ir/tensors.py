"""Reads shapes and element types of tensor values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hipgraft.ir.bindings import ir

Shape = tuple[int, ...]
"""The extents of a tensor's dimensions."""


def tensor_type(value: ir.Value) -> ir.RankedTensorType:
    """Returns the type of a value that is known to be a ranked tensor."""
    known: Any = value.type  # `cast` would add a call to a hot function
    return known


def shape_of(value: ir.Value) -> Shape:
    """Returns the extents of a tensor value."""
    known: Any = value.type
    return tuple(known.shape)


def element_type_of(value: ir.Value) -> ir.Type:
    """Returns the element type of a tensor value."""
    known: Any = value.type
    return known.element_type


def element_of(value: ir.Value) -> str:
    """Returns the text of a tensor value's element type, e.g. `bf16`."""
    return str(element_type_of(value))
