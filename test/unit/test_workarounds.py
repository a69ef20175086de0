"""Each compiler fault with a workaround still occurs without the workaround, and not with it.

If the compiler no longer has a fault, the test says which workaround to remove.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulator import missing_reason, requires_emulator, run_kernel
from lowering_cases import Case, lower_case, run_case, splat, tensor_type
from random_graphs import placed
from test_blocks import group_norm_case
from test_lowering_attention import backward_case
from test_lowering_block_scale import cast_case, rounding_case
from test_lowering_contractions import (
    conv_case,
    gradient_cases,
    last_strides,
    matmul_case,
)
from test_lowering_gradients import CASES as GRADIENTS
from test_lowering_ragged import CASES as RAGGED

from hipgraft.codegen import translation
from hipgraft.codegen.iree.session import IreeSession
from hipgraft.codegen.layout import Layout
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, without, workarounds
from hipgraft.dialects import hipdnn
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.strided_view import row_major_strides
from hipgraft.service.job import Job
from hipgraft.service.processes import ProcessWorkers

ELSEWHERE = {
    "inexact-functions": "test_inexact_functions.py",
    "inexact-powers": "test_inexact_powers.py",
    "extract-of-slice": "test_extract_of_slice.py",
    "integer-division": "test_integer_division.py",
    "buffer-pointers": "test_workarounds.py",
    "inexact-remainders": "test_special_values.py",
    "integer-powers": "test_special_values.py",
    "log-sigmoid": "test_special_values.py",
    "unmasked-gathers": "test_cuda_tiles.py",
    "lost-nans": "test_special_values.py",
    "mixed-comparisons": "test_mixed_comparisons.py",
    "nan-order": "test_nan_order.py",
    "lone-padding": "test_workarounds.py",
    "narrow-floats": "test_cpu_code.py",
    "narrow-sums": "test_narrow_sums.py",
    "scatter-dim": "test_onnx_scatter.py",
    "serial-scatter": "test_scatters.py",
    "shared-fills": "test_shared_fills.py",
    "shared-positions": "test_sorts.py",
    "sorted-slice": "test_sorted_slice.py",
}
"""Faults with tests of their own."""

UNTESTED = {
    "dynamic-padding": "reads memory that is not initialized, which may be zero",
    "cuda-partial-depth": "needs a CUDA GPU",
    "cuda-swapped-factors": "needs a CUDA GPU",
}
"""Faults that no test shows, and why."""

random = np.random.default_rng(15)


def named(cases: list[Case], name: str) -> Case:
    return next(case for case in cases if case.name == name)


def third_order() -> Case:
    """Filters stored as [K, H, C, W]."""
    case = conv_case("third_order", (1, 8, 9, 9), (16, 8, 3, 3))
    x, w = case.inputs
    strides = [(8 * 81, 81, 9, 1), (72, 3, 24, 1)]
    stored = np.ascontiguousarray(w.transpose(0, 2, 1, 3))
    shapes = [x.shape, w.shape]
    return replace(case, inputs=[x, stored], shapes=shapes, layouts={"arg_strides": strides})


def with_gaps() -> Case:
    """Activations and filters that are parts of larger buffers."""
    case = conv_case("gaps", (1, 3, 7, 6), (16, 3, 1, 3), "f16", stride=[2, 2])
    x, w = case.inputs
    places = (
        Layout(x.shape, (72, 72, 8, 1), 1, ""),
        Layout(w.shape, (1, 72, 18, 18), 2, ""),
    )
    return replace(
        case,
        inputs=[placed(*pair) for pair in zip(case.inputs, places, strict=True)],
        shapes=[x.shape, w.shape],
        layouts={
            "arg_strides": [place.strides for place in places],
            "arg_offsets": [place.offset for place in places],
        },
    )


def width_outermost() -> Case:
    """An image stored as [N, W, C, H]."""
    case = conv_case("image", (1, 4, 9, 6), (16, 4, 3, 3), "f16")
    x, w = case.inputs
    stored = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    strides = [(216, 9, 1, 36), (36, 9, 3, 1)]
    return replace(
        case, inputs=[stored, w], shapes=[x.shape, w.shape], layouts={"arg_strides": strides}
    )


def stored_last(which: str, x: Sequence[int], w: Sequence[int], pad: Sequence[int]) -> Case:
    """A convolution whose image or result is stored channels last."""
    case = conv_case(which, x, w, pre=pad)
    (image, filters), (y,) = case.inputs, case.expected
    if which == "image":
        layouts = {"arg_strides": [last_strides(x), None]}
        return replace(
            case, inputs=[np.moveaxis(image, 1, -1).copy(), filters], shapes=[x, w], layouts=layouts
        )
    layouts = {"result_strides": [last_strides(y.shape)]}
    expected = [np.moveaxis(y, 1, -1).copy()]
    return replace(case, expected=expected, layouts=layouts, logical_results=[y.shape])


def counted_booleans() -> Case:
    """Rows of booleans, and how many of each are true."""
    x = random.uniform(size=(4, 16)) < 0.5

    def build(gx: Any) -> Any:
        numbers = hipdnn.pointwise(gx, mode="identity", result_type=tensor_type(x.shape, "i32"))
        return hipdnn.reduction(numbers, mode="ADD", result_type=tensor_type((4, 1), "i32"))

    return Case("counts", [x], build, [x.sum(1, keepdims=True).astype(np.int32)], ["i32"], 0, 0)


def product_by(factor: float) -> Case:
    x = random.uniform(-1, 1, (64, 64)).astype(np.float32)

    def build(gx: Any) -> Any:
        return hipdnn.matmul(gx, splat(factor, (64, 64)), result_type=gx.type)

    expected = np.full_like(x, factor) * x.sum(1, keepdims=True)
    return Case("product", [x], build, [expected], ["f32"], 1e-5, 1e-5)


def weight_gradient(
    x: Sequence[int], w: Sequence[int], element: str = "f32", stride: Sequence[int] = (1, 1)
) -> Case:
    _, case = gradient_cases("w", x, w, element, pre=[0, 0], stride=stride, dilation=[1, 1])
    return case


def long_gradient() -> Case:
    """Sums of 21,632 products in f32."""
    return replace(weight_gradient((32, 16, 28, 28), (16, 16, 3, 3)), atol=1e-3)


def result_by_columns() -> Case:
    """A convolution's result stored as [N, K, W, H]."""
    case = conv_case("columns", (1, 16, 8, 8), (16, 16, 3, 3), pre=[1, 1])
    (expected,) = case.expected
    return replace(
        case,
        expected=[np.transpose(expected, (0, 1, 3, 2))],
        layouts={"result_strides": [[1024, 64, 1, 8]]},
        logical_results=[expected.shape],
    )


