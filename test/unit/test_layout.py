"""Strided operands and results: their physical tensors, and kernels that read and write them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lowering_cases import Array, Case, Results, lower_case

from hipgraft.codegen.layout import Layout
from hipgraft.dialects import hipdnn
from hipgraft.ir.strided_view import row_major_strides


@dataclass(frozen=True)
class View:
    """A view, and the physical tensor and forms of access that are expected for it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    physical: tuple[int, ...]

    @property
    def layout(self) -> Layout:
        return Layout(self.shape, self.strides, self.offset, "f32")


VIEWS = {
    "packed": View((4, 5), (5, 1), 0, (4, 5)),
    "scalar": View((), (), 0, ()),
    "channels_last": View((2, 3, 4, 5), (60, 1, 15, 3), 0, (2, 4, 5, 3)),
    "unit_batch_with_odd_stride": View((1, 3, 4, 5), (7, 1, 15, 3), 0, (4, 1, 5, 3)),
    "unit_dims": View((1, 3, 1, 1), (99, 1, 5, 7), 0, (1, 3, 1, 1)),
    "transposed": View((4, 5), (1, 4), 0, (5, 4)),
    "columns_of_a_wide_tensor": View((4, 5), (12, 1), 5, (4, 12)),
    "rows": View((4, 5), (5, 1), 10, (6, 5)),
    "heads_of_packed_qkv": View((2, 6, 3, 4), (216, 4, 36, 1), 12, (2, 6, 9, 4)),
    "columns_of_a_transposed_tensor": View((16, 8, 3, 3), (16, 256, 4, 1), 0, (8, 16, 4, 4)),
    "starts_inside_a_row": View((4, 5), (5, 1), 3, (23,)),
    "every_other_element": View((5,), (2,), 1, (5, 2)),
    "every_other_row_and_column": View((2, 3, 4), (48, 8, 1), 28, (2, 6, 8)),
    "every_other_element_of_an_odd_row": View((4, 4), (7, 2), 1, (29,)),
    "steps_that_do_not_nest": View((3, 1, 2, 4), (5, 9, 17, 1), 0, (31,)),
    "overlapping_windows": View((3, 4), (1, 1), 2, (8,)),
    "diagonal": View((4,), (6,), 0, (4, 6)),
    "broadcast_rows": View((4, 5), (0, 1), 2, (7,)),
    "broadcast_inner": View((4, 5), (1, 0), 0, (4,)),
    "broadcast_scalar": View((4, 5), (0, 0), 3, (4,)),
    "offset_scalar": View((1,), (1,), 5, (6,)),
}
RESULTS = (
    "channels_last",
    "transposed",
    "heads_of_packed_qkv",
    "columns_of_a_wide_tensor",
    "every_other_element_of_an_odd_row",
    "steps_that_do_not_nest",
)


def memory(layout: Layout) -> Array:
    return np.arange(layout.physical_elements, dtype=np.float32) + 1


def logical(layout: Layout, flat: Array) -> Array:
    """Returns a layout's elements by numpy's own strides."""
    step = flat.itemsize
    strides = [stride * step for stride in layout.strides]
    return np.lib.stride_tricks.as_strided(flat[layout.offset :], layout.shape, strides)


def read_case(name: str, view: View) -> Case:
    flat = memory(view.layout)
    return Case(
        name=name,
        inputs=[flat],
        build=lambda x: hipdnn.pointwise(x, mode="neg"),
        expected=[-logical(view.layout, flat)],
        elements=["f32"],
        rtol=0,
        atol=0,
        shapes=[view.shape],
        layouts={"arg_strides": [list(view.strides)], "arg_offsets": [view.offset]},
    )


