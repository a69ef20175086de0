"""Maps MLIR element types to NumPy's, and provides the limits of these types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hipgraft.ir.diagnostics import HipgraftError

if TYPE_CHECKING:
    from hipgraft.ir.bindings import ir

_FLOATS: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
}
_PARTS_OF_BYTES: dict[str, Any] = {
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "i2": ml_dtypes.int2,
    "i4": ml_dtypes.int4,
    "ui2": ml_dtypes.uint2,
    "ui4": ml_dtypes.uint4,
}
"""Types whose elements take a byte each at the interface of programs."""

_SIGNS = {"i": "int", "si": "int", "ui": "uint"}
_INTEGERS: dict[str, Any] = {
    f"{prefix}{bits}": f"{kind}{bits}"
    for prefix, kind in _SIGNS.items()
    for bits in (8, 16, 32, 64)
}
_DTYPES: dict[str, Any] = {"i1": np.bool_} | _FLOATS | _INTEGERS | _PARTS_OF_BYTES


def numpy_dtype(element_type: ir.Type | str) -> np.dtype[Any]:
    """Returns the dtype that holds elements of `element_type`, a type or its text.

    Raises:
        HipgraftError: there is no such dtype.
    """
    name = str(element_type)
    if name not in _DTYPES:
        raise HipgraftError(f"no numpy dtype holds elements of type '{name}'")
    return np.dtype(_DTYPES[name])


def strided_array(
    flat: np.ndarray[Any, Any], shape: Sequence[int], strides: Sequence[int]
) -> np.ndarray[Any, Any]:
    """Returns a view of the elements of `flat` that `shape` and `strides` select.

    Args:
        flat: array of one dimension, of any type; NumPy cannot stride f8E5M2 itself.
        shape: extents of the view.
        strides: strides in elements.
    """
    bits = flat.view(f"V{flat.itemsize}")
    steps = [stride * flat.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(bits, shape, steps).view(flat.dtype)


def element_type_name(dtype: np.dtype[Any]) -> str:
    """Returns the MLIR element type, as text, that `dtype` holds; integers are signless.

    Raises:
        HipgraftError: there is no such type.
    """
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    for name, known in _DTYPES.items():
        if dtype == np.dtype(known):
            return name
    raise HipgraftError(f"no element type is held by numpy dtype '{dtype}'")


def float_info(element_type: ir.Type | str) -> Any:
    """Returns the limits of a floating-point type: `max`, mantissa bits `nmant`, `minexp`, ...

    Raises:
        HipgraftError: no dtype holds its elements.
    """
    info: Any = cast(Any, ml_dtypes).finfo(numpy_dtype(element_type))
    return info


def largest_finite(element_type: ir.Type | str) -> float:
    """Returns the largest finite number of a floating-point type; the lowest is its negative.

    Raises:
        HipgraftError: no dtype holds its elements.
    """
    return float(float_info(element_type).max)
