"""Products of experts against loops over the groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lowering_cases import Array, Case, Results, lower_case
from op_cases import op_case, uniform
from oracle.moe import grouped_matmul, weight_gradient

from hipgraft.codegen.objects.matrix_code import count_matrix_instructions
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn

TOLERANCE = {"f32": 1e-5, "f16": 1e-2, "bf16": 1e-2}

random = np.random.default_rng(37)


def offsets(*starts: int) -> Array:
    return np.array(starts, np.int32)


def routed(values: list[int]) -> Array:
    return np.array(values, np.int32).reshape(1, -1, 1)


def forward_case(
    name: str,
    element: str,
    starts: Array,
    *,
    tokens: int = 7,
    weights: tuple[int, int, int] = (3, 9, 5),
    index: list[int] | None = None,
    choice: list[int] | None = None,
    rows: int | None = None,
    **attributes: Any,
) -> Case:
    token = uniform(random, (1, tokens, weights[1]), element)
    weight = uniform(random, weights, element)
    given = {
        name: np.array(values)
        for name, values in (("index", index), ("choice", choice))
        if values is not None
    }
    expected = grouped_matmul(
        token[0].astype(np.float64),
        weight.astype(np.float64),
        starts,
        **given,
        top_k=attributes.get("top_k", 0),
        rows=rows,
    )
    operands = {
        "token": token,
        "weight": weight,
        "first_token_offset": starts.reshape(-1, 1, 1),
    }
    names = {"index": "token_index", "choice": "token_ks"}
    operands |= {names[key]: routed(list(value)) for key, value in given.items()}
    return op_case(
        f"{name}_{element}",
        hipdnn.MoeGroupedMatmulOp,
        operands,
        {"output": expected[None]},
        element,
        TOLERANCE[element],
        **attributes,
    )


def backward_case(
    element: str, starts: Array, *, tokens: int = 8, weight: tuple[int, int] = (6, 5)
) -> Case:
    token, doutput = (uniform(random, (1, tokens, size), element) for size in weight)
    wide = [value[0].astype(np.float64) for value in (token, doutput)]
    return op_case(
        f"backward_{element}",
        hipdnn.MoeGroupedMatmulBwdOp,
        {"doutput": doutput, "token": token, "first_token_offset": starts.reshape(-1, 1, 1)},
        {"dweight": weight_gradient(*wide, starts)},
        element,
        TOLERANCE[element],
    )


CASES = [
    *(forward_case("plain", element, offsets(0, 2, 5)) for element in TOLERANCE),
    forward_case("empty_group", "f32", offsets(0, 4, 4)),
    forward_case("rows_before_the_first", "f32", offsets(2, 4, 6)),
    forward_case("batches", "f32", offsets(0, 1, 2, 4, 4, 6)),
    *(
        forward_case(
            "gather", element, offsets(0, 2, 4), tokens=4, index=[3, 0, 1, 3, 2], mode="gather"
        )
        for element in TOLERANCE
    ),
    forward_case(
        "gather_nowhere", "f32", offsets(1, 2, 3), tokens=4, index=[0, 2, 1, 3], mode="gather"
    ),
    *(
        forward_case(
            "scatter",
            element,
            offsets(0, 2, 5),
            tokens=6,
            index=[2, 0, 1, 2, 0, 1],
            choice=[0, 1, 0, 1, 0, 1],
            rows=8,
            mode="scatter",
            top_k=2,
        )
        for element in TOLERANCE
    ),
    # Tiles for matrix instructions on GPUs: longer and shorter groups than a tile, and an empty
    # one.
    forward_case("tiles", "f16", offsets(1, 20, 20), tokens=45, weights=(3, 64, 32)),
    forward_case(
        "tiles_gather",
        "bf16",
        offsets(0, 17, 17, 30, 33, 34),
        tokens=9,
        weights=(3, 32, 16),
        index=[int(one) for one in random.integers(0, 9, 40)],
        mode="gather",
    ),
    forward_case(
        "tiles_scatter",
        "f16",
        offsets(0, 5, 20),
        tokens=24,
        weights=(3, 32, 16),
        index=[*range(12), *range(12)],
        choice=[0] * 12 + [1] * 12,
        rows=26,
        mode="scatter",
        top_k=2,
    ),
    *(backward_case(element, offsets(0, 3, 3, 6)) for element in TOLERANCE),
]


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1201"])
def test_tiles_use_matrix_instructions(architecture: str) -> None:
    case = next(case for case in CASES if case.name == "tiles_f16")
    kernel = compile_text(
        lower_case(replace(case, target=architecture)), Target.parse(architecture)
    )
    counts = count_matrix_instructions(kernel.objects[0], architecture)
    assert sum(counts.values()) > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_experts(case: Case, results: Results) -> None:
    case.check(results[case.name])
