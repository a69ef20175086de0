"""Converts attributes between IR and Python values, by kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from hipgraft.ir.bindings import ir

T = TypeVar("T")
EnumT = TypeVar("EnumT", bound=StrEnum)

Layout = list[int] | None
"""Strides of a tensor in elements; None for row-major."""


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A kind of attribute.

    Attributes:
        description: description for documentation and error messages, e.g. `array<i64>`.
        matches: whether an attribute is of this kind.
        read: returns the Python value of a matching attribute.
        write: returns the attribute for a Python value; raises ValueError for an invalid one.
        values: spellings of an enumeration; empty for other kinds.
    """

    description: str
    matches: Callable[[ir.Attribute], bool]
    read: Callable[[Any], T]
    write: Callable[[Any], ir.Attribute]
    values: tuple[str, ...] = ()


def enum_kind(enum: type[EnumT]) -> Kind[EnumT]:
    """Returns the kind of a string attribute that spells a member of `enum`."""
    values = tuple(member.value for member in enum)

    def matches(attribute: ir.Attribute) -> bool:
        return isinstance(attribute, ir.StringAttr) and attribute.value in values

    return Kind(
        description=enum.__name__,
        matches=matches,
        read=lambda attribute: enum(attribute.value),
        write=lambda value: ir.StringAttr.get(enum(value).value),
        values=values,
    )


def _is_i64(attribute: ir.Attribute) -> bool:
    return isinstance(attribute, ir.IntegerAttr) and attribute.type == ir.IntegerType.get_signless(
        64, attribute.context
    )


def _is_text(attribute: ir.Attribute) -> bool:
    if not isinstance(attribute, ir.StringAttr):
        return False
    try:
        attribute.value_bytes.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_layouts(attribute: ir.Attribute) -> bool:
    return isinstance(attribute, ir.ArrayAttr) and all(
        isinstance(layout, ir.DenseI64ArrayAttr | ir.UnitAttr) for layout in attribute
    )


def _is_array_of(kind: type[ir.Attribute]) -> Callable[[ir.Attribute], bool]:
    return lambda attribute: (
        isinstance(attribute, ir.ArrayAttr)
        and all(isinstance(element, kind) for element in attribute)
    )


def _read_layouts(attribute: ir.ArrayAttr) -> list[Layout]:
    return [
        list(layout) if isinstance(layout, ir.DenseI64ArrayAttr) else None for layout in attribute
    ]


def _write_layouts(layouts: Sequence[Sequence[int] | None]) -> ir.Attribute:
    return ir.ArrayAttr.get(
        [
            ir.UnitAttr.get() if layout is None else ir.DenseI64ArrayAttr.get(list(layout))
            for layout in layouts
        ]
    )


BOOL: Kind[bool] = Kind(
    "bool",
    lambda attribute: isinstance(attribute, ir.BoolAttr),
    lambda attribute: attribute.value,
    ir.BoolAttr.get,
)
INT: Kind[int] = Kind(
    "i64",
    _is_i64,
    lambda attribute: attribute.value,
    lambda value: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value),
)
# hipDNN's schema stores floats in single precision; a literal without a type in MLIR text is f64.
FLOAT: Kind[float] = Kind(
    "float",
    lambda attribute: isinstance(attribute, ir.FloatAttr),
    lambda attribute: attribute.value,
    lambda value: ir.FloatAttr.get(ir.F32Type.get(), float(value)),
)
STRING: Kind[str] = Kind(
    "string",
    _is_text,
    lambda attribute: attribute.value,
    ir.StringAttr.get,
)
BYTES: Kind[bytes] = Kind(
    "bytes",
    lambda attribute: isinstance(attribute, ir.StringAttr),
    lambda attribute: attribute.value_bytes,
    ir.StringAttr.get,
)
SYMBOL: Kind[str] = Kind(
    "symbol",
    lambda attribute: isinstance(attribute, ir.FlatSymbolRefAttr),
    lambda attribute: attribute.value,
    ir.FlatSymbolRefAttr.get,
)
TYPE: Kind[ir.Type] = Kind(
    "type",
    lambda attribute: isinstance(attribute, ir.TypeAttr),
    lambda attribute: attribute.value,
    ir.TypeAttr.get,
)
INTS: Kind[list[int]] = Kind(
    "array<i64>",
    lambda attribute: isinstance(attribute, ir.DenseI64ArrayAttr),
    list,
    lambda values: ir.DenseI64ArrayAttr.get(list(values)),
)
BLOBS: Kind[list[bytes]] = Kind(
    "array of strings",
    _is_array_of(ir.StringAttr),
    lambda attribute: [element.value_bytes for element in attribute],
    lambda blobs: ir.ArrayAttr.get([ir.StringAttr.get(blob) for blob in blobs]),
)
TYPES: Kind[list[ir.Type]] = Kind(
    "array of types",
    _is_array_of(ir.TypeAttr),
    lambda attribute: [element.value for element in attribute],
    lambda types: ir.ArrayAttr.get([ir.TypeAttr.get(type_) for type_ in types]),
)
DICTIONARIES: Kind[list[ir.DictAttr]] = Kind(
    "array of dictionaries",
    _is_array_of(ir.DictAttr),
    list,
    lambda dictionaries: ir.ArrayAttr.get(list(dictionaries)),
)
LAYOUTS: Kind[list[Layout]] = Kind(
    "array of array<i64> or unit", _is_layouts, _read_layouts, _write_layouts
)