def gradient_of_columns() -> Case:
    """The filters' gradient of an image stored with its dims reversed."""
    window = {"pre": [0, 1, 0], "stride": [1, 1, 2], "dilation": [2, 2, 2]}
    _, case = gradient_cases("columns", (2, 4, 5, 4, 5), (6, 2, 2, 1, 2), **window)
    x, dy = case.inputs
    return replace(
        case,
        inputs=[np.ascontiguousarray(x.transpose()), dy],
        shapes=[x.shape, dy.shape],
        layouts={"arg_strides": [[1, 2, 8, 40, 160], row_major_strides(dy.shape)]},
    )


def channels_of_several_filters() -> Case:
    """A convolution of groups of one channel whose result is stored channels last."""
    window = {"pre": [1, 1], "stride": [1, 2], "dilation": [2, 1]}
    case = conv_case("several", (1, 4, 9, 6), (8, 1, 3, 1), **window)
    (expected,) = case.expected
    _, filters, height, width = expected.shape
    return replace(
        case,
        expected=[np.transpose(expected, (0, 2, 3, 1))],
        layouts={"result_strides": [[filters * height * width, 1, width * filters, filters]]},
        logical_results=[expected.shape],
    )


def gradient_of_slices() -> Case:
    """The gradients of attention whose queries are a slice: there are gaps between its heads."""
    case = backward_case("slices", "bf16", q=(1, 2, 5, 6), k=(1, 1, 5, 6))
    q, *others = case.inputs
    layout = Layout(q.shape, (72, 36, 6, 1), 0, "")
    strides = [list(layout.strides), *(row_major_strides(value.shape) for value in others)]
    return replace(
        case,
        inputs=[placed(q, layout), *others],
        shapes=[value.shape for value in case.inputs],
        layouts={"arg_strides": strides},
    )


