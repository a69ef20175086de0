"""Graphs are lowered to valid IR in whichever order their results are stored."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from lowering_cases import Case, lower_case

from hipgraft.codegen.iree.session import get_session
from hipgraft.ir.strided_view import StridedView

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


def strides(shape: Sequence[int], order: Sequence[int]) -> list[int]:
    """Returns the strides that store the dims in `order`, outermost first, without gaps."""
    stored = StridedView.of_shape([shape[dim] for dim in order])
    return list(stored.permute([order.index(dim) for dim in range(len(shape))]).strides)


def in_order(case: Case, order: Sequence[int], target: str) -> Case:
    """Returns `case` with its first result stored in `order`, for a target."""
    first, *others = case.logical_results or [np.shape(value) for value in case.expected]
    kept = [strides(shape, range(len(shape))) for shape in others]
    layouts = {**case.layouts, "result_strides": [strides(first, order), *kept]}
    return replace(case, layouts=layouts, logical_results=[first, *others], target=target)


@pytest.mark.slow
@pytest.mark.sampled(48)
@pytest.mark.parametrize(
    "count", [1, pytest.param(24, marks=[pytest.mark.thorough, pytest.mark.slow])]
)
@pytest.mark.parametrize("file", FILES)
def test_lowered_text_is_valid(file: str, count: int) -> None:
    session, draws = get_session(()), random.Random(0)
    for case in import_module(f"test_lowering_{file}").CASES:
        if "result_strides" in case.layouts:
            continue
        rank = len((case.logical_results or [np.shape(case.expected[0])])[0])
        orders = list(itertools.permutations(range(rank)))[1:]
        for order in draws.sample(orders, min(count, len(orders))):
            for target in draws.sample(TARGETS, min(count, len(TARGETS))):
                session.parse(lower_case(in_order(case, order, target)))
