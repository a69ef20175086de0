"""hipDNN's data types, by the names in its JSON."""

from __future__ import annotations

from hipgraft.ir.bindings import ir

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

# The type of a compile-time scalar's value, by the type of its tensor.
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


def mlir_type(name: str) -> ir.Type | None:
    """Returns the type that hipDNN calls `name`, None if it has no such type."""
    text = _MLIR.get(name)
    return None if text is None else ir.Type.parse(text)


def data_type_name(type_: ir.Type) -> str | None:
    """Returns hipDNN's name of a type, None if hipDNN does not have it."""
    return _NAMES.get(str(type_))
