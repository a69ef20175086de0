"""Random graphs of each op: shapes, attributes, options, and the memory layout of each tensor.

A strategy draws shapes and attributes, and seeds a generator of values. The functions that make the
fixed cases get the expected results from the oracles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import test_lowering_attention as attention
import test_lowering_block_scale as block_scale
import test_lowering_contractions as contractions
import test_lowering_gradients as gradients
import test_lowering_moe as moe
import test_lowering_pointwise as pointwise
import test_lowering_reductions as norms
import test_lowering_resample as resample
from hypothesis import strategies as st
from lowering_cases import Array, Case
from oracle.attention import alibi
from oracle.tensors import visible
from oracle.tolerance import dynamic_tolerance

from hipgraft.codegen.layout import Layout

ELEMENTS = ("f32", "f16", "bf16")
SEEDS = st.integers(0, 2**32 - 1)
BATCHES = st.integers(1, 2)
FACTORIES = (attention, block_scale, contractions, gradients, moe, norms, resample)

Draw = st.DrawFn


class Repeating(np.random.Generator):
    """A random generator, some of whose tensors repeat along a dim like broadcast tensors."""

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Returns random values, in every third tensor the same along one dim."""
        values = super().uniform(low, high, size)
        if np.ndim(values) > 1 and self.integers(3) == 0:
            dim = self.integers(np.ndim(values))
            values[:] = values.take([0], dim)
        return values


@contextmanager
def seeded(draw: Draw) -> Iterator[None]:
    """Makes the values of cases depend only on the drawn examples."""
    number, kept = draw(SEEDS), [factory.random for factory in FACTORIES]
    for factory in FACTORIES:
        factory.random = Repeating(np.random.PCG64(number))
    try:
        yield
    finally:
        for factory, generator in zip(FACTORIES, kept, strict=True):
            factory.random = generator


def extents(draw: Draw, rank: int, low: int, high: int) -> list[int]:
    return draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank))


def shape(draw: Draw, low: int, high: int, largest: int = 6) -> list[int]:
    """Returns a shape of rank `low` to `high`."""
    return extents(draw, draw(st.integers(low, high)), 1, largest)


def broadcast(draw: Draw, to: Sequence[int]) -> tuple[int, ...]:
    """Returns a shape that broadcasts to another of the same rank."""
    return tuple(draw(st.sampled_from([1, extent])) for extent in to)


# Memory layouts of tensors


def layout(
    draw: Draw, shape: Sequence[int], *, packed: bool = False, repeated: Sequence[int] = ()
) -> Layout:
    """Draws a layout: dims in any order and, unless `packed`, gaps between rows and an offset.

    Along some of the dims in which values repeat, only one is stored.
    """
    strides, step = [0] * len(shape), 1
    for dim in reversed(draw(st.permutations(range(len(shape))))):
        if dim in repeated and draw(st.booleans()):
            continue
        strides[dim] = step
        is_row = shape[dim] > 1 and not packed
        step *= shape[dim] + (draw(st.integers(0, 2)) if is_row else 0)
    offset = 0 if packed else draw(st.integers(0, 3))
    return Layout(tuple(shape), tuple(strides), offset, "")


def repeated(value: Array) -> list[int]:
    """Returns the dims of extent 2 or more along which values are the same."""
    return [
        dim
        for dim, extent in enumerate(value.shape)
        if extent > 1 and bool((value == value.take([0], dim)).all())
    ]


def placed(value: Array, place: Layout) -> Array:
    """Returns memory that holds `value` in the layout `place`, and noise in the gaps."""
    noise = np.random.default_rng(0).integers(1, 100, place.physical_elements)
    memory = noise.astype(value.dtype)
    steps = [
        step * index for step, index in zip(place.strides, np.indices(value.shape), strict=True)
    ]
    memory[place.offset + sum(steps)] = value
    return memory


def rearranged(draw: Draw, case: Case) -> Case:
    """Returns `case` with random layouts of all operands and results."""
    operands = [layout(draw, one.shape, repeated=repeated(one)) for one in case.inputs]
    shapes = [np.shape(value) for value in case.expected]
    # IREE 3.13.0 does not compile a loop of two results that are both written transposed.
    results = [
        layout(draw, shape, packed=True)
        if shapes.count(shape) == 1
        else Layout.row_major(shape, "")
        for shape in shapes
    ]
    return replace(
        case,
        inputs=[placed(*pair) for pair in zip(case.inputs, operands, strict=True)],
        expected=[
            np.transpose(value, place.order)
            for value, place in zip(case.expected, results, strict=True)
        ],
        shapes=[value.shape for value in case.inputs],
        layouts={
            "arg_strides": [list(place.strides) for place in operands],
            "arg_offsets": [place.offset for place in operands],
            "result_strides": [list(place.strides) for place in results],
        },
        logical_results=shapes,
    )


def bounded(case: Case, terms: int, element: str) -> Case:
    """Returns `case` with the bound for sums of `terms` products of numbers up to 1."""
    largest = float(np.abs(case.expected[0]).max())
    return replace(case, rtol=0, atol=dynamic_tolerance(terms, (1, 1), largest, element))


