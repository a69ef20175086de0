"""Computes the effect of reshapes, transposes, slices and expands on a tensor's window.

A `StridedView` is a window on a base tensor's row-major storage, in elements. Each method
returns the window after one metadata-only operation. `reshape` returns None if strides cannot
express the result; such a reshape needs a copy (a kernel).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides, in elements, of a dense row-major tensor of `shape`."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


@dataclass(frozen=True)
class StridedView:
    """A window: `shape` extents, `strides` and `offset` in elements; stride 0 is a broadcast."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @staticmethod
    def of_shape(shape: Sequence[int]) -> StridedView:
        """Returns the window on all of a row-major tensor."""
        return StridedView(tuple(shape), row_major_strides(shape))

    @property
    def elements(self) -> int:
        """The number of elements that the window shows."""
        return math.prod(self.shape)

    @property
    def span(self) -> int:
        """The number of elements from the first to the last one in the window, both included."""
        steps = zip(self.shape, self.strides, strict=True)
        return 1 + sum((extent - 1) * stride for extent, stride in steps)

    @property
    def is_dense(self) -> bool:
        """Whether the window shows every element from its first to its last, each once."""
        return self.span == self.elements

    @property
    def is_row_major(self) -> bool:
        """Whether the window is contiguous in row-major order; unit extents are irrelevant."""
        dense = row_major_strides(self.shape)
        return all(
            extent == 1 or stride == want
            for extent, stride, want in zip(self.shape, self.strides, dense, strict=True)
        )

    def covers(self, shape: Sequence[int]) -> bool:
        """Whether this is a plain reshape of all of a row-major tensor of `shape`."""
        return self.offset == 0 and self.is_row_major and self.elements == math.prod(shape)

    def permute(self, dims: Sequence[int]) -> StridedView:
        """Reorders dimensions: result dimension i is dimension `dims[i]`."""
        return StridedView(
            tuple(self.shape[d] for d in dims), tuple(self.strides[d] for d in dims), self.offset
        )

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> StridedView:
        """Selects `start:end:step` of `dim`; the bounds are already clamped, `step` is positive."""
        extent = max(0, -(-(end - start) // step))
        shape, strides = list(self.shape), list(self.strides)
        shape[dim], strides[dim] = extent, self.strides[dim] * step
        return StridedView(tuple(shape), tuple(strides), self.offset + start * self.strides[dim])

    def select(self, dim: int, index: int) -> StridedView:
        """Selects one index of `dim` and drops the dimension."""
        return self.slice(dim, index, index + 1).drop(dim)

    def drop(self, dim: int) -> StridedView:
        """Removes a unit dimension."""
        return StridedView(
            self.shape[:dim] + self.shape[dim + 1 :],
            self.strides[:dim] + self.strides[dim + 1 :],
            self.offset,
        )

    def insert(self, dim: int) -> StridedView:
        """Inserts a unit dimension before `dim`."""
        return StridedView(
            (*self.shape[:dim], 1, *self.shape[dim:]),
            (*self.strides[:dim], 0, *self.strides[dim:]),
            self.offset,
        )

    def expand(self, shape: Sequence[int]) -> StridedView:
        """Broadcasts to `shape`, right-aligned: unit dimensions get stride 0."""
        lead = len(shape) - len(self.shape)
        own = (1,) * lead + self.shape
        strides = (0,) * lead + self.strides
        return StridedView(
            tuple(shape),
            tuple(
                0 if have == 1 and want != 1 else stride
                for have, want, stride in zip(own, shape, strides, strict=True)
            ),
            self.offset,
        )

    def through_copy(self, copied: StridedView) -> list[list[tuple[int, int]]] | None:
        """Translates a window on a row-major copy of `copied` to the copied storage.

        Returns the runs (extent, stride in the copied storage) that each dimension walks, outermost
        first. Returns None if a dimension walks a part of a run or starts at an offset.
        """
        return None if self.offset else self._runs(copied)

    def on_copied(self, copied: StridedView) -> StridedView | None:
        """Converts this window on a row-major copy of `copied` to a window on the copied storage.

        It returns None if strides cannot express that.
        """
        runs = self._runs(copied)
        joined = None if runs is None else [joined_run(run) for run in runs]
        if joined is None or None in joined:
            return None
        strides = tuple(run[1] for run in joined if run is not None)
        start = _indices(self.offset, copied.shape)
        offset = sum(index * step for index, step in zip(start, copied.strides, strict=True))
        return StridedView(self.shape, strides, copied.offset + offset)

    def _runs(self, copied: StridedView) -> list[list[tuple[int, int]]] | None:
        """Returns the runs of each dimension from the window's offset on; see `through_copy`."""
        if self.offset >= copied.elements:
            return None
        last = _indices(self.offset, copied.shape)
        runs: list[list[tuple[int, int]]] = []
        for extent, stride in zip(self.shape, self.strides, strict=True):
            walked = _copied_runs(extent, stride, copied)
            if walked is None:
                return None
            for dim, count, hop in walked:
                last[dim] += (count - 1) * hop
            own = [(count, hop * copied.strides[dim]) for dim, count, hop in walked]
            runs.append(own or [(extent, 0)])
        # Beyond the end of a dimension, the window would continue in the next row.
        fits = all(index < size for index, size in zip(last, copied.shape, strict=True))
        return runs if fits else None

    def storage_order(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        """Returns the dimensions of extent 2 and more, the outermost in storage first.

        It returns None unless the window shows each element of a row-major tensor of `shape` once.
        """
        moving = (dim for dim, extent in enumerate(self.shape) if extent > 1)
        order = tuple(sorted(moving, key=lambda dim: -self.strides[dim]))
        dense = row_major_strides([self.shape[dim] for dim in order])
        is_all = self.offset == 0 and self.elements == math.prod(shape)
        return order if is_all and dense == tuple(self.strides[dim] for dim in order) else None

    def before(self, window: StridedView, shape: Sequence[int]) -> StridedView | None:
        """Returns the window on `shape` from which `window` produces this one.

        Args:
            window: window of this one's shape that shows each element of a row-major `shape` tensor
                once.
            shape: shape of that tensor.

        Returns:
            The window; None if strides cannot express it.
        """
        order = window.storage_order(shape)
        return None if order is None else self.permute(order).reshape(shape)

    def reshape(self, shape: Sequence[int]) -> StridedView | None:
        """Views the elements, in row-major order, as `shape`; None if that needs a copy.

        It is also None if `shape` has another number of elements, or no elements.
        """
        if math.prod(shape) != self.elements or self.elements == 0:
            return None
        runs = _merge_runs(self.shape, self.strides)
        strides: list[int] = []
        for extent in reversed(shape):
            taken = _take(runs, extent)
            if taken is None:
                return None
            strides.append(taken)
        return StridedView(tuple(shape), tuple(reversed(strides)), self.offset)


def _merge_runs(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Merges neighbouring dimensions that are contiguous, as (extent, stride)."""
    runs: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            runs[-1] = (runs[-1][0] * extent, stride)
        else:
            runs.append((extent, stride))
    return runs


def _take(runs: list[tuple[int, int]], extent: int) -> int | None:
    """Splits `extent` off the innermost run and returns its stride; None if it does not fit."""
    if extent == 1:
        return 0
    size, stride = runs.pop()
    if size % extent:
        return None
    if size > extent:
        runs.append((size // extent, stride * extent))
    return stride


def _indices(offset: int, shape: Sequence[int]) -> list[int]:
    """Returns the index of the element at an offset of a row-major tensor."""
    return [
        offset // step % size for size, step in zip(shape, row_major_strides(shape), strict=True)
    ]


def _copied_runs(
    extent: int, stride: int, copied: StridedView
) -> list[tuple[int, int, int]] | None:
    """Returns the runs (dimension, extent, hop) for `extent` steps of `stride` in the copy."""
    if extent == 1 or stride == 0:
        return []
    runs: list[tuple[int, int, int]] = []
    for dim, step in reversed(list(enumerate(row_major_strides(copied.shape)))):
        size = copied.shape[dim]
        if extent == 1 or stride >= step * size:
            continue
        hop = stride // step
        if stride % step or (extent > size // hop and size % hop):
            return None
        count = min(extent, size // hop)
        if extent % count:
            return None
        runs.insert(0, (dim, count, hop))
        extent, stride = extent // count, step * size
    return runs if extent == 1 else None


def joined_run(runs: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Joins runs (extent, stride), outermost first, that step evenly; None if they do not."""
    moving = [run for run in runs if run[0] > 1]
    for outer, inner in itertools.pairwise(moving):
        if outer[1] != inner[0] * inner[1]:
            return None
    extent = math.prod(extent for extent, _ in moving)
    return (extent, moving[-1][1]) if moving else (1, 1)
