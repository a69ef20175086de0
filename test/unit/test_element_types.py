"""Element types given as text."""

from __future__ import annotations

import numpy as np
import pytest

from hipgraft.dialects.migraphx.types import ShapedType, row_major
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.dtypes import numpy_dtype, strided_array
from hipgraft.ir.element_types import bit_width, is_float, is_integer
from hipgraft.ir.strided_view import row_major_strides

BUILTIN = (
    *("i1", "i4", "i8", "i32", "i64", "si8", "ui4", "ui64"),
    *("f16", "bf16", "f32", "f64", "f4E2M1FN", "f6E3M2FN"),
    *("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f8E4M3FNUZ", "f8E5M2FNUZ"),
)


@pytest.mark.parametrize("name", BUILTIN)
def test_text_agrees_with_the_type(name: str):
    with make_context():
        element = ir.Type.parse(name)
        assert is_float(name) == isinstance(element, ir.FloatType)
        assert is_integer(name) == isinstance(element, ir.IntegerType)
        assert bit_width(name) == element.width


def test_an_index_is_neither():
    assert not is_float("index")
    assert not is_integer("index")
    assert bit_width("index") == 64


@pytest.mark.parametrize("name", ["", "f", "i", "i0", "x32", "complex<f32>", "f32 ", "float"])
def test_other_types(name: str):
    assert not is_float(name)
    assert not is_integer(name)
    with pytest.raises(ValueError, match="no integer or floating-point type"):
        bit_width(name)
    assert ShapedType((2,), (1,), name).bits == 0


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((2, 3, 4), (12, 4, 1)),
        ((2, None, 4), (None, 4, 1)),
        ((None, 3), (3, 1)),
        ((2, 3, None), (None, None, 1)),
        ((2, 0, 4), (4, 4, 1)),
        ((), ()),
    ],
)
def test_row_major_strides_of_dynamic_shapes(shape, strides):
    assert row_major(shape) == strides
    if None not in shape:
        assert row_major_strides(shape) == strides


@pytest.mark.parametrize("name", [*BUILTIN[:-6], *BUILTIN[-5:], "complex<f64>"])
def test_arrays_have_strides(name: str):
    flat = np.arange(6).astype(numpy_dtype(name))
    view = strided_array(flat, (2, 2), (1, 3))
    assert view.dtype == flat.dtype
    assert view.tobytes() == flat[[0, 3, 1, 4]].tobytes()
