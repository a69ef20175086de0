"""Graphs whose results are stored transposed are lowered to valid IR, in each order of dims."""

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from lowering_cases import Case, lower_case

from hipgraft.codegen.iree.session import get_session

FILES = (
    "attention",
    "block_scale",
    "contractions",
    "gradients",
    "moe",
    "pointwise",
    "reductions",
    "resample",
)
TARGETS = ("cpu", "gfx942", "gfx1100")


def packed(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """Returns strides that store the dims in `order`, outermost first."""
    return [math.prod(shape[inner] for inner in order[order.index(dim) + 1 :]) for dim in order]


def strides(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    return [stride for _, stride in sorted(zip(order, packed(shape, order), strict=True))]


def in_order(case: Case, order: Sequence[int], target: str) -> Case:
    """Returns `case` with its first result stored in `order`, for a target."""
    first, *others = case.logical_results or [np.shape(value) for value in case.expected]
    kept = [strides(shape, range(len(shape))) for shape in others]
    layouts = {**case.layouts, "result_strides": [strides(first, order), *kept]}
    return replace(case, layouts=layouts, logical_results=[first, *others], target=target)


@pytest.mark.parametrize(
    "count", [1, pytest.param(None, marks=[pytest.mark.thorough, pytest.mark.slow])]
)
@pytest.mark.parametrize("file", FILES)
def test_lowered_text_is_valid(file: str, count: int | None) -> None:
    session, draws = get_session(()), random.Random(0)
    for case in import_module(f"test_lowering_{file}").CASES:
        if "result_strides" in case.layouts:
            continue
        rank = len((case.logical_results or [np.shape(case.expected[0])])[0])
        orders = list(itertools.permutations(range(rank)))[1:25]
        for order in draws.sample(orders, min(count or len(orders), len(orders))):
            for target in TARGETS if count is None else [draws.choice(TARGETS)]:
                session.parse(lower_case(in_order(case, order, target)))