def broadcast_positions() -> Case:
    """A sum over images and positions, all of which are the same element of memory."""
    x = random.uniform(-1, 1, (2, 40)).astype(np.float32)

    def build(argument):
        kind = tensor_type([1, 40, 1, 1], "f32")
        return hipdnn.reduction(argument, mode="ADD", result_type=kind)

    layouts = {"arg_strides": [(40, 1, 0, 0)]}
    expected = [400 * x.astype(np.float64).sum(0).reshape(1, 40, 1, 1)]
    shapes = [(2, 40, 20, 20)]
    return Case("broadcast", [x], build, expected, ["f32"], 1e-4, 1e-3, shapes, layouts)


def integers_of_floats() -> Case:
    x = np.array([0.25, 1, 2, 4, 8, 64] * 4, ml_dtypes.float8_e8m0fnu)
    return cast_case("integers", x, "i64")


def largest_of_negative() -> Case:
    """Rows whose length is not a multiple of a wavefront's, so that their last tile is masked."""
    x = -random.integers(1, 1000, (4, 1000)).astype(np.int32)

    def build(argument):
        return hipdnn.reduction(argument, mode="MAX", result_type=tensor_type([4, 1], "i32"))

    expected = [x.max(1, keepdims=True).astype(np.float64)]
    return Case("largest", [x], build, expected, ["i32"], 0, 0)


def stored_product() -> Case:
    """A product of fewer rows than a tile has, and two results that are computed from it."""
    a, b, c = (
        random.uniform(-1, 1, shape).astype(np.float32) for shape in ((12, 8), (8, 24), (1, 24))
    )

    def build(a, b, c):
        form = tensor_type([12, 24], "f32")
        product = hipdnn.matmul(a, b, result_type=form)
        others = [
            hipdnn.pointwise(product, c, mode=mode, result_type=form) for mode in ("mul", "add")
        ]
        return [product, *others]

    exact = a.astype(np.float64) @ b
    return Case("stored", [a, b, c], build, [exact, exact * c, exact + c], ["f32"] * 3, 1e-5, 1e-5)


def separate_matrices(
    element: str = "f16", rows: int = 50, columns: int = 49, *, is_left: bool = False
) -> Case:
    """Three products; one factor of the second is NaN."""
    transposed = "a" if is_left else ""
    shapes = (3, rows, 30), (3, 30, columns)
    case = matmul_case("separate", *shapes, element, transposed=transposed)
    case.inputs[not is_left][1] = np.nan
    case.expected[0][1] = np.nan
    return case


def separate_images(w: Sequence[int], element: str = "f16", stride: int = 1) -> Case:
    """A convolution of three images; the second is NaN."""
    case = conv_case("separate", (3, 30, 13, 13), w, element, stride=[stride, stride])
    case.inputs[0][1] = np.nan
    case.expected[0][1] = np.nan
    return case


def transposed_sum() -> Case:
    """A sum and its positive part, of which the rows across memory are then averaged."""
    a, b = (random.uniform(-1, 1, (64, 256)).astype(np.float32) for _ in range(2))

    def build(a, b):
        form = tensor_type([64, 256], "f32")
        total = hipdnn.pointwise(a, b, mode="add", result_type=form)
        kept = hipdnn.pointwise(total, mode="relu_fwd", result_type=form)
        mean = hipdnn.reduction(kept, mode="AVG", result_type=tensor_type([1, 256], "f32"))
        return [total, hipdnn.pointwise(kept, mean, mode="sub", result_type=form)]

    kept = np.maximum(a.astype(np.float64) + b, 0)
    expected = [a + b, kept - kept.mean(0, keepdims=True)]
    return Case("transposed", [a, b], build, expected, ["f32"] * 2, 1e-5, 1e-5)


