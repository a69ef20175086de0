"""Gradients of the normalisations against differences of their definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from lowering_cases import Array, Case, Results
from op_cases import op_case, uniform, wide
from oracle.gradients import gradient
from oracle.tensors import layernorm, rmsnorm

from hipgraft.dialects import hipdnn

# Twice hipDNN's tolerances of the forward ops, because the summands are rounded.
LAYERNORM = {"f32": 2e-4, "f16": 2e-3, "bf16": 2e-2}
RMSNORM = {"f32": 8e-3, "f16": 8e-3, "bf16": 1.6e-2}
BATCHNORM = {"f32": 2e-3, "f16": 2e-3, "bf16": 8e-3}

EPSILON = 1e-5
PARAMETERS = ("dscale", "dbias")

random = np.random.default_rng(17)

Norm = Callable[[Array, Array, Array], Array]


def gradients(norm: Norm, dy: Array, x: Array, scale: Array) -> dict[str, Array]:
    """Returns dx, dscale and dbias of `norm(x, scale, bias)`, which is linear in the last two."""
    bias = np.zeros(scale.shape)
    return {
        "dx": gradient(lambda value: norm(value, scale, bias), x, dy),
        "dscale": gradient(lambda value: norm(x, value, bias), scale, dy),
        "dbias": gradient(lambda value: norm(x, scale, value), bias, dy),
    }


def operands(x: Sequence[int], scale: Sequence[int], element: str) -> dict[str, Array]:
    return {
        "dy": uniform(random, x, element),
        "x": uniform(random, x, element, -1, 2),
        "scale": uniform(random, scale, "f32"),
    }


def aligned(x: Sequence[int], scale: Sequence[int]) -> tuple[int, ...]:
    extents = (1,) * (len(x) - len(scale)) + tuple(scale)
    return tuple(dim for dim, extent in enumerate(extents) if extent > 1)


def layernorm_case(
    name: str,
    x: Sequence[int],
    scale: Sequence[int],
    element: str,
    *,
    given: bool = True,
    count: int | None = None,
) -> Case:
    """`count` trailing dims are normalised, which the scale says if it is None."""
    values = operands(x, scale, element)
    axes = aligned(x, scale) if count is None else tuple(range(len(x) - count, len(x)))
    exact = wide(values)
    expected = gradients(lambda *v: layernorm(*v, EPSILON, axes)[0], **exact)
    statistics = layernorm(exact["x"], np.ones(()), np.zeros(()), EPSILON, axes)[1:]
    if given:
        values["mean"], values["inv_variance"] = (value.astype(np.float32) for value in statistics)
    else:
        values["epsilon"] = np.array([EPSILON], np.float32)
    types = {"dx": element, "dscale": "f32", "dbias": "f32"}
    return op_case(
        f"{name}_gradient_{element}",
        hipdnn.LayernormBackwardOp,
        values,
        expected,
        types,
        LAYERNORM[element],
        normalized_dim_count=count,
    )


def rmsnorm_case(name: str, x: Sequence[int], scale: Sequence[int], element: str) -> Case:
    values, axes = operands(x, scale, element), aligned(x, scale)
    exact = wide(values)
    expected = gradients(lambda v, s, b: rmsnorm(v, s, EPSILON, axes)[0] + b, **exact)
    inverse = rmsnorm(exact["x"], np.ones(()), EPSILON, axes)[1]
    values["inv_rms"] = inverse.astype(np.float32)
    types = {"dx": element, "dscale": "f32", "dbias": "f32"}
    op = hipdnn.RmsnormBackwardOp
    return op_case(f"{name}_gradient_{element}", op, values, expected, types, RMSNORM[element])


def batchnorm_case(name: str, x: Sequence[int], element: str, *, given: bool = True) -> Case:
    channel = [1, x[1], *[1] * (len(x) - 2)]
    axes = (0, *range(2, len(x)))
    values = operands(x, channel, element)
    exact = wide(values)
    expected = gradients(lambda *v: layernorm(*v, EPSILON, axes)[0], **exact)
    if given:
        statistics = layernorm(exact["x"], np.ones(()), np.zeros(()), EPSILON, axes)[1:]
        values["mean"], values["inv_variance"] = (value.astype(np.float32) for value in statistics)
    types = {"dx": element, "dscale": "f32", "dbias": "f32"}
    op = hipdnn.BatchnormBackwardOp
    return op_case(f"{name}_gradient_{element}", op, values, expected, types, BATCHNORM[element])


CASES = [
    *(layernorm_case("ln", (3, 4, 9), (1, 1, 9), element) for element in LAYERNORM),
    layernorm_case("ln_computed", (3, 4, 9), (1, 1, 9), "f32", given=False),
    layernorm_case("ln_two_dims", (3, 4, 5), (1, 4, 5), "f32"),
    layernorm_case("ln_beyond_scale", (3, 4, 5), (1, 1, 5), "f32", count=2),
    layernorm_case("ln_one_row", (1, 1, 16), (1, 1, 16), "f32"),
    layernorm_case("ln_total", (4, 5), (4, 5), "f32", given=False),
    layernorm_case("ln_short_scale", (3, 4, 9), (9,), "f32"),
    layernorm_case("ln_channel", (2, 5, 3, 3), (1, 5, 1, 1), "f32"),
    *(rmsnorm_case("rms", (3, 4, 9), (1, 1, 9), element) for element in RMSNORM),
    rmsnorm_case("rms_channel", (2, 5, 3, 3), (1, 5, 1, 1), "f32"),
    *(batchnorm_case("bn", (3, 5, 4, 3), element) for element in BATCHNORM),
    batchnorm_case("bn_computed", (3, 5, 4, 3), "f32", given=False),
    batchnorm_case("bn_1d", (4, 6, 5), "f32"),
    batchnorm_case("bn_3d", (2, 3, 2, 3, 4), "f32"),
    batchnorm_case("bn_rank_2", (8, 6), "f32"),
    batchnorm_case("bn_unit_dim", (2, 3, 1, 4), "f32"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gradient(case: Case, results: Results) -> None:
    case.check(results[case.name])