def write_case(name: str, view: View) -> Case:
    """The bytes between the elements of a strided result are arbitrary, and are not compared."""
    layout = Layout(view.shape, view.strides, 0, "f32")
    values = np.arange(math.prod(view.shape), dtype=np.float32).reshape(view.shape)
    expected = np.zeros(layout.physical_elements, np.float32)
    written = np.zeros(layout.physical_elements, np.bool_)
    logical(layout, expected)[...] = -values
    logical(layout, written)[...] = True
    case = Case(
        name=f"write_{name}",
        inputs=[values],
        build=lambda x: hipdnn.pointwise(x, mode="neg"),
        expected=[expected],
        elements=["f32"],
        rtol=0,
        atol=0,
        layouts={"result_strides": [list(view.strides)]},
        logical_results=[view.shape],
    )
    case.compared = written
    return case


READS = [read_case(name, view) for name, view in VIEWS.items() if view.shape]
WRITES = [write_case(name, VIEWS[name]) for name in RESULTS]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", [*READS, *WRITES], ids=lambda case: case.name)
def test_kernel(case: Case, results: Results) -> None:
    case.check(results[case.name])


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_physical_shape(view: View) -> None:
    assert view.layout.physical_shape == view.physical
    assert view.layout.physical_elements == math.prod(view.physical)


def test_physical_type() -> None:
    assert VIEWS["channels_last"].layout.physical_type == "tensor<2x4x5x3xf32>"
    assert VIEWS["scalar"].layout.physical_type == "tensor<f32>"


def test_row_major_is_the_identity() -> None:
    layout = Layout.row_major((2, 1, 3), "f16")
    assert layout.physical_shape == layout.shape
    assert layout.physical_type == "tensor<2x1x3xf16>"


def test_row_major_operand_needs_no_op() -> None:
    text = lower_case(read_case("packed", VIEWS["packed"]))
    assert "ins(%arg0 : tensor<4x5xf32>)" in text
    assert "tensor." not in text.replace("tensor.empty", "")


def test_transposed_operand_needs_no_op() -> None:
    text = lower_case(read_case("transposed", VIEWS["transposed"]))
    assert "ins(%arg0 : tensor<5x4xf32>)" in text
    assert "affine_map<(d0, d1) -> (d1, d0)>" in text or "linalg.transpose" in text


@st.composite
def slices(draw: st.DrawFn) -> tuple[Layout, Array, Array]:
    """A random view that numpy can make of a packed tensor."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    base = np.arange(math.prod(shape), dtype=np.float32)
    view = base.reshape(shape)
    for axis, extent in enumerate(shape):
        start = draw(st.integers(0, extent - 1))
        stop = draw(st.integers(start + 1, extent))
        step = draw(st.integers(1, 3))
        view = view[(slice(None),) * axis + (slice(start, stop, step),)]
    view = view.transpose(draw(st.permutations(range(view.ndim))))
    start = (view.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // 4
    strides = tuple(step // 4 for step in view.strides)
    return Layout(view.shape, strides, start, "f32"), base, view


@pytest.mark.slow
@given(slices())
def test_window_is_the_view(sample: tuple[Layout, Array, Array]) -> None:
    layout, base, view = sample
    window = layout.window
    if window is None:
        assert layout.physical_shape == (layout.offset + _span(layout),)
        return
    flat = np.concatenate([base, np.full(layout.physical_elements, -1, np.float32)])
    packed = flat[layout.flat_offset : layout.flat_offset + math.prod(window.extents)]
    box = packed.reshape(window.extents)[
        tuple(
            slice(offset, offset + size)
            for offset, size in zip(window.offsets, window.sizes, strict=True)
        )
    ]
    stored = box.reshape([layout.shape[dim] for dim in layout.order])
    np.testing.assert_array_equal(np.transpose(stored, np.argsort(layout.order)), view)


def _span(layout: Layout) -> int:
    steps = zip(layout.shape, layout.strides, strict=True)
    return sum((extent - 1) * stride for extent, stride in steps) + 1


def test_row_major_strides() -> None:
    assert row_major_strides((2, 3, 4)) == (12, 4, 1)
    assert row_major_strides(()) == ()
