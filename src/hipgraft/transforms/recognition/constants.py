"""Reads constants of floats as arrays, and builds constants from arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.dtypes import numpy_dtype, strided_array
from hipgraft.ir.resources import constant_bytes, elements_of
from hipgraft.ir.tensors import element_type_of
from hipgraft.transforms.recognition.values import window

# The largest relative error of rounded constants; f16 numbers in the normal range have an error of
# up to 2^-11.
_LARGEST_ERROR = 2.0**-8

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def is_float_constant(value: ir.Value) -> bool:
    """Whether a value is a constant of floats, or a view of one."""
    made = defining_op(window(value)[0])
    is_float = isinstance(element_type_of(value), ir.FloatType)
    return is_float and made is not None and made.name == "arith.constant"


def constant_array(value: ir.Value) -> Array | None:
    """Returns the elements of a constant of floats, or of a view of one, without a copy.

    None for any other value.

    Raises:
        OpError: the constant's resource is missing.
    """
    return stored_elements(value) if is_float_constant(value) else None


def stored_elements(value: ir.Value) -> Array:
    """Returns the elements of a constant, or of a view of one, without a copy.

    Raises:
        OpError: the constant's resource is missing.
    """
    base, view = window(value)
    made = defining_op(base)
    assert made is not None
    kind = numpy_dtype(element_type_of(base))
    flat = np.frombuffer(constant_bytes(made), kind)[view.offset :]
    return strided_array(flat, view.shape, view.strides)


def build_constant(elements: Array, element: ir.Type, name: str) -> ir.Value:
    """Builds a constant of an element type; if it is large, its resource is called `name`."""
    kind = ir.RankedTensorType.get(elements.shape, element)
    words = np.ascontiguousarray(elements).view(f"u{elements.itemsize}")
    return arith_d.ConstantOp(kind, elements_of(words, kind, name)).result


def rounded(exact: Array, kind: np.dtype[Any], axes: tuple[int, ...]) -> Array:
    """Returns the elements of a new constant in a type.

    Args:
        exact: the elements.
        kind: the type.
        axes: dimensions whose elements add to one result; the largest error counts relative to
            the largest of them.

    Raises:
        Declined: the elements exceed the type's range, or its normal relative error.
    """
    with np.errstate(over="ignore"):
        found = exact.astype(kind)
    error = np.abs(found.astype(np.float64) - exact).max(axes)
    if not (error <= _LARGEST_ERROR * np.abs(exact).max(axes)).all():
        raise Declined("rounds", f"new constants do not fit into elements of {kind}")
    return found
