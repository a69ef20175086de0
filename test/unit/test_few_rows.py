"""Products with few rows, whose columns get a wavefront each, against double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator
from lowering_cases import DTYPES, Case, tensor_type
from test_rows import check, compiled

from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.service.tuning.counted import CountedCostModel
from hipgraft.service.tuning.estimated import EstimatedCostModel

random = np.random.default_rng(21)


def product_case(
    rows: int,
    depth: int,
    columns: int,
    element: str = "f32",
    batch: int = 0,
    *,
    swapped: bool = False,
    plain: bool = False,
) -> Case:
    """`relu(a · wᵀ + bias)` of `a` [rows, depth] and `w` [columns, depth]; `w · aᵀ` if swapped."""
    lead = (batch,) if batch else ()
    a = random.uniform(-2, 2, (*lead, rows, depth)).astype(DTYPES[element])
    w = random.uniform(-2, 2, (*lead, columns, depth)).astype(DTYPES[element])
    total = "i32" if element == "i8" else element
    bias = random.integers(-9, 9, (*[1] * len(lead), 1, columns)).astype(DTYPES[total])
    left, right = (w, a) if swapped else (a, w)
    exact = np.float64 if element != "i8" else np.int64
    product = left.astype(exact) @ np.swapaxes(right.astype(exact), -1, -2)
    shape = product.shape
    expected = product if plain or swapped else np.maximum(product + bias.astype(exact), 0)

    def build(ga: Any, gw: Any, gb: Any) -> ir.Value:
        made = hipdnn.matmul(ga, gw, result_type=tensor_type(shape, total))
        if plain or swapped:
            return made
        return hipdnn.pointwise(hipdnn.pointwise(made, gb, mode="add"), mode="relu_fwd")

    transposed = (*right.shape[:-2], depth, right.shape[-2])
    strides = [1, depth]
    if lead:
        strides = [right.shape[-2] * depth, *strides]
    kind = "swapped" if swapped else "plain" if plain else "fused"
    return Case(
        f"{kind}_{batch}_{rows}x{depth}x{columns}_{element}",
        [left, right, bias],
        build,
        [expected],
        [total],
        2e-3 if element != "bf16" else 1e-2,
        1e-3 * depth**0.5,
        shapes=[left.shape, transposed, bias.shape],
        layouts={"arg_strides": [None, strides, None]},
    )


CASES = [
    product_case(1, 1152, 320),
    product_case(1, 37, 5),
    product_case(2, 256, 3, "f16"),
    product_case(3, 1030, 7, "f16"),
    product_case(4, 672, 12),
    product_case(5, 97, 9, "bf16"),
    product_case(8, 512, 6, "bf16", plain=True),
    product_case(8, 130, 33, "f16"),
    product_case(16, 768, 20),
    product_case(13, 65, 31, plain=True),
    product_case(6, 8, 16),
    product_case(2, 300, 10, "i8", plain=True),
    product_case(1, 64, 24, "f16", batch=3),
    product_case(4, 48, 10, batch=2),
    product_case(7, 200, 40, swapped=True),
    product_case(2, 2048, 9, "f16", swapped=True),
]


@requires_emulator
@pytest.mark.sampled(4)
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_products_of_few_rows(case: Case, architecture: str) -> None:
    kernel = compiled(case, architecture)
    check(case, kernel)


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_each_column_has_a_wavefront(architecture: str) -> None:
    lanes = Target.parse(architecture).wavefront_size
    (launch,) = compiled(product_case(4, 672, 1300), architecture).dispatches
    assert (np.prod(launch.grid), np.prod(launch.block)) == (1300, lanes)
    (launch,) = compiled(product_case(4, 2048, 12), architecture).dispatches
    assert (np.prod(launch.grid), np.prod(launch.block)) == (12, 2048 // (lanes * 4) * lanes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "architecture"),
    [
        # IREE alone would split these sums over workgroups, and fail for these rows.
        (product_case(4, 11008, 1300, "f16", plain=True), "gfx942"),
        (product_case(4, 256, 64, "f16", plain=True), "gfx950"),
        (product_case(4, 256, 64, "bf16", plain=True), "gfx90a"),
    ],
    ids=["deep", "gfx950", "gfx90a"],
)
def test_one_launch(case: Case, architecture: str) -> None:
    (launch,) = compiled(case, architecture).dispatches
    assert np.prod(launch.grid) == case.inputs[1].shape[0]


@requires_emulator
def test_steps_divide_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each iteration would have masks, if 512 elements at once did not divide the sum."""
    case, model = product_case(2, 2816, 1300, "f16"), CountedCostModel()
    (ours,) = model.counts(compiled(case, "gfx942"))
    monkeypatch.setattr("hipgraft.codegen.iree.vector_tiles._step", lambda *_: 512)
    (masked,) = model.counts(compiled(case, "gfx942"))
    assert ours.instructions < 0.9 * masked.instructions


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_more_rows_have_tiles(architecture: str) -> None:
    (launch,) = compiled(product_case(33, 256, 64), architecture).dispatches
    assert np.prod(launch.grid) < 64


@pytest.mark.sampled(8)
@pytest.mark.slow
@requires_emulator
@pytest.mark.parametrize(("rows", "element"), [(1, "f32"), (1, "f16"), (8, "f16"), (16, "f32")])
def test_it_takes_less_time(rows: int, element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, model = product_case(rows, 768, 768, element), EstimatedCostModel()
    ours = model.cost(compiled(case, "gfx942"), None).value
    monkeypatch.setattr("hipgraft.codegen.iree.row_tiles.set_product_of", lambda *_: False)
    assert ours < 0.9 * model.cost(compiled(case, "gfx942"), None).value