def tanh_of_padded_product() -> Case:
    """A product smaller than the tiles of matrix instructions, and an operand added to it."""
    a, b, c = (
        random.uniform(-1, 1, shape).astype(np.float16) for shape in ((2, 4), (4, 4), (2, 4))
    )

    def build(a, b, c):
        product = hipdnn.matmul(a, b, result_type=tensor_type([2, 4], "f32"))
        total = hipdnn.pointwise(product, c, mode="add", result_type=tensor_type([2, 4], "f32"))
        return hipdnn.pointwise(total, mode="tanh_fwd", result_type=tensor_type([2, 4], "f16"))

    exact = np.tanh(a.astype(np.float64) @ b.astype(np.float64) + c)
    return Case("tanh", [a, b, c], build, [exact], ["f16"], 1e-3, 1e-3)


def tanh_of_largest() -> Case:
    """The `tanh` of the largest of four elements, and their distances from it in some unit."""
    x = random.uniform(0.1, 2, (1, 4)).astype(np.float16)

    def build(x):
        unit, row = tensor_type([1, 1], "f32"), tensor_type([1, 4], "f32")
        largest = hipdnn.reduction(x, mode="MAX", result_type=unit)
        half = hipdnn.pointwise(largest, mode="tanh_fwd", result_type=tensor_type([1, 1], "f16"))
        distance = hipdnn.pointwise(x, half, mode="sub", result_type=row)
        largest = hipdnn.reduction(distance, mode="MAX", result_type=unit)
        result = tensor_type([1, 4], "f16")
        return [hipdnn.pointwise(distance, largest, mode="mul", result_type=result), half]

    half = np.tanh(x.astype(np.float64).max())
    distance = x - half
    expected = [distance * distance.max(), half.reshape(1, 1)]
    return Case("largest", [x], build, expected, ["f16"] * 2, 1e-2, 1e-2)


# What shows each fault: a target and a graph.
FAULTS: dict[str, tuple[str, Callable[[], Case]]] = {
    "batched-rows": ("gfx942", lambda: matmul_case("rows", (20, 20, 6, 24), (20, 20, 24, 5))),
    "broadcast-reduction": ("gfx942", broadcast_positions),
    "broadcast-scale": ("cpu", lambda: named(GRADIENTS, "ln_beyond_scale_gradient_f32")),
    "filter-order": ("gfx942", third_order),
    "grouped-filters": (
        "gfx942",
        lambda: conv_case("groups", (2, 8, 9, 10), (12, 4, 3, 3), pre=[1, 1]),
    ),
    "grouped-unit-window": ("gfx942", lambda: conv_case("grouped", (1, 16, 3), (8, 4, 1))),
    "idle-lanes": ("gfx942", lambda: group_norm_case(3, 64, 5, "f32")),
    "image-order": ("gfx942", result_by_columns),
    "one-lane": ("gfx1100", tanh_of_largest),
    "interleaved-products": (
        "gfx950",
        lambda: gradient_cases(
            "apart",
            (1, 64, 32, 32),
            (64, 64, 2, 2),
            "f16",
            pre=[0, 0],
            stride=[2, 2],
            dilation=[1, 1],
        )[0],
    ),
    "one-channel-dilation": (
        "gfx1100",
        lambda: weight_gradient((1, 4, 17, 17), (6, 4, 3, 3), "f16", (2, 2)),
    ),
    "few-rows": ("gfx950", lambda: matmul_case("few", (4, 128), (128, 64), "f16")),
    "grouped-transposes": (
        "gfx942",
        lambda: stored_last("result", (1, 8, 5, 6), (32, 2, 3, 3), [1, 1]),
    ),
    "operand-gaps": ("gfx1100", with_gaps),
    "signed-extremes": ("gfx942", largest_of_negative),
    "partial-widening": (
        "gfx1100",
        lambda: matmul_case(
            "widened", (3, 16, 40), (3, 40, 16), "f8E4M3FN", result="f32", transposed="a"
        ),
    ),
    "single-window": ("cpu", lambda: conv_case("one", (1, 4, 7, 7), (6, 4, 3, 3), stride=[5, 5])),
    "counted-booleans": ("gfx942", counted_booleans),
    "single-position": ("gfx942", lambda: stored_last("image", (1, 8, 5, 3), (8, 4, 3, 3), [0, 0])),
    "stored-products": ("gfx942", stored_product),
    "small-float-rounding": ("cpu", lambda: rounding_case("f4E2M1FN")),
    "small-float-to-integer": ("cpu", integers_of_floats),
    "transposed-results": ("gfx1100", transposed_sum),
    "undefined-lanes": ("gfx1100", tanh_of_padded_product),
    "unmasked-rows": (
        "gfx1100",
        lambda: matmul_case("depth", (3, 6, 9), (3, 9, 6), "f16", transposed="a"),
    ),
    "weight-gradient": ("gfx942", long_gradient),
    "zero-factors": ("gfx1100", lambda: product_by(0)),
}
WORKAROUNDS = {each.name: each for each in workarounds()}