# The ops


def convolutions(draw: Draw, element: str) -> list[Case]:
    """fprop, dgrad and wgrad of 1 to 3 spatial dimensions, in groups."""
    spatial = draw(st.integers(1, 3))
    groups, channels = draw(st.sampled_from([(1, 3), (1, 8), (2, 2), (4, 1)]))
    window, dilation = extents(draw, spatial, 1, 3), extents(draw, spatial, 1, 2)
    least = [(size - 1) * step + 1 for size, step in zip(window, dilation, strict=True)]
    more = extents(draw, spatial, 0, 3)
    x = [draw(BATCHES), groups * channels, *np.add(least, more).tolist()]
    w = [groups * draw(st.integers(1, 3)), channels, *window]
    options = {
        "pre": extents(draw, spatial, 0, 2),
        "post": extents(draw, spatial, 0, 2),
        "stride": extents(draw, spatial, 1, 2),
        "dilation": dilation,
    }
    forward = contractions.conv_case("conv", x, w, element, flip=draw(st.booleans()), **options)
    dgrad, wgrad = contractions.gradient_cases("conv", x, w, element, **options)
    taps, y = math.prod(window), math.prod(np.shape(forward.expected[0])[2:])
    return [
        bounded(forward, channels * taps, element),
        bounded(dgrad, w[0] // groups * taps, element),
        bounded(wgrad, x[0] * y, element),
    ]


def products(draw: Draw, element: str) -> list[Case]:
    m, n, k = extents(draw, 3, 1, 17)
    batch = shape(draw, 0, 2, 3)
    a, b = [*batch, m, k], [*broadcast(draw, batch), k, n]
    return [bounded(contractions.matmul_case("matmul", a, b, element), k, element)]


def pointwise_ops(draw: Draw, element: str) -> list[Case]:
    mode = draw(st.sampled_from(sorted(pointwise.MODES)))
    full = shape(draw, 2, 4)
    shapes = [full, broadcast(draw, full), broadcast(draw, full)]
    return [pointwise.pointwise_case(mode, element, shapes=shapes)]


def reductions(draw: Draw, element: str) -> list[Case]:
    mode = draw(st.sampled_from(sorted(norms.hipdnn.ReductionMode)))
    full = extents(draw, draw(st.integers(1, 3)), 2, 6)
    axes = tuple(sorted(draw(st.sets(st.integers(0, len(full) - 1), min_size=1))))
    return [norms.reduction_case(mode, axes, element, full)]


def layer_norms(draw: Draw, element: str) -> list[Case]:
    x = [*shape(draw, 1, 2, 4), *extents(draw, draw(st.integers(1, 2)), 2, 9)]
    count = draw(st.integers(1, len(x) - 1))
    kept = next(dim for dim in range(len(x) - count, len(x)) if x[dim] > 1)
    scale = [1] * kept + x[kept:]
    given = draw(st.booleans())
    return [
        norms.layernorm_case("layernorm", x, scale, element),
        gradients.layernorm_case("layernorm", x, scale, element, given=given),
    ]


def rms_norms(draw: Draw, element: str) -> list[Case]:
    x = [draw(BATCHES), *extents(draw, draw(st.integers(1, 3)), 2, 8)]
    dim = draw(st.integers(1, len(x) - 1))
    ends = draw(st.sampled_from([dim + 1, len(x)]))
    scale = [extent if dim <= place < ends else 1 for place, extent in enumerate(x)]
    return [
        norms.rmsnorm_case("rmsnorm", x, scale, element),
        gradients.rmsnorm_case("rmsnorm", x, scale, element),
    ]


def batch_norms(draw: Draw, element: str) -> list[Case]:
    """The four forms. One value per channel has no variance, so that its gradient is lost."""
    x = [draw(st.integers(2, 4)), *shape(draw, 1, 4, 5)]
    given = draw(st.booleans())
    return [
        norms.batchnorm_case(element, x, variance=False),
        norms.batchnorm_case(element, x, variance=True),
        norms.batchnorm_training_case(element, x),
        gradients.batchnorm_case("batchnorm", x, element, given=given),
    ]


def attentions(draw: Draw, element: str) -> list[Case]:
    heads, batch = draw(st.integers(1, 2)), draw(BATCHES)
    queries, keys, size = extents(draw, 3, 1, 8)
    q = [batch, heads * draw(st.integers(1, 3)), queries, size]
    k = [batch, heads, keys, size]
    options = attention_options(draw, q, keys)
    statistics = ("o", "stats", "sum_exp")[: draw(st.integers(1, 3))]
    return [
        attention.forward_case("sdpa", element, q=q, k=k, results=statistics, **options),
        attention.backward_case("sdpa", element, q=q, k=k, **options),
    ]


def attention_options(draw: Draw, q: Sequence[int], keys: int) -> dict[str, Any]:
    """Returns operands and attributes with their meanings: masks, bounds and sequence lengths."""
    scores = [*q[:3], keys]
    left = draw(st.none() | st.integers(1, keys))
    right = draw(st.none() | st.integers(0, 3))
    alignment = draw(st.sampled_from(["TOP_LEFT", "BOTTOM_RIGHT"]))
    in_bounds = partial(visible, left=left, right=right, bottom_right=alignment == "BOTTOM_RIGHT")
    seen = in_bounds(q[2], keys)
    options: dict[str, Any] = {"left_bound": left, "right_bound": right}
    options |= {"diagonal_alignment": alignment, "extra": {}, "oracle": {"seen": seen}}
    mask = draw(st.sampled_from(["none", "bias", "alibi", "padding"]))
    if mask == "bias":
        options["extra"]["attn_mask"] = attention.uniform(
            attention.random, broadcast(draw, scores), "f32"
        )
        options["oracle"]["bias"] = options["extra"]["attn_mask"].astype(np.float64)
    if mask == "alibi":
        options |= {"alibi_mask": True}
        options["oracle"]["bias"] = alibi(*scores[1:])
    if mask == "padding":
        lengths = [extents(draw, q[0], 1, most) for most in (q[2], keys)]
        of_q, of_kv = (np.array(values, np.int32) for values in lengths)
        options |= {"padding_mask": True, "extra": {"seq_len_q": of_q, "seq_len_kv": of_kv}}
        seen = np.zeros((q[0], 1, q[2], keys), np.bool_)
        for batch, rows, columns in zip(seen, *lengths, strict=True):
            batch[:, :rows, :columns] = in_bounds(rows, columns)
        options["oracle"]["seen"] = seen
    return options


def resamplings(draw: Draw, element: str) -> list[Case]:
    spatial = draw(st.integers(1, 3))
    window = extents(draw, spatial, 1, 3)
    x = [draw(BATCHES), draw(st.integers(1, 3)), *np.add(window, extents(draw, spatial, 0, 3))]
    windows = resample.window(
        window,
        extents(draw, spatial, 1, 3),
        [draw(st.integers(0, size - 1)) for size in window],
        [draw(st.integers(0, size - 1)) for size in window],
    )
    mode = draw(st.sampled_from(resample.MODES))
    padding = draw(st.sampled_from(["ZERO_PAD", "EDGE_VAL_PAD"]))
    arguments = ("resample", tuple(map(int, x)), windows, mode)
    return [
        resample.windows_case(*arguments, padding, element),
        resample.windows_gradient_case(*arguments, "ZERO_PAD", element),
    ]


def block_scales(draw: Draw, element: str) -> list[Case]:
    """`element` is the type of dequantised values and of values to quantise."""
    block, blocks = draw(st.sampled_from([4, 16, 32])), shape(draw, 2, 3, 3)
    axis = draw(st.integers(0, len(blocks) - 1))
    x = [extent * block if dim == axis else extent for dim, extent in enumerate(blocks)]
    low = draw(st.sampled_from(["f8E4M3FN", "f8E5M2", "i8"]))
    kind = "bf16" if low == "i8" else "f8E8M0FNU"
    return [
        block_scale.dequantize_case(
            "dequantize",
            x,
            blocks,
            [block if dim == axis else 1 for dim in range(len(x))],
            low,
            kind,
            element,
        ),
        block_scale.quantize_case(element, low, kind, shape=x, block=block, axis=axis),
    ]


def experts(draw: Draw, element: str) -> list[Case]:
    count, k, n = extents(draw, 3, 1, 8)
    rows = draw(st.integers(1, 9))
    starts = moe.offsets(*sorted(extents(draw, count, 0, rows)))
    mode = draw(st.sampled_from(["none", "gather", "scatter"]))
    options: dict[str, Any] = {"mode": mode, "weights": (count, k, n), "tokens": rows}
    if mode == "gather":
        options["tokens"] = draw(st.integers(1, 5))
        options["index"] = extents(draw, rows, 0, options["tokens"] - 1)
    if mode == "scatter":
        places = draw(st.permutations(range(2 * rows)))[:rows]
        options |= {"index": [p // 2 for p in places], "choice": [p % 2 for p in places]}
        options |= {"top_k": 2, "rows": 2 * rows}
    forward = moe.forward_case("experts", element, starts, **options)
    backward = moe.backward_case(element, starts, tokens=rows, weight=(k, n))
    return [bounded(forward, k, element), bounded(backward, rows, element)]


FAMILIES: dict[str, Callable[[Draw, str], list[Case]]] = {
    "convolution": convolutions,
    "matmul": products,
    "pointwise": pointwise_ops,
    "reduction": reductions,
    "layernorm": layer_norms,
    "rmsnorm": rms_norms,
    "batchnorm": batch_norms,
    "sdpa": attentions,
    "resample": resamplings,
    "block_scale": block_scales,
    "moe": experts,
}
"""Functions that draw the graphs of an op and its gradients, by op."""


@st.composite
def graphs(draw: Draw, family: str) -> list[Case]:
    """The ops of a family in each element type, in any layout, with unique names."""
    found: list[Case] = []
    for element in ELEMENTS:
        with seeded(draw):
            found += [rearranged(draw, case) for case in FAMILIES[family](draw, element)]
    return [replace(case, name=f"{case.name}_{index}") for index, case in enumerate(found)]
