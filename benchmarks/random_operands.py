"""Draws shapes and elements of operands, and the views through which a model reads them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

EXTENTS = (1, 2, 3, 4, 5, 7)
LONG_EXTENTS = (8, 16, 17, 33, 65)
LONGEST_EXTENTS = (48, 64, 100, 127, 128, 257, 320, 512, 768, 1000, 1024, 1025, 2048, 4099, 8192)
LONGEST_SIZE = 1 << 16
"""The most elements of all operands of a model with such extents."""
_EXTREMES = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e4, -1e4)
"""Floats at which functions change: zeros with signs, halves, numbers whose exponential is not."""
_NOT_FINITE = (np.nan, np.inf, -np.inf)
VIEWED_OPSET = 13
"""The first opset whose views have the form that is written here."""


def draw_shape(rng: random.Random) -> list[int]:
    """Draws the extents of a small tensor; one of them may be long, of one element, or zero."""
    rank = rng.choice((0, 1, 2, 2, 3, 3, 4, 4, 5))
    shape = [rng.choice(EXTENTS) for _ in range(rank)]
    if rank and rng.random() < 0.04:
        shape[rng.randrange(rank)] = 0
    elif rank and rng.random() < 0.08:
        shape[rng.randrange(rank)] = rng.choice(LONG_EXTENTS)
    return shape


def lengthened(rng: random.Random, array: np.ndarray, extent: int, longer: int) -> np.ndarray:
    """Repeats elements in a random order along the axes of an extent."""
    draw = np.random.default_rng(rng.getrandbits(32))
    for axis in range(array.ndim):
        if array.shape[axis] == extent:
            array = array.take(draw.integers(0, extent, longer), axis)
    return array


def draw_elements(rng: random.Random, shape: list[int], dtype: np.dtype[Any]) -> np.ndarray:
    """Draws elements, some of them extreme."""
    draw = np.random.default_rng(rng.getrandbits(32))
    chance = rng.random()
    if dtype == np.bool_:
        return draw.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if chance < 0.08:
            whole = draw.integers(info.min, info.max, shape, dtype, endpoint=True)
            ends = np.array([info.min, info.max], dtype)[draw.integers(0, 2, shape)]
            return np.where(draw.random(shape) < 0.2, ends, whole)
        low = 0 if dtype.kind == "u" else -9
        return draw.integers(low, 12, shape).astype(dtype)
    normal = 3 * draw.standard_normal(shape)
    if chance < 0.04:
        normal = np.where(draw.random(shape) < 0.3, draw.choice(_NOT_FINITE, shape), normal)
    elif chance < 0.12:
        normal = np.where(draw.random(shape) < 0.4, draw.choice(_EXTREMES, shape), normal)
    elif chance < 0.2:  # many elements are equal
        normal = np.round(normal / 2)
    return normal.astype(dtype)


@dataclass(frozen=True)
class View:
    """The tensor that a model stores in place of an operand, and the ops that read the operand.

    Attributes:
        stored: function that returns the stored array, or None if the view does not apply to the
            array.
        node: function that returns the operator, its constant operands, and its attributes.
    """

    stored: Callable[[np.ndarray], np.ndarray | None]
    node: Callable[[np.ndarray], tuple[str, list[np.ndarray], dict[str, Any]]]

    def nodes(
        self, array: np.ndarray, source: str, name: str
    ) -> tuple[NodeProto, list[TensorProto]]:
        """Returns the node that reads `array` from `source`, and its constants."""
        op, constants, attributes = self.node(array)
        names = [f"{name}_{index}" for index in range(len(constants))]
        tensors = [numpy_helper.from_array(one, n) for one, n in zip(constants, names, strict=True)]
        node = helper.make_node(op, [source, *names], [name], name=f"view_{name}", **attributes)
        return node, tensors


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _with_borders(array: np.ndarray) -> np.ndarray | None:
    """Returns the array between rows that the view leaves out, in reverse."""
    if not array.ndim:
        return None
    border = np.zeros((1, *array.shape[1:]), array.dtype)
    return np.concatenate([border, array[::-1], border])


def _every_second(array: np.ndarray) -> np.ndarray | None:
    return np.repeat(array, 2, -1) if array.ndim else None


def _first(array: np.ndarray) -> np.ndarray | None:
    """Returns one element of each line whose elements are all equal."""
    is_one = array.ndim and array.shape[0] and (array == array[:1]).all()
    return array[:1] if is_one else None


VIEWS: dict[str, View] = {
    "transposed": View(
        lambda array: np.ascontiguousarray(array.T) if array.ndim > 1 else None,
        lambda array: ("Transpose", [], {"perm": list(range(array.ndim))[::-1]}),
    ),
    "reshaped": View(
        lambda array: array.reshape(-1) if array.size else None,
        lambda array: ("Reshape", [_ints(*array.shape)], {}),
    ),
    "squeezed": View(
        lambda array: array[..., None, :] if array.ndim else array[None],
        lambda array: ("Squeeze", [_ints(-2 if array.ndim else 0)], {}),
    ),
    "reversed": View(
        _with_borders,
        lambda array: ("Slice", [_ints(-2), _ints(0), _ints(0), _ints(-1)], {}),
    ),
    "stepped": View(
        _every_second,
        lambda array: ("Slice", [_ints(0), _ints(1 << 40), _ints(-1), _ints(2)], {}),
    ),
    "expanded": View(_first, lambda array: ("Expand", [_ints(*array.shape)], {})),
    "gathered": View(
        lambda array: array[::-1].copy() if array.ndim and len(array) else None,
        lambda array: ("Gather", [_ints(*range(-1, -len(array) - 1, -1))], {"axis": 0}),
    ),
}  # fmt: skip
"""The views, by name."""


def spread(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """Makes all rows of an array equal, so that it can be read by `Expand`."""
    if not array.ndim or not len(array) or rng.random() < 0.7:
        return array
    return np.repeat(array[:1], len(array), 0)
