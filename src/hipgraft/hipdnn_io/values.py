"""Converts hipDNN's types, attributes, scalars and records to MLIR attributes, and back.

A record holds the properties in a file that the IR cannot express. An op, a constant or a graph has
it as the attribute `hipdnn.record`: a dictionary with JSON values. Its `tensors` is a list with one
dictionary per result, or per operand of a graph. Records do not affect results; without one,
the exporter invents names and uids.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from hipgraft.dialects.framework.fields import Attribute
from hipgraft.dialects.framework.kinds import BOOL, BYTES, FLOAT, INT, INTS, STRING, TYPE, Kind
from hipgraft.hipdnn_io.document import UNSET, Json, TensorDocument
from hipgraft.hipdnn_io.schema import SCHEMA
from hipgraft.ir.bindings import ir
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.tensors import element_type_of

_MLIR = {
    "float": "f32",
    "half": "f16",
    "bfloat16": "bf16",
    "double": "f64",
    "uint8": "ui8",
    "int32": "i32",
    "int8": "i8",
    "fp8_e4m3": "f8E4M3FN",
    "fp8_e5m2": "f8E5M2",
    "fp8_e8m0": "f8E8M0FNU",
    "fp4_e2m1": "f4E2M1FN",
    "fp6_e2m3": "f6E2M3FN",
    "fp6_e3m2": "f6E3M2FN",
    "int4": "i4",
    "int64": "i64",
    "fp8_e4m3_fnuz": "f8E4M3FNUZ",
    "fp8_e5m2_fnuz": "f8E5M2FNUZ",
    "boolean": "i1",
}
_NAMES = {mlir: name for name, mlir in _MLIR.items()}

# The type of a compile-time scalar's value, by its tensor's type.
VALUE_TYPES = {
    "float": "Float32Value",
    "half": "Float16Value",
    "bfloat16": "BFloat16Value",
    "double": "Float64Value",
    "int32": "Int32Value",
    "int64": "Int64Value",
    "boolean": "BoolValue",
    "fp8_e4m3": "Float8Value",
    "fp8_e5m2": "Float8Value",
    "fp8_e8m0": "Float8Value",
    "fp8_e4m3_fnuz": "Float8Value",
    "fp8_e5m2_fnuz": "Float8Value",
}


_UNSET = ("unset", "not_set")

# Common names for hipDNN's types.
_OTHER_NAMES = {
    **dict.fromkeys(("float16", "fp16", "f16"), "half"),
    **dict.fromkeys(("float32", "fp32", "f32"), "float"),
    **dict.fromkeys(("float64", "fp64", "f64"), "double"),
    **dict.fromkeys(("bf16", "bfp16"), "bfloat16"),
    **dict.fromkeys(("bool", "i1"), "boolean"),
    **{f"i{bits}": f"int{bits}" for bits in (4, 8, 32, 64)},
}

_PYTHON: dict[str, tuple[type, ...]] = {
    BOOL.description: (bool,),
    INT.description: (int,),
    FLOAT.description: (int, float),
    STRING.description: (str,),
}

_RECORD = "hipdnn.record"


def is_data_type(name: str) -> bool:
    """Returns whether hipDNN has a type of this name."""
    return name in _MLIR


def mlir_type(name: str) -> ir.Type | None:
    """Returns the type that hipDNN calls `name`, None if it has no such type."""
    text = _MLIR.get(name)
    return None if text is None else ir.Type.parse(text)


def is_unset(name: str) -> bool:
    """Returns whether a name stands for an unset type."""
    return name.casefold() in _UNSET


def unknown_type(name: str) -> str:
    """Returns the error message for a type name that hipDNN does not have.

    hipDNN's own reader silently treats unknown names as `unset`. The graph's defaults would then
    apply, which the author of the file is unlikely to intend.
    """
    folded = name.casefold()
    meant = folded if folded in _MLIR else _OTHER_NAMES.get(folded)
    hint = "" if meant is None else f"; its name of the type is '{meant}'"
    return f"unknown data type '{name}', which hipDNN reads as unset{hint}"


def data_type_name(type_: ir.Type) -> str | None:
    """Returns hipDNN's name of a type, None if hipDNN does not have it."""
    return _NAMES.get(str(type_))