# Compiles one case with its workaround off: the compiler may crash.
COMPILER = "import test_workarounds; test_workarounds.compile_without({name!r})"


def compile_without(name: str) -> None:
    target, make = FAULTS[name]
    with without(WORKAROUNDS[name]):
        _compile(replace(make(), target=target))


# A compilation takes at most this many seconds unless the compiler hangs; crashes come much sooner.
LONGEST = 20
LONGEST_CRASH = 200


def _compile(case: Case) -> None:
    compile_text(lower_case(case), Target.parse(case.target))


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some faults show only in the IR between two passes, as users of the compiler meet them."""
    monkeypatch.setattr(IreeSession, "unattended", False)


@pytest.fixture(autouse=True)
def tiled_by_iree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some faults show only with IREE's own tiles, which a user's tuning spec keeps."""
    monkeypatch.setattr(translation, "correct_tiles", lambda *_: False)


@pytest.fixture(params=FAULTS)
def name(request: pytest.FixtureRequest) -> str:
    target, _ = FAULTS[request.param]
    is_run = WORKAROUNDS[request.param].effect is Effect.WRONG
    if target != "cpu" and is_run and missing_reason() is not None:
        pytest.skip(str(missing_reason()))
    return request.param


@pytest.mark.slow
@pytest.mark.sampled(24)
def test_the_compiler_has_the_fault(name: str) -> None:
    target, make = FAULTS[name]
    effect = WORKAROUNDS[name].effect
    message = f"the compiler does not have this fault any more: remove the workaround {name}"
    if effect in (Effect.CRASH, Effect.HANGS):
        command = [sys.executable, "-c", COMPILER.format(name=name)]
        folder = Path(__file__).parent
        longest = LONGEST if effect is Effect.HANGS else LONGEST_CRASH
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=longest)
        except subprocess.TimeoutExpired:
            assert effect is Effect.HANGS
        else:
            assert effect is Effect.CRASH, message
            assert done.returncode < 0, message
        return
    case = replace(make(), target=target)
    with without(WORKAROUNDS[name]):
        if effect is Effect.FAILS:
            assert not _compiles(case), message
        else:
            result = run_case(case)
            assert not _agrees(case, result), message


def _compiles(case: Case) -> bool:
    try:
        _compile(case)
    except HipgraftError:
        return False
    return True


def _agrees(case: Case, result: Sequence[Any]) -> bool:
    try:
        case.check(result)
    except AssertionError:
        return False
    return True


@pytest.mark.slow
def test_the_workaround_avoids_it(name: str) -> None:
    target, make = FAULTS[name]
    case = replace(make(), target=target)
    if target == "cpu" or missing_reason() is None:
        case.check(run_case(case))
    else:
        _compile(case)


