"""Random shapes, strides and types; many graphs to a compilation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lowering_cases import DTYPES, Array, Case, run_cases, tensor_type
from oracle.pointwise import MODES
from oracle.tensors import conv, reduce
from oracle.tolerance import dynamic_tolerance

from hipgraft.bindings import ir
from hipgraft.codegen.layout import Layout
from hipgraft.dialects import hipdnn

ELEMENTS = st.sampled_from(["f32", "f16", "bf16"])
POINTWISE = ("add", "mul", "sub", "max_op", "min_op", "swish_bwd", "tanh_bwd", "cmp_lt")
ROUNDING = {"f32": 1e-5, "f16": 1e-3, "bf16": 1e-2}
REDUCTION = {"f32": 1e-5, "f16": 1e-2, "bf16": 5e-2}


@st.composite
def layouts(draw: st.DrawFn, shape: Sequence[int]) -> Layout:
    """Dims in any order in memory, gaps between rows, an offset."""
    order = draw(st.permutations(range(len(shape))))
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim] + draw(st.integers(0, 2))
    return Layout(tuple(shape), tuple(strides), draw(st.integers(0, 3)), "")


@st.composite
def operands(draw: st.DrawFn, shape: Sequence[int], element: str) -> tuple[Array, Array, Layout]:
    """Returns the logical values, the memory that they lie in, and how."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    layout = draw(layouts(shape))
    memory = random.uniform(-1, 1, layout.physical_elements).astype(DTYPES[element])
    itemsize = memory.dtype.itemsize
    values = np.lib.stride_tricks.as_strided(
        memory[layout.offset :], shape, [stride * itemsize for stride in layout.strides]
    )
    return values.astype(np.float64), memory, layout


def strided_case(
    name: str,
    given_operands: Sequence[tuple[Array, Array, Layout]],
    build: Any,
    expected: Array,
    element: str,
    tolerance: tuple[float, float],
) -> Case:
    arrangements = [layout for _, _, layout in given_operands]
    return Case(
        name=name,
        inputs=[memory for _, memory, _ in given_operands],
        build=build,
        expected=[expected],
        elements=[element],
        rtol=tolerance[0],
        atol=tolerance[1],
        shapes=[layout.shape for layout in arrangements],
        layouts={
            "arg_strides": [list(layout.strides) for layout in arrangements],
            "arg_offsets": [layout.offset for layout in arrangements],
        },
    )


@st.composite
def convolutions(draw: st.DrawFn) -> Case:
    spatial, element = draw(st.integers(1, 3)), draw(ELEMENTS)

    def values(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=spatial, max_size=spatial))

    groups, channels = draw(st.sampled_from([(1, 3), (1, 8), (2, 2), (4, 1)]))
    window, dilation, pre, post = values(1, 3), values(1, 2), values(0, 2), values(0, 2)
    stride = values(1, 2)
    extents = [
        (size - 1) * step + 1 + extra
        for size, step, extra in zip(window, dilation, values(0, 3), strict=True)
    ]
    filters = groups * draw(st.integers(1, 3))
    x = draw(operands([draw(st.integers(1, 2)), groups * channels, *extents], element))
    w = draw(operands([filters, channels, *window], element))
    y = conv(x[0], w[0], pre=pre, post=post, stride=stride, dilation=dilation)

    def build(gx: ir.Value, gw: ir.Value) -> ir.Value:
        return hipdnn.conv_fprop(
            gx,
            gw,
            pre_padding=pre,
            post_padding=post,
            stride=stride,
            dilation=dilation,
            result_type=tensor_type(y.shape, element),
        )

    bound = dynamic_tolerance(channels * math.prod(window), (1, 1), np.abs(y).max(), element)
    return strided_case(f"conv_{element}", [x, w], build, y, element, (0, bound))


@st.composite
def products(draw: st.DrawFn) -> Case:
    element = draw(ELEMENTS)
    m, n, k = (draw(st.integers(1, 17)) for _ in range(3))
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    shared = [draw(st.sampled_from([1, extent])) for extent in batch]
    a = draw(operands([*batch, m, k], element))
    b = draw(operands([*shared, k, n], element))
    c = a[0] @ b[0]

    def build(ga: ir.Value, gb: ir.Value) -> ir.Value:
        return hipdnn.matmul(ga, gb, result_type=tensor_type(c.shape, element))

    bound = dynamic_tolerance(k, (1, 1), np.abs(c).max(), element)
    return strided_case(f"matmul_{element}", [a, b], build, c, element, (0, bound))


@st.composite
def pointwise_ops(draw: st.DrawFn) -> Case:
    mode, element = draw(st.sampled_from(POINTWISE)), draw(ELEMENTS)
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    other = [draw(st.sampled_from([1, extent])) for extent in shape]
    a, b = draw(operands(shape, element)), draw(operands(other, element))
    y = MODES[mode](a[0], b[0])
    result = "i1" if mode == "cmp_lt" else element

    def build(ga: ir.Value, gb: ir.Value) -> ir.Value:
        return hipdnn.pointwise(ga, gb, mode=mode, result_type=tensor_type(shape, result))

    tolerance = ROUNDING[element]
    return strided_case(f"{mode}_{element}", [a, b], build, y, result, (tolerance, tolerance))


@st.composite
def reductions(draw: st.DrawFn) -> Case:
    mode, element = draw(st.sampled_from(list(hipdnn.ReductionMode))), draw(ELEMENTS)
    shape = draw(st.lists(st.integers(2, 6), min_size=1, max_size=4))
    axes = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    x = draw(operands(shape, element))
    y = reduce(mode.value, x[0], tuple(sorted(axes)))

    def build(gx: ir.Value) -> ir.Value:
        return hipdnn.reduction(gx, mode=mode, result_type=tensor_type(y.shape, element))

    tolerance = REDUCTION[element]
    name = f"{mode.value.lower()}_{element}"
    return strided_case(name, [x], build, y, element, (tolerance, tolerance))


GRAPHS = st.one_of(convolutions(), products(), pointwise_ops(), reductions())


@given(st.lists(GRAPHS, min_size=25, max_size=25))
@settings(max_examples=3, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
def test_random_graphs(cases: list[Case]) -> None:
    named = [replace(case, name=f"{case.name}_{n}") for n, case in enumerate(cases)]
    results = run_cases(named)
    for case in named:
        case.check(results[case.name])
