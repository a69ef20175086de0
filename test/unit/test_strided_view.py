"""Random chains of reshapes, transposes, slices and expands of windows, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hipgraft.ir.strided_view import StridedView

Array = np.ndarray[Any, np.dtype[np.int64]]
Random = np.random.Generator


def elements(view: StridedView, memory: Array) -> Array:
    steps = [stride * memory.itemsize for stride in view.strides]
    flat = memory.ravel()[view.offset :]
    return np.lib.stride_tricks.as_strided(flat, view.shape, steps, writeable=False)


def tensor(random: Random) -> Array:
    shape = random.choice([1, 2, 3, 4, 6], random.integers(1, 5))
    return np.arange(math.prod(shape)).reshape(shape)


def factored(random: Random, count: int) -> list[int]:
    """Extents whose product is `count`."""
    shape: list[int] = []
    while count > 1:
        divisors = [each for each in range(2, count + 1) if count % each == 0]
        shape.append(int(random.choice(divisors)))
        count //= shape[-1]
    return shape or [1]


def changed(random: Random, view: StridedView, x: Array) -> tuple[StridedView | None, Array]:
    """Applies one random operation to both; no window if strides cannot express the result."""
    dim = int(random.integers(x.ndim))
    match random.choice(["permute", "slice", "select", "insert", "expand", "reshape"]):
        case "permute":
            order = random.permutation(x.ndim).tolist()
            return view.permute(order), x.transpose(order)
        case "slice":
            start, end = sorted(random.integers(0, x.shape[dim] + 1, 2).tolist())
            if start < end:
                step = int(random.integers(1, 4))
                index = (slice(None),) * dim
                return view.slice(dim, start, end, step), x[(*index, slice(start, end, step))]
        case "select" if x.ndim > 1:
            at = int(random.integers(x.shape[dim]))
            return view.select(dim, at), x.take(at, dim)
        case "insert" if x.ndim < 5:
            return view.insert(dim), np.expand_dims(x, dim)
        case "expand" if x.size < 500:
            shape = [int(random.integers(2, 4)) if one == 1 else one for one in x.shape]
            return view.expand([2, *shape]), np.broadcast_to(x, [2, *shape])
        case "reshape":
            shape = factored(random, x.size)
            return view.reshape(shape), x.reshape(shape)
        case _:
            pass
    return view, x


@pytest.mark.parametrize("seed", range(300))
def test_windows_show_what_numpy_does(seed: int) -> None:
    random = np.random.default_rng(seed)
    memory = x = tensor(random)
    view = StridedView.of_shape(memory.shape)
    for _ in range(5):
        following, x = changed(random, view, x)
        if following is None:
            return
        view = following
        np.testing.assert_array_equal(elements(view, memory), x)
        assert view.elements == x.size
        assert view.span == int(x.max()) - int(x.min()) + 1
        is_first = view.offset == 0 and x.size == memory.size
        assert view.covers(memory.shape) == (is_first and np.array_equal(x.ravel(), memory.ravel()))
        is_each = x.size == memory.size and np.unique(x).size == x.size
        assert (view.storage_order(memory.shape) is not None) == is_each


@pytest.mark.parametrize("seed", range(500))
def test_windows_on_copies_show_the_copied_storage(seed: int) -> None:
    random = np.random.default_rng(seed)
    memory = tensor(random)
    copied, x = changed(random, StridedView.of_shape(memory.shape), memory)
    assert copied is not None  # any reshape of a whole tensor is a window
    rank = int(random.integers(1, 4))
    shape, strides = (tuple(random.integers(low, 5, rank).tolist()) for low in (1, 0))
    view = StridedView(shape, strides, int(random.integers(3)))
    if view.offset + view.span > x.size:
        return
    direct = view.on_copied(copied)
    if direct is not None:
        np.testing.assert_array_equal(elements(direct, memory), elements(view, x.copy()))


@pytest.mark.parametrize("seed", range(100))
def test_windows_before_a_view(seed: int) -> None:
    """A reordering window, applied to the window computed before it, gives the requested window."""
    random = np.random.default_rng(seed)
    memory = tensor(random)
    order = random.permutation(memory.ndim).tolist()
    window = StridedView.of_shape(memory.shape).permute(order)
    wanted, shown = changed(random, StridedView.of_shape(window.shape), tensor_of(window.shape))
    if wanted is None or wanted.shape != window.shape:
        return
    before = wanted.before(window, memory.shape)
    if before is not None:
        whole = elements(before, tensor_of(window.shape))
        np.testing.assert_array_equal(whole.transpose(order), shown)


def tensor_of(shape: tuple[int, ...]) -> Array:
    return np.arange(math.prod(shape)).reshape(shape)


def test_reshapes_keep_the_storage_where_strides_can() -> None:
    """NumPy copied if the result's base is not the original array."""
    random = np.random.default_rng(0)
    kept = 0
    for _ in range(500):
        memory = tensor(random)
        order = random.permutation(memory.ndim).tolist()
        shape = factored(random, memory.size)
        found = StridedView.of_shape(memory.shape).permute(order).reshape(shape)
        shares = np.shares_memory(memory.transpose(order).reshape(shape), memory)
        assert (found is not None) == shares
        kept += shares
    assert 100 < kept < 500
