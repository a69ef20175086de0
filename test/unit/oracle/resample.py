"""Pooling and interpolation, window by window."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Resampling:
    """The windows that a resampling applies to `x`.

    Attributes:
        x: activations [N, C, spatial...].
        mode: hipDNN's name for the way in which a window is combined.
        window: its extents.
        stride: its steps.
        pre: padding before.
        post: padding after.
        padding: hipDNN's name of the padding mode.
    """

    x: Array
    mode: str
    window: Sequence[int]
    stride: Sequence[int]
    pre: Sequence[int]
    post: Sequence[int]
    padding: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        positions = (
            (extent + before + after - size) // step + 1
            for extent, before, after, size, step in zip(
                self.x.shape[2:], self.pre, self.post, self.window, self.stride, strict=True
            )
        )
        return (*self.x.shape[:2], *positions)

    def forward(self) -> tuple[Array, NDArray[np.int64]]:
        """Returns y, and the position of each maximum in its channel; -1 if it is in padding."""
        y, index = np.zeros(self.shape), np.zeros(self.shape, np.int64)
        for place in np.ndindex(self.shape):
            parts = self._parts(place)
            y[place] = sum(weight * value for value, _, weight in parts)
            index[place] = parts[0][1]
        return y, index

    def backward(self, dy: Array) -> Array:
        """Returns the gradient of `Σ dy · y`."""
        dx = np.zeros((*self.x.shape[:2], self.x[0, 0].size))
        for place in np.ndindex(self.shape):
            for _, position, weight in self._parts(place):
                if position >= 0:
                    dx[(*place[:2], position)] += weight * dy[place]
        return dx.reshape(self.x.shape)

    def _parts(self, place: Sequence[int]) -> list[tuple[float, int, float]]:
        """Returns value, position and weight of each element that counts."""
        start = [p * s - b for p, s, b in zip(place[2:], self.stride, self.pre, strict=True)]
        elements = list(self._elements(self.x[tuple(place[:2])], start))
        values = [value for value, _, _ in elements]
        if self.mode == "MAXPOOL":
            largest = float(np.max(values))
            found = [p for v, p, _ in elements if p >= 0 and (v == largest or math.isnan(v))]
            return [(largest, found[0] if found else -1, 1.0)]
        if self.mode == "AVGPOOL_EXCLUDE_PADDING":
            elements = [element for element in elements if element[1] >= 0]
        weights = [self._weight(offset) for _, _, offset in elements]
        total = sum(weights)
        return [
            (value, position, weight / total)
            for (value, position, _), weight in zip(elements, weights, strict=True)
            if weight
        ]

    def _weight(self, offset: Sequence[int]) -> float:
        # If the extent is even, the centre of the window is between two elements.
        centre = [(size - 1) / 2 for size in self.window]
        if self.mode == "NEAREST":
            return float(all(o == math.ceil(c - 0.5) for o, c in zip(offset, centre, strict=True)))
        if self.mode == "BILINEAR":
            pairs = zip(offset, centre, strict=True)
            return math.prod(max(0.0, 1 - abs(o - c)) for o, c in pairs)
        return 1.0

    def _elements(
        self, x: Array, start: Sequence[int]
    ) -> Iterator[tuple[float, int, tuple[int, ...]]]:
        """Yields value, row-major position (-1 outside of x) and offset in the window."""
        for offset in np.ndindex(*self.window):
            place = tuple(a + b for a, b in zip(start, offset, strict=True))
            edge = tuple(min(max(p, 0), e - 1) for p, e in zip(place, x.shape, strict=True))
            if place == edge:
                yield float(x[place]), int(np.ravel_multi_index(place, x.shape)), offset
            elif self.padding == "EDGE_VAL_PAD":
                yield float(x[edge]), -1, offset
            else:
                yield -math.inf if self.padding == "NEG_INF_PAD" else 0.0, -1, offset