@requires_emulator
@pytest.mark.parametrize(("rows", "depth"), [(4, 128), (3, 384)])
def test_depth_of_sparse_instructions(rows: int, depth: int) -> None:
    """Transposed left matrices of few rows are read beyond multiples of 128, too."""
    case = matmul_case("few", (3, rows, depth), (3, depth, 6), "f16", transposed="a")
    case = replace(case, target="gfx942")
    with without(WORKAROUNDS["unmasked-rows"]):
        assert not _agrees(case, run_case(case)), "remove the steps of 256 elements of K"
    case.check(run_case(case))


UNMASKED = {
    "right-gfx942": ("gfx942", separate_matrices),
    "right-f32": ("gfx942", lambda: separate_matrices("f32")),
    "right-few": ("gfx950", lambda: separate_matrices("f16", 2, 5)),
    "right-f16": ("gfx1100", separate_matrices),
    "right-bf16": ("gfx1201", lambda: separate_matrices("bf16")),
    "left-f32": ("gfx942", lambda: separate_matrices("f32", 49, 64, is_left=True)),
    "left-f16": ("gfx1100", lambda: separate_matrices("f16", 49, 64, is_left=True)),
    "channels": ("gfx942", lambda: separate_images((20, 30, 1, 1))),
    "channels-strided": ("gfx1100", lambda: separate_images((20, 30, 1, 1), stride=2)),
    "channels-grouped": ("gfx942", lambda: separate_images((60, 5, 1, 1), "f32")),
}


@pytest.mark.sampled(6)
@requires_emulator
@pytest.mark.parametrize("name", UNMASKED)
def test_matrices_of_a_batch_stay_separate(name: str) -> None:
    target, make = UNMASKED[name]
    case = replace(make(), target=target)
    with without(WORKAROUNDS["unmasked-rows"]):
        assert not _agrees(case, run_case(case)), f"the compiler masks {name}: exempt this form"
    case.check(run_case(case))


VECTORS = {
    "column-f16": ("gfx942", lambda: separate_matrices("f16", 40, 1, is_left=True)),
    "column-f32": ("gfx942", lambda: separate_matrices("f32", 49, 1, is_left=True)),
    "row-bf16": ("gfx1100", lambda: separate_matrices("bf16", 1, 49)),
}


@pytest.mark.sampled(1)
@requires_emulator
@pytest.mark.parametrize("name", VECTORS)
def test_products_with_vectors_need_no_padding(name: str) -> None:
    target, make = VECTORS[name]
    case = replace(make(), target=target)
    assert "tensor.pad" not in lower_case(case)
    case.check(run_case(case))


FEW_ROWS = {
    "products": lambda: matmul_case("few", (3, 4, 128), (3, 128, 20), "f16"),
    "positions": lambda: conv_case("few", (1, 128, 2, 3), (20, 128, 1, 1), "f16"),
    "images": lambda: conv_case("few", (4, 128, 2, 2), (20, 128, 1, 1), "f16", stride=[2, 2]),
    "channels": lambda: weight_gradient((1, 4, 8, 16), (20, 4, 1, 1), "f16", (1, 1)),
    "groups": lambda: weight_gradient((1, 8, 8, 16), (20, 4, 1, 1), "f16", (1, 1)),
}


@pytest.mark.sampled(4)
@requires_emulator
@pytest.mark.parametrize("target", ["gfx950", "gfx90a"])
@pytest.mark.parametrize("make", FEW_ROWS.values(), ids=FEW_ROWS)
def test_few_rows_are_padded_and_cropped(make: Callable[[], Case], target: str) -> None:
    case = replace(make(), target=target)
    case.check(run_case(case))


