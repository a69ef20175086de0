"""Views moved past elementwise ops: against NumPy, on the CPU and on the emulator."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator import missing_reason
from programs import run_passes

import hipgraft
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.strided_view import StridedView, row_major_strides
from hipgraft.passmanager.registry import pass_class

Array = Any
SHAPES = ((6, 8), (8, 6), (2, 3, 8), (3, 8, 2), (1, 8, 2, 3), (48,))


def windowed(value: Array, view: StridedView) -> Array:
    memory = np.ascontiguousarray(value).reshape(-1)[view.offset :]
    strides = [memory.itemsize * step for step in view.strides]
    return np.lib.stride_tricks.as_strided(memory, view.shape, strides)


def reordered(draw: random.Random, shape: tuple[int, ...]) -> StridedView:
    """A view that shows each element once: reshaped, permuted and reshaped again."""
    view = StridedView.of_shape(shape).reshape(draw.choice(SHAPES))
    assert view is not None
    view = view.permute(draw.sample(range(len(view.shape)), len(view.shape)))
    return draw.choice([one for one in map(view.reshape, SHAPES) if one] or [view])


def broadcast(draw: random.Random, shape: tuple[int, ...]) -> StridedView:
    """A window of a row-major tensor with some extents 1, expanded to a shape."""
    own = tuple(draw.choice((1, extent)) for extent in shape)
    return StridedView(own, row_major_strides(own)).expand(shape)


@pytest.mark.parametrize("seed", range(40))
def test_windows_before_a_view(seed: int):
    draw = random.Random(seed)
    shape = draw.choice(SHAPES)
    view = reordered(draw, shape)
    other = broadcast(draw, view.shape)
    before = other.before(view, shape)
    memory = np.arange(other.span)
    if before is not None:
        seen = windowed(windowed(memory, before), view)
        np.testing.assert_array_equal(seen, windowed(memory, other))


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1), (2, 1, 0)])
def test_all_windows_have_strides_before_a_permutation(order: tuple[int, ...]):
    view = StridedView.of_shape((2, 3, 8)).permute(order)
    other = StridedView((1, *view.shape[1:]), row_major_strides((1, *view.shape[1:])), 5)
    before = other.expand(view.shape).before(view, (2, 3, 8))
    assert before is not None
    memory = np.arange(5 + other.span)
    seen = windowed(windowed(memory, before), view)
    np.testing.assert_array_equal(seen, windowed(memory, other.expand(view.shape)))


@pytest.mark.parametrize("seed", range(40))
def test_a_window_on_a_copy_is_one_on_what_is_copied(seed: int):
    draw = random.Random(seed)
    shape = draw.choice(SHAPES)
    copied = reordered(draw, shape)
    window = reordered(draw, copied.shape)
    seen = window.on_copied(copied)
    memory = np.arange(48)
    if seen is not None:
        expected = windowed(windowed(memory, copied), window)
        np.testing.assert_array_equal(windowed(memory, seen), expected)


@pytest.mark.slow
def test_windows_on_copies_at_any_offset_and_stride():
    """Windows that overlap, leave gaps or go on in the next row, too."""
    draw, found = random.Random(0), 0
    for _ in range(4000):
        shape = draw.choices([1, 2, 3, 4, 6, 8], k=draw.randint(1, 4))
        order = draw.sample(range(len(shape)), len(shape))
        copied = StridedView.of_shape([shape[dim] for dim in order]).permute(np.argsort(order))
        copied = replace(copied, offset=draw.choice([0, 3]))
        seen, steps = draw.choices([1, 2, 3, 4, 8], k=3), draw.choices([0, 1, 2, 4, 6, 8, 12], k=3)
        window = StridedView(tuple(seen), tuple(steps), draw.choice([0, 0, 1, 4, 8]))
        fits = window.offset + window.span <= copied.elements
        moved = window.on_copied(copied) if fits else None
        if moved is not None:
            memory = np.arange(copied.offset + copied.span)
            expected = windowed(windowed(memory, copied).ravel(), window)
            np.testing.assert_array_equal(windowed(memory, moved), expected)
            found += 1
    assert found > 100


def test_no_order_of_windows_that_repeat_or_leave_out():
    assert StridedView((6, 8), (8, 1)).storage_order((48,)) == (0, 1)
    assert StridedView((8, 6), (1, 8)).storage_order((6, 8)) == (1, 0)
    assert StridedView((6, 8), (0, 1)).storage_order((48,)) is None
    assert StridedView((6, 4), (8, 1)).storage_order((6, 8)) is None
    assert StridedView((6, 8), (8, 1), 1).storage_order((48,)) is None


def random_program(seed: int) -> tuple[str, list[Array], list[Array]]:
    """A module of products, elementwise ops, reductions and views, its inputs and its results."""
    draw, generator = random.Random(seed), np.random.default_rng(seed)
    inputs = [generator.standard_normal((8, 8)).astype(np.float32) / 3 for _ in range(2)]
    values: list[Array] = [value.astype(np.float64) for value in inputs]
    lines: list[str] = []

    def kind(value: Array) -> str:
        return f"tensor<{''.join(f'{extent}x' for extent in value.shape)}f32>"

    def add(op: str, reads: list[int], attributes: str, result: Array) -> int:
        kinds = ", ".join(kind(values[index]) for index in reads)
        names = ", ".join(f"%v{index}" for index in reads)
        text = f'"hipdnn.{op}"({names}) {{{attributes}}} : ({kinds}) -> {kind(result)}'
        lines.append(f"%v{len(values)} = {text}")
        values.append(result)
        return len(values) - 1

    last = 0
    for _ in range(3):
        product = values[last].reshape(8, 8) @ values[1]
        last = add("matmul", [last, 1], "", product) if values[last].shape == (8, 8) else last
        order = draw.choice(["1, 8", "8, 1"])
        view = StridedView((8, 8), (1, 8) if order == "1, 8" else (8, 1))
        seen = add(
            "view",
            [last],
            f"offset = 0 : i64, strides = array<i64: {order}>",
            windowed(values[last], view),
        )
        other = draw.randrange(2)
        total = add("pointwise", [seen, other], 'mode = "add"', values[seen] + values[other])
        last = add("pointwise", [total], 'mode = "tanh_fwd"', np.tanh(values[total]))
        if draw.random() < 0.5:
            strides = draw.choice(["1, 8", "8, 1"])
            view = StridedView((8, 8), (1, 8) if strides == "1, 8" else (8, 1))
            flipped = add(
                "view",
                [last],
                f"offset = 0 : i64, strides = array<i64: {strides}>",
                windowed(values[last], view),
            )
            last = add("matmul", [flipped, 1], "", values[flipped] @ values[1])
    rows = add("reduction", [last], 'mode = "ADD"', values[last].sum(1, keepdims=True))
    results = [last, rows]
    kinds = ", ".join(kind(values[index]) for index in results)
    body = "\n  ".join(lines)
    text = f"""func.func @main(%v0: tensor<8x8xf32>, %v1: tensor<8x8xf32>) -> ({kinds}) {{
  {body}
  return {", ".join(f"%v{index}" for index in results)} : {kinds}
}}
"""
    return text, inputs, [values[index] for index in results]


def moved(text: str) -> int:
    with make_context(), ir.Location.unknown():
        (state,) = run_passes(ir.Module.parse(text), "hipdnn-sink-views")
    return state.counters["moved-ops"]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("target", ["cpu", "gfx942"])
def test_moved_ops_compute_the_same(seed: int, target: str, tmp_path: Path):
    if target != "cpu" and (seed or missing_reason()):
        pytest.skip("one program is enough on the emulator")
    text, inputs, expected = random_program(seed)
    path = tmp_path / "model.mlir"
    path.write_text(text)
    device = "cpu" if target == "cpu" else f"emulator:{target}"
    with hipgraft.compile(path, target=target) as program:
        found = program.run(inputs, device=device)
    for result, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(result, exact, rtol=0, atol=2e-5 * max(1, np.abs(exact).max()))


def test_random_programs_have_ops_to_move():
    assert sum(moved(random_program(seed)[0]) for seed in range(4)) >= 8


@pytest.mark.parametrize(("count", "moved"), [(40, 40), (64, 64), (65, 0), (3000, 0)])
def test_chains_of_numbers_move_up_to_a_length(count: int, moved: int) -> None:
    """Each op reads the one before it twice, which must not double the work."""
    kind, wide, value = "tensor<4xf32>", "tensor<4x1x1xf32>", "%t"
    lines: list[str] = []
    for number in range(count):
        read, value = value, f"%v{number}"
        lines.append(
            f'{value} = "hipdnn.pointwise"({read}, {read}) {{mode = "mul"}} '
            f": ({kind}, {kind}) -> {kind}"
        )
    text = f"""func.func @f(%t: {kind}, %x: tensor<4x3x5xf32>) -> tensor<4x3x5xf32> {{
      {" ".join(lines)}
      %r = "hipdnn.view"({value}) {{offset = 0 : i64, strides = array<i64: 1, 0, 0>}}
        : ({kind}) -> {wide}
      %y = "hipdnn.pointwise"(%x, %r) {{mode = "mul"}}
        : (tensor<4x3x5xf32>, {wide}) -> tensor<4x3x5xf32>
      return %y : tensor<4x3x5xf32>
    }}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        run_passes(module, pass_class("hipdnn-sink-views")())
        assert str(module).count(f"({wide}, {wide}) -> {wide}") == moved
