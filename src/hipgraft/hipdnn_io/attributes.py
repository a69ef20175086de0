"""Attributes of ops as JSON values, and back."""

from __future__ import annotations

from typing import Any, cast

from hipgraft.dialects.hipdnn.fields import Attribute
from hipgraft.dialects.hipdnn.kinds import BOOL, BYTES, FLOAT, INT, INTS, STRING, TYPE, Kind
from hipgraft.hipdnn_io.data_types import data_type_name, mlir_type
from hipgraft.hipdnn_io.document import UNSET, Json
from hipgraft.hipdnn_io.schema import SCHEMA
from hipgraft.ir.bindings import ir

_UNSET = ("unset", "not_set")
_PYTHON: dict[str, tuple[type, ...]] = {
    BOOL.description: (bool,),
    INT.description: (int,),
    FLOAT.description: (int, float),
    STRING.description: (str,),
}


def read_attribute(field: Attribute[Any], value: Json) -> Any:
    """Returns what the op's builder takes for a JSON value.

    Enumerators may be spelled in any case, or be the numbers of hipDNN's schema.

    Returns:
        None where hipDNN says that the attribute is not set.

    Raises:
        ValueError: the value is none of the attribute's; the message says what is expected.
    """
    kind = field.kind
    if kind.values:
        return _read_enumerator(kind, value)
    if kind is TYPE:
        return _read_type(value)
    if kind is INTS:
        return _read_integers(value)
    if kind is BYTES:
        return value.encode() if isinstance(value, str) else bytes(_read_integers(value))
    expected = _PYTHON[kind.description]
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected):
        raise ValueError(kind.description)
    return value


def write_attribute(field: Attribute[Any], value: Any) -> Json:
    """Returns the JSON value of what an op's field reads as."""
    if field.kind is TYPE:
        return UNSET if value is None else data_type_name(value)
    if isinstance(value, bytes):
        return list(value)
    return str(value) if field.kind.values and value is not None else value


def _read_enumerator(kind: Kind[Any], value: Json) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        value = SCHEMA.enumerator(kind.description, value)
    text = str(value).casefold()
    if text in _UNSET:
        return None
    found = next((one for one in kind.values if one.casefold() == text), None)
    if found is None or not isinstance(value, str):
        raise ValueError(f"one of {', '.join(kind.values)}")
    return found


def _read_type(value: Json) -> ir.Type | None:
    name = str(value).casefold()
    type_ = mlir_type(name)
    if type_ is None and name not in _UNSET:
        raise ValueError("a data type")
    return type_


def _read_integers(value: Json) -> list[int]:
    integers = isinstance(value, list) and all(
        isinstance(one, int) and not isinstance(one, bool) for one in cast(list[Json], value)
    )
    if not integers:
        raise ValueError("an array of integers")
    return cast(list[int], value)