@pytest.mark.thorough
@pytest.mark.slow
def test_crash_on_buffer_pointers() -> None:
    """A worker that crashes is started again with other flags."""
    case = replace(named(RAGGED, "partly_packed_f32"), target="gfx942")
    flags = Target.parse("gfx942").default_flags
    job = Job("attention", "gfx942", flags, lower_case(case))
    with closing(ProcessWorkers(1)) as workers:
        with without(WORKAROUNDS["buffer-pointers"]):
            ((_, failed),) = workers.run([job], lambda *_: None)
        ((_, compiled),) = workers.run([job], lambda *_: None)
    assert "SIGSEGV" in str(failed.error), "remove the workaround buffer-pointers"
    assert compiled.kernel is not None


@pytest.mark.slow
@requires_emulator
@pytest.mark.parametrize("batch", [(2,), (2, 2)])
def test_products_of_three_rows_stored_by_columns(batch: tuple[int, ...]) -> None:
    """The compiler crashes and is started again, or the product is materialized."""
    case = three_rows(batch)
    rows = matmul_case("rows", (*batch, 3, 8), (*batch, 8, 5))
    assert "compute_barrier" in lower_case(case)
    assert "compute_barrier" not in lower_case(replace(rows, target="gfx942"))
    flags = Target.parse("gfx942").default_flags
    with closing(ProcessWorkers(1)) as workers, without(WORKAROUNDS["batched-rows"]):
        job = Job("three", "gfx942", flags, lower_case(case))
        with without(WORKAROUNDS["buffer-pointers"]):
            ((_, failed),) = workers.run([job], lambda *_: None)
        ((_, compiled),) = workers.run([job], lambda *_: None)
    assert "SIGSEGV" in str(failed.error), "remove `crashes_transposed`"
    assert compiled.kernel is not None
    # The emulator checks the bounds of loads.
    case.check(run_case(case, compiled.kernel))
    case.check(run_case(case))


def three_rows(batch: tuple[int, ...]) -> Case:
    case = matmul_case("three", (*batch, 3, 8), (*batch, 8, 5))
    shape = case.expected[0].shape
    outer = [math.prod(shape[dim + 1 :]) for dim in range(len(batch))]
    return replace(
        case,
        target="gfx942",
        layouts=case.layouts | {"result_strides": [(*outer, 1, 3)]},
        expected=[np.swapaxes(case.expected[0], -1, -2)],
        logical_results=[shape],
    )


@requires_emulator
@pytest.mark.parametrize(
    "make", [gradient_of_columns, channels_of_several_filters, gradient_of_slices]
)
def test_orders_and_gaps(make: Callable[[], Case]) -> None:
    case = replace(make(), target="gfx942")
    case.check(run_case(case))


BOOLEAN_FACTORS = """
#row = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<16x8xi1>, %arg1: tensor<8xi32>) -> tensor<16xi32> {
    %zero = arith.constant 0 : i32
    %empty = tensor.empty() : tensor<16xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<16xi32>) -> tensor<16xi32>
    %sums = linalg.generic {
        indexing_maps = [#row, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%arg0, %arg1 : tensor<16x8xi1>, tensor<8xi32>) outs(%init : tensor<16xi32>) {
    ^bb0(%bit: i1, %weight: i32, %sum: i32):
      %number = arith.extui %bit : i1 to i32
      %product = arith.muli %number, %weight : i32
      %more = arith.addi %sum, %product : i32
      linalg.yield %more : i32
    } -> tensor<16xi32>
    return %sums : tensor<16xi32>
  }
}
"""


@requires_emulator
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_boolean_factors(target: str) -> None:
    """Without `select_factors`, LLVM does not finish; see the workaround `counted-booleans`."""
    bits, weights = random.uniform(size=(16, 8)) < 0.5, 1 << np.arange(8, dtype=np.int32)
    kernel = compile_text(BOOLEAN_FACTORS, Target.parse(target))
    (sums,) = run_kernel(kernel, [bits, weights], [((16,), np.int32)])
    np.testing.assert_array_equal(sums, bits @ weights)


@requires_emulator
def test_image_of_columns_compiles() -> None:
    case = replace(width_outermost(), target="gfx942")
    with without(WORKAROUNDS["image-order"]):
        assert not _compiles(case), "remove the condition on images from image-order"
    case.check(run_case(case))


