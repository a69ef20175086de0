"""Names of layouts, compared with strides written out."""

from __future__ import annotations

import pytest

from hipgraft.engines.layouts import LAYOUTS, has_layout

# The layouts of packed tensors of distinct extents, by extents and strides.
PACKED = {
    ((5,), (1,)): ["row-major"],
    ((3, 5), (5, 1)): ["row-major"],
    ((3, 5), (1, 3)): ["column-major"],
    ((2, 3, 5), (15, 5, 1)): ["row-major"],
    ((2, 3, 5), (15, 1, 3)): ["channels-last", "column-major"],
    ((2, 3, 5), (1, 2, 6)): [],
    ((2, 3, 5, 7), (105, 35, 7, 1)): ["row-major"],
    ((2, 3, 5, 7), (105, 1, 21, 3)): ["channels-last"],
    ((2, 3, 5, 7), (105, 35, 1, 5)): ["column-major"],
    ((2, 3, 5, 7), (105, 7, 21, 1)): ["BSHD"],
    ((2, 3, 5, 7, 11), (1155, 1, 231, 33, 3)): ["channels-last"],
    ((2, 3, 5, 7, 11), (1155, 11, 33, 231, 1)): [],
}


@pytest.mark.parametrize(("dims", "strides"), PACKED, ids=str)
def test_packed(dims: tuple[int, ...], strides: tuple[int, ...]) -> None:
    names = PACKED[dims, strides]
    expected = [*names, *(f"padded {name}" for name in names)]
    assert [name for name in LAYOUTS if has_layout(dims, strides, name)] == expected


@pytest.mark.parametrize(
    ("strides", "expected"),
    [
        ((16, 5, 1), ["padded row-major"]),
        ((18, 6, 1), ["padded row-major"]),
        ((14, 5, 1), []),
        ((30, 10, 2), []),
        ((20, 1, 4), ["padded channels-last", "padded column-major"]),
    ],
)
def test_gaps(strides: tuple[int, ...], expected: list[str]) -> None:
    assert [name for name in LAYOUTS if has_layout((2, 3, 5), strides, name)] == expected


def test_strides_of_unit_extents_do_not_matter() -> None:
    assert has_layout((1, 3, 1, 5), (99, 5, 77, 1), "row-major")
    assert has_layout((1, 3, 1, 5), (99, 1, 77, 3), "channels-last")
