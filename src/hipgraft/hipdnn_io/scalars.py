"""Compile-time scalars: values of tensors in a file, `arith.constant` in a graph."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from hipgraft.hipdnn_io.data_types import VALUE_TYPES, data_type_name
from hipgraft.hipdnn_io.document import TensorDocument
from hipgraft.ir.bindings import ir

# Types whose values a file holds as bits.
_BITS: dict[str, Any] = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
_NARROW: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


def constant(tensor: TensorDocument, type_: ir.RankedTensorType, loc: ir.Location) -> ir.Operation:
    """Creates the constant of a tensor that has a value, at the current insertion point."""
    element = type_.element_type
    value = tensor.value
    if str(element) in _BITS:
        value = float(np.uint8(value or 0).view(_BITS[str(element)]))
    if isinstance(element, ir.IntegerType):
        scalar = ir.IntegerAttr.get(element, int(value or 0))
    else:
        scalar = ir.FloatAttr.get(element, float(value or 0))
    dense = ir.DenseElementsAttr.get_splat(type_, scalar)
    return ir.Operation.create("arith.constant", [type_], attributes={"value": dense}, loc=loc)


def value_of(op: ir.Operation) -> tuple[str, float | int | bool] | None:
    """Returns the type of the value and the value of a constant.

    Returns:
        None for one of several values, or of a type that hipDNN passes no scalars of.
    """
    dense = op.attributes["value"]
    element = ir.RankedTensorType(op.results[0].type).element_type
    value_type = VALUE_TYPES.get(data_type_name(element) or "")
    if value_type is None or not isinstance(dense, ir.DenseElementsAttr) or not dense.is_splat:
        return None
    scalar = dense.get_splat_value()
    value = scalar.value if isinstance(scalar, ir.IntegerAttr) else _float(scalar)
    return value_type, value


def _float(scalar: ir.Attribute) -> float | int:
    attribute = ir.FloatAttr(scalar)
    element = str(attribute.type)
    if element in _BITS:
        return int(np.asarray(attribute.value, _BITS[element]).view(np.uint8))
    # The shortest text that reads back as the same number of its type.
    narrow = _NARROW.get(element)
    return attribute.value if narrow is None else float(str(narrow(attribute.value)))