DYNAMIC_DEPTH = """
#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module {
  func.func @main(%a: tensor<3x6x?xf16>, %b: tensor<3x?x16xi8>) -> tensor<3x6x16xf32> {
    %one = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %depth = tensor.dim %b, %one : tensor<3x?x16xi8>
    %empty = tensor.empty(%depth) : tensor<3x?x16xf16>
    %wide = linalg.generic {
        indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%b : tensor<3x?x16xi8>) outs(%empty : tensor<3x?x16xf16>) {
    ^bb0(%in: i8, %out: f16):
      %float = arith.sitofp %in : i8 to f16
      linalg.yield %float : f16
    } -> tensor<3x?x16xf16>
    %unset = tensor.empty() : tensor<3x6x16xf32>
    %init = linalg.fill ins(%zero : f32) outs(%unset : tensor<3x6x16xf32>) -> tensor<3x6x16xf32>
    %product = linalg.batch_matmul
        ins(%a, %wide : tensor<3x6x?xf16>, tensor<3x?x16xf16>)
        outs(%init : tensor<3x6x16xf32>) -> tensor<3x6x16xf32>
    return %product : tensor<3x6x16xf32>
  }
}
"""


@pytest.mark.slow
def test_widening_with_dynamic_depth() -> None:
    """An unknown K may be partial."""
    target = Target.parse("gfx942")
    assert len(compile_text(DYNAMIC_DEPTH, target).steps) == 2
    with without(WORKAROUNDS["partial-widening"]):
        assert len(compile_text(DYNAMIC_DEPTH, target).steps) == 1


# No op is known whose lowering leaves padding alone, but torch ops may.
LONE_PADDING = """module {
  func.func @main(%x: tensor<3x5xf32>) -> tensor<5x8xf32> {
    %one = arith.constant 1.0 : f32
    %padded = tensor.pad %x low[1, 1] high[1, 2] {
    ^bb0(%row: index, %column: index):
      tensor.yield %one : f32
    } : tensor<3x5xf32> to tensor<5x8xf32>
    return %padded : tensor<5x8xf32>
  }
}
"""


@requires_emulator
def test_padding_alone() -> None:
    x = random.uniform(-1, 1, (3, 5)).astype(np.float32)
    expected = np.pad(x, [(1, 1), (1, 2)], constant_values=1)
    target = Target.parse("gfx942")
    with without(WORKAROUNDS["lone-padding"]):
        (wrong,) = run_kernel(compile_text(LONE_PADDING, target), [x], [((5, 8), np.float32)])
    (right,) = run_kernel(compile_text(LONE_PADDING, target), [x], [((5, 8), np.float32)])
    np.testing.assert_array_equal(right, expected)
    assert not np.array_equal(wrong, expected), "the compiler pads: remove the workaround"


@requires_emulator
@pytest.mark.parametrize(
    "make",
    [
        lambda: conv_case("one", (1, 4, 7, 7), (6, 4, 3, 3), "f16", stride=[5, 5]),
        lambda: weight_gradient((1, 4, 7, 7), (6, 4, 3, 3), stride=(5, 5)),
    ],
    ids=["fprop", "wgrad"],
)
def test_rows_that_a_single_window_does_not_read_are_cropped_on_gpus(
    make: Callable[[], Case],
) -> None:
    case = replace(make(), target="gfx1100")
    case.check(run_case(case))
    with without(WORKAROUNDS["single-window"]):
        assert not _compiles(case)


def test_every_workaround_has_a_test() -> None:
    assert {*FAULTS, *ELSEWHERE, *UNTESTED} == {*WORKAROUNDS}
    for file in ELSEWHERE.values():
        assert "without(" in (Path(__file__).parent / file).read_text()


@pytest.mark.parametrize(("factor", "is_stored"), [(0, True), (2, False)])
def test_only_zeros_are_stored(factor: float, *, is_stored: bool) -> None:
    text = lower_case(replace(product_by(factor), target="gfx942"))
    assert ("optimization_barrier" in text) == is_stored
