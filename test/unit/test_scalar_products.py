"""Products without matrix instructions, in tiles of results that a work item keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator, run_kernel
from lowering_cases import DTYPES, Case, lower_case, tensor_type

from hipgraft.codegen.lowering.matmul import matmul
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.service.tuning.estimated import EstimatedCostModel

# Rows, columns and depth, after those of a batch: several tiles and lanes, few rows, prime extents.
SHAPES = [
    *((100, 120, 40), (44, 40, 56), (18, 56, 40), (197, 120, 24), (2, 3, 50, 40, 50)),
    *((77, 112, 40), (64, 256, 128), (5, 128, 96), (2, 16, 32, 64)),
]


def product_case(shape: Sequence[int], element: str = "f32", target: str = "gfx1100") -> Case:
    *batch, rows, columns, depth = shape
    random = np.random.default_rng(0)
    a, b = (
        random.standard_normal((*batch, *dims)).astype(DTYPES[element])
        for dims in ((rows, depth), (depth, columns))
    )

    def build(x: Any, y: Any) -> Any:
        return hipdnn.matmul(x, y, result_type=tensor_type((*batch, rows, columns), element))

    expected = a.astype(np.float64) @ b.astype(np.float64)
    return Case("product", [a, b], build, [expected], [element], 1e-5, 1e-4, target=target)


@pytest.mark.sampled(12)
@requires_emulator
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products_in_tiles(shape: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """They take less time than by IREE's tiles."""
    case = product_case(shape)
    kernel = compile_text(lower_case(case), Target.parse(case.target))
    (result,) = run_kernel(kernel, case.inputs, [(case.expected[0].shape, np.float32)])
    np.testing.assert_allclose(result, case.expected[0], rtol=case.rtol, atol=case.atol)
    monkeypatch.setattr(matmul, "_scalar_tiles", lambda *_: [])
    plain = compile_text(lower_case(case), Target.parse(case.target))
    model = EstimatedCostModel()
    ours, theirs = (sum(one.microseconds for one in model.estimates(k)) for k in (kernel, plain))
    assert ours < theirs


def test_columns_of_a_prime_number_of_rows_are_left_to_iree() -> None:
    """Lanes would each load from columns of their own, for one result."""
    case = product_case((197, 120, 24))
    assert "compilation_info" in lower_case(case)
    by_columns = replace(case, layouts={"arg_strides": [None, [1, 24]]})
    assert "compilation_info" not in lower_case(by_columns)


@pytest.mark.parametrize(
    ("shape", "element", "target"),
    [
        ((4, 120, 40), "f32", "gfx1100"),  # rows that IREE multiplies by other means
        ((197, 197, 24), "f32", "gfx1100"),  # no tiles but single results
        ((100, 120, 40), "f16", "gfx1100"),
        ((100, 120, 40), "f32", "gfx942"),
    ],
)
def test_other_products_are_left_to_iree(shape: Sequence[int], element: str, target: str) -> None:
    assert "compilation_info" not in lower_case(product_case(shape, element, target))
