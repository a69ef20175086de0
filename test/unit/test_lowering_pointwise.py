"""Every pointwise mode against numpy, in f32, f16, bf16, f64 and integers."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator, run_kernel
from lowering_cases import DTYPES, Array, Case, Results, lower_case, tensor_type
from oracle.pointwise import MODES

from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.service.tuning.counted import CountedCostModel

# Absolute and relative tolerances, for the rounding of the compute type and of the result.
TOLERANCE = {"f64": 1e-7, "f32": 1e-5, "f16": 1e-3, "bf16": 1e-2, "i32": 0, "i64": 0, "i8": 0}

SHAPES = [(3, 4, 5), (4, 1), (3, 1, 5)]

BINARY = frozenset(
    {
        *("add", "add_square", "cmp_eq", "cmp_ge", "cmp_gt", "cmp_le", "cmp_lt", "cmp_neq"),
        *("div", "elu_bwd", "gelu_approx_tanh_bwd", "gelu_bwd", "logical_and", "logical_or"),
        *("max_op", "min_op", "mod", "mul", "pow", "relu_bwd", "sigmoid_bwd", "softplus_bwd"),
        *("sub", "swish_bwd", "tanh_bwd"),
    }
)
POSITIVE = {"log", "sqrt", "rsqrt"}
ON_INTEGERS = ("abs", "add", "add_square", "div", "max_op", "min_op", "mod", "mul", "neg", "sub")
COMPARISONS = tuple(mode.value for mode in hipdnn.PointwiseMode if mode.value.startswith("cmp_"))

# hipDNN's attribute names, and what the oracle calls them.
ATTRIBUTES = {
    "relu_fwd": ("relu", {"lower": -0.5, "upper": 0.75, "slope": 0.25}),
    "relu_bwd": ("relu", {"lower": -0.5, "upper": 0.75, "slope": 0.25}),
    "swish_fwd": ("swish", {"beta": 1.5}),
    "swish_bwd": ("swish", {"beta": 1.5}),
    "softplus_fwd": ("softplus", {"beta": 2.0}),
    "softplus_bwd": ("softplus", {"beta": 2.0}),
    "elu_fwd": ("elu", {"alpha": 0.5}),
    "elu_bwd": ("elu", {"alpha": 0.5}),
}
SPELLING = {
    ("relu", "lower"): "relu_lower_clip",
    ("relu", "upper"): "relu_upper_clip",
    ("relu", "slope"): "relu_lower_clip_slope",
    ("swish", "beta"): "swish_beta",
    ("softplus", "beta"): "softplus_beta",
    ("elu", "alpha"): "elu_alpha",
}


def arity(mode: str) -> int:
    return 3 if mode == "binary_select" else 2 if mode in BINARY else 1


def operands(mode: str, element: str, shapes: Sequence[Sequence[int]]) -> list[Array]:
    random = np.random.default_rng(zlib.crc32(mode.encode()))
    shapes = shapes[: arity(mode)]
    if element.startswith("i"):
        values = [random.integers(-9, 10, shape) for shape in shapes]
        if mode in ("div", "mod"):
            values[1] = np.where(values[1] == 0, 3, values[1])
    else:
        values = [random.uniform(-2, 2, shape) for shape in shapes]
        if mode in POSITIVE or mode == "pow":
            values[0] = np.abs(values[0]) + 0.1
        if mode in ("div", "mod", "reciprocal"):
            values[-1] = np.where(np.abs(values[-1]) < 0.2, 0.7, values[-1])
        if mode in COMPARISONS or mode.startswith("logical") or mode == "binary_select":
            values[0] = np.round(values[0])
        if mode in COMPARISONS:
            values[1] = np.round(values[1])
    return [value.astype(DTYPES[element]) for value in values]


def pointwise_case(
    mode: str,
    element: str,
    *,
    with_attributes: bool = False,
    shapes: Sequence[Sequence[int]] = SHAPES,
) -> Case:
    inputs = operands(mode, element, shapes)
    family, given = ATTRIBUTES[mode] if with_attributes else ("", {})
    attributes: dict[str, Any] = {SPELLING[family, key]: value for key, value in given.items()}
    wide = [value.astype(np.int64 if element.startswith("i") else np.float64) for value in inputs]
    if mode == "gen_index":
        attributes = {"axis": 1}
        given = {"axis": 1}
    expected = MODES[mode](*wide, **given)
    if element.startswith("i") and mode == "div":
        expected = np.trunc(wide[0] / wide[1])
    result = "i1" if mode.startswith(("cmp_", "logical_")) else element

    def build(*values: Any) -> Any:
        type_ = tensor_type(np.shape(expected), result)
        return hipdnn.pointwise(*values, mode=mode, result_type=type_, **attributes)

    suffix = "_attributes" if with_attributes else ""
    return Case(
        name=f"{mode}_{element}{suffix}",
        inputs=inputs,
        build=build,
        expected=[expected],
        elements=[result],
        rtol=TOLERANCE[element],
        atol=TOLERANCE[element],
    )


def select_case() -> Case:
    """A boolean mask, as comparisons yield it."""
    random = np.random.default_rng(1)
    mask = random.integers(0, 2, (3, 4)).astype(np.bool_)
    a, b = (random.uniform(-1, 1, (3, 4)).astype(np.float16) for _ in range(2))
    return Case(
        name="select_by_i1",
        inputs=[mask, a, b],
        build=lambda m, x, y: hipdnn.pointwise(
            m, x, y, mode="binary_select", result_type=tensor_type([3, 4], "f16")
        ),
        expected=[np.where(mask, a, b)],
        elements=["f16"],
        rtol=0,
        atol=0,
    )


def cast_case(source: str, target: str) -> Case:
    values = np.array([[-3, 0, 1, 7, 100]]).astype(DTYPES[source])
    return Case(
        name=f"cast_{source}_{target}",
        inputs=[values],
        build=lambda x: hipdnn.pointwise(
            x, mode="identity", result_type=tensor_type([1, 5], target)
        ),
        expected=[values.astype(DTYPES[target])],
        elements=[target],
        rtol=0,
        atol=0,
    )


def nan_case(mode: str) -> Case:
    """A NaN in either operand is the result, as in PyTorch."""
    a = np.array([np.nan, 1, np.nan, 2, -np.inf], np.float32)
    b = np.array([1, np.nan, np.nan, 3, 4], np.float32)
    return Case(
        name=f"{mode}_nan",
        inputs=[a, b],
        build=lambda x, y: hipdnn.pointwise(x, y, mode=mode),
        expected=[MODES[mode](a, b)],
        elements=["f32"],
        rtol=0,
        atol=0,
    )


def relu_nan_case() -> Case:
    x = np.array([np.nan, -1, 2, -np.inf, np.inf], np.float32)
    return Case(
        name="relu_nan",
        inputs=[x],
        build=lambda value: hipdnn.pointwise(value, mode="relu_fwd"),
        expected=[np.array([np.nan, 0, 2, 0, np.inf])],
        elements=["f32"],
        rtol=0,
        atol=0,
    )


def chained_case() -> Case:
    """A virtual tensor is rounded to its own type: f16 cannot represent 2049."""
    x = np.array([2048, 4096], np.float32)

    def build(value: Any) -> Any:
        one = hipdnn.pointwise(value, mode="cos")
        one = hipdnn.pointwise(one, one, mode="div")  # 1, but not known at compile time
        f16 = tensor_type([2], "f16")
        rounded = hipdnn.pointwise(value, one, mode="add", result_type=f16)
        return hipdnn.pointwise(rounded, mode="identity", result_type=tensor_type([2], "f32"))

    expected = (x + 1).astype(np.float16).astype(np.float32)
    return Case("virtual_rounds", [x], build, [expected], ["f32"], 0, 0)


CASES = [
    *(pointwise_case(mode, element) for mode in MODES for element in ("f32", "f16", "bf16")),
    *(pointwise_case(mode, "f32", with_attributes=True) for mode in ATTRIBUTES),
    *(pointwise_case(mode, "i32") for mode in (*ON_INTEGERS, *COMPARISONS)),
    *(pointwise_case(mode, "i64") for mode in ("add", "mul", "cmp_lt", "gen_index")),
    *(pointwise_case(mode, "f64") for mode in ("add", "div", "sqrt", "relu_fwd")),
    *(cast_case(source, "f32") for source in ("i1", "i8", "i64", "f16", "bf16", "f64")),
    *(cast_case("f32", target) for target in ("i1", "i8", "i64", "f16", "bf16", "f64")),
    cast_case("f16", "bf16"),
    cast_case("bf16", "f16"),
    cast_case("i64", "i32"),
    cast_case("i1", "i64"),
    nan_case("max_op"),
    nan_case("min_op"),
    relu_nan_case(),
    select_case(),
    chained_case(),
]


@pytest.mark.sampled(32)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pointwise(case: Case, results: Results) -> None:
    case.check(results[case.name])


def test_every_mode_is_tested() -> None:
    assert set(MODES) == {mode.value for mode in hipdnn.PointwiseMode}


@requires_emulator
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("mode", ["sigmoid_fwd", "swish_fwd", "gelu_approx_tanh_fwd"])
def test_functions_are_computed_by_the_gpus_own(mode: str, target: str) -> None:
    """Exponentials and quotients with steps of correction would take 35 instructions."""
    # The last ones end in an infinity, and in a subnormal quotient.
    x = np.append(np.linspace(-30, 30, 4092), [0, -87.5, -100, 100]).astype(np.float32)
    case = Case(mode, [x], lambda v: hipdnn.pointwise(v, mode=mode), [x], ["f32"], 0, 0,
                target=target)  # fmt: skip
    kernel = compile_text(lower_case(case), Target.parse(target))
    (y,) = run_kernel(kernel, [x], [(x.shape, np.float32)])
    expected = MODES[mode](x.astype(np.float64))
    np.testing.assert_allclose(y, expected, rtol=TOLERANCE["f32"], atol=1e-15)
    (count,) = CountedCostModel().counts(kernel)
    assert count.instructions * Target.parse(target).wavefront_size <= 25 * x.size