def read_attribute(field: Attribute[Any], value: Json) -> Any:
    """Converts a JSON value to the argument of the op's builder.

    Enumerators may be spelled in any case, or be the numbers of hipDNN's schema.

    Returns:
        The argument; None if hipDNN treats the attribute as not set.

    Raises:
        ValueError: the attribute does not allow the value; the message lists what is expected.
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
    """Converts the value of an op's field to JSON."""
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


def constant(tensor: TensorDocument, type_: ir.RankedTensorType, loc: ir.Location) -> ir.Operation:
    """Creates the constant of a tensor with a value, at the current insertion point."""
    element = type_.element_type
    value = tensor.value
    if _is_stored_as_bits(element):
        value = float(np.uint8(value or 0).view(numpy_dtype(element)))
    if isinstance(element, ir.IntegerType):
        scalar = ir.IntegerAttr.get(element, int(value or 0))
    else:
        scalar = ir.FloatAttr.get(element, float(value or 0))
    dense = ir.DenseElementsAttr.get_splat(type_, scalar)
    return ir.Operation.create("arith.constant", [type_], attributes={"value": dense}, loc=loc)


def value_of(op: ir.Operation) -> tuple[str, float | int | bool] | None:
    """Returns the type and the value of a constant.

    Returns:
        None for a constant of several values, or of a type without scalars in hipDNN.
    """
    dense = op.attributes["value"]
    element = element_type_of(op.results[0])
    value_type = VALUE_TYPES.get(data_type_name(element) or "")
    if value_type is None or not isinstance(dense, ir.DenseElementsAttr) or not dense.is_splat:
        return None
    scalar = dense.get_splat_value()
    value = scalar.value if isinstance(scalar, ir.IntegerAttr) else _float(scalar)
    return value_type, value


def _float(scalar: ir.Attribute) -> float | int:
    attribute = ir.FloatAttr(scalar)
    value = np.asarray(attribute.value, numpy_dtype(attribute.type))
    if _is_stored_as_bits(attribute.type):
        return int(value.view(np.uint8))
    # This is the shortest text that reads back as the same number of its type.
    return float(str(value))


def _is_stored_as_bits(element: ir.Type) -> bool:
    """Whether files store values of a type as the integers that encode them."""
    return is_float(str(element)) and bit_width(str(element)) == 8


def set_record(op: ir.Operation, record: dict[str, Json]) -> None:
    """Sets the record of an op."""
    op.attributes[_RECORD] = _record_attribute(record)


def record_of(op: ir.Operation) -> dict[str, Json]:
    """Returns the record of an op; empty if it has none."""
    return _record_json(op.attributes[_RECORD]) if _RECORD in op.attributes else {}


def tensor_records(op: ir.Operation, count: int) -> list[dict[str, Json]]:
    """Returns the records of `count` tensors of an op; empty ones if they were not kept."""
    records: list[dict[str, Json]] = record_of(op).get("tensors", [])
    # If a pass changed the number of results, their records can no longer be assigned.
    return records if len(records) == count else [{} for _ in range(count)]


def _record_attribute(value: Json) -> ir.Attribute:
    if value is None:
        return ir.UnitAttr.get()
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, list):
        return ir.ArrayAttr.get([_record_attribute(one) for one in cast(list[Json], value)])
    members = cast(dict[str, Json], value)
    return ir.DictAttr.get({key: _record_attribute(one) for key, one in members.items()})


def _record_json(attribute: ir.Attribute) -> Json:
    if isinstance(attribute, ir.UnitAttr):
        return None
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr | ir.FloatAttr | ir.StringAttr):
        return attribute.value
    if isinstance(attribute, ir.ArrayAttr):
        return [_record_json(one) for one in attribute]
    members = ir.DictAttr(attribute)
    return {members[at].name: _record_json(members[at].attr) for at in range(len(members))}
