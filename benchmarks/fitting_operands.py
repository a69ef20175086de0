"""Fits operands to each other, for operators that reject almost all random shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Operands = list["np.ndarray | None"]
Attributes = dict[str, Any]
_SPATIAL = (3, 4, 5)  # ranks of images with batch and channels


def _resized(array: np.ndarray, shape: list[int]) -> np.ndarray:
    """Returns as many of the elements, repeated, as a shape has."""
    return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)


def _replace(inputs: Operands, index: int, shape: list[int]) -> None:
    if index < len(inputs) and inputs[index] is not None:
        inputs[index] = _resized(inputs[index], shape)


def _image(rng: random.Random, inputs: Operands) -> list[int]:
    """Makes the first operand an image, and returns its shape."""
    shape = list(inputs[0].shape)
    if len(shape) not in _SPATIAL:
        shape = [rng.choice((1, 2)), rng.choice((2, 3, 4, 6)), *rng.choices((3, 5, 8), k=2)]
        _replace(inputs, 0, shape)
    return shape


def _convolution(rng: random.Random, inputs: Operands, attributes: Attributes) -> None:
    shape = _image(rng, inputs)
    groups = rng.choice([one for one in (1, 1, 2, 3, shape[1]) if one and shape[1] % one == 0])
    kernel = [rng.choice((1, 2, 3)) for _ in shape[2:]]
    filters = rng.choice((1, 2, 4))
    _fit_windows(rng, attributes, kernel)
    attributes["group"] = groups
    _replace(inputs, 1, [filters * groups, shape[1] // groups, *kernel])
    _replace(inputs, 2, [filters * groups])


def _transposed_convolution(rng: random.Random, inputs: Operands, attributes: Attributes) -> None:
    _convolution(rng, inputs, attributes)
    shape, weights = inputs[0].shape, inputs[1].shape
    filters = weights[0] // attributes["group"]
    _replace(inputs, 1, [shape[1], filters, *weights[2:]])
    attributes.pop("output_shape", None)
    attributes.pop("output_padding", None)
    if attributes.get("strides") and rng.random() < 0.4:
        attributes["output_padding"] = [rng.randrange(one) for one in attributes["strides"]]


def _fit_windows(rng: random.Random, attributes: Attributes, kernel: list[int]) -> None:
    if "kernel_shape" in attributes:
        attributes["kernel_shape"] = kernel
    for name in ("strides", "dilations"):
        if name in attributes:
            attributes[name] = [rng.choice((1, 1, 2, 3)) for _ in kernel]
    if attributes.get("auto_pad", "NOTSET") != "NOTSET":
        attributes.pop("pads", None)
    elif "pads" in attributes:
        attributes["pads"] = [rng.choice((0, 0, 1, 2)) for _ in (*kernel, *kernel)]


def _channels(rng: random.Random, inputs: Operands, attributes: Attributes) -> None:
    """Makes the operands after the first vectors of the channels."""
    shape = _image(rng, inputs)
    for index in range(1, len(inputs)):
        _replace(inputs, index, [shape[1]])
    if len(inputs) > 4:
        inputs[4] = np.abs(inputs[4])  # a variance


def _indexed(rng: random.Random, inputs: Operands, attributes: Attributes) -> None:
    """Makes indices fit the dimension that they index."""
    axis = attributes.get("axis", 0)
    x, indices = inputs[0], inputs[1]
    if x.ndim and -x.ndim <= axis < x.ndim and x.shape[axis]:
        extent = x.shape[axis]
        inputs[1] = ((indices + extent) % (2 * extent) - extent).astype(indices.dtype)
        if len(inputs) > 2:
            _replace(inputs, 2, list(indices.shape))


def _product(rng: random.Random, inputs: Operands, attributes: Attributes) -> None:
    rows, columns, depth = (rng.choice((1, 2, 3, 7, 16)) for _ in range(3))
    sides = [[rows, depth], [depth, columns]]
    for index, name in enumerate(("transA", "transB")):
        is_turned = bool(attributes.get(name, 0))
        attributes[name] = int(is_turned)
        _replace(inputs, index, sides[index][::-1] if is_turned else sides[index])
    bias = rng.choice(([rows, columns], [columns], [rows, 1], [1, columns], [1], []))
    _replace(inputs, 2, bias)


def _recurrent(gates: int, bias: int) -> Callable[[random.Random, Operands, Attributes], None]:
    def fit(rng: random.Random, inputs: Operands, attributes: Attributes) -> None:
        steps, batch, size, hidden = (rng.choice((1, 2, 3, 5)) for _ in range(4))
        kind = rng.choice(("forward", "reverse", "bidirectional"))
        directions = 1 + (kind == "bidirectional")
        for name in ("activations", "activation_alpha", "activation_beta", "layout", "clip"):
            attributes.pop(name, None)
        attributes |= {"direction": kind, "hidden_size": hidden}
        for name in ("linear_before_reset", "input_forget"):
            if name in attributes:
                attributes[name] = int(attributes[name] != 0)
        state = [directions, batch, hidden]
        shapes = [
            [steps, batch, size],
            [directions, gates * hidden, size],
            [directions, gates * hidden, hidden],
            [directions, bias * hidden],
            [batch],
            state,
            state,
            [directions, 3 * hidden],
        ]
        for index, shape in enumerate(shapes):
            _replace(inputs, index, shape)
        if len(inputs) > 4 and inputs[4] is not None:
            inputs[4] = np.array([rng.randint(1, steps) for _ in range(batch)], np.int32)

    return fit


def _padded(rng: random.Random, inputs: Operands, attributes: Attributes) -> None:
    if len(inputs) > 1:
        inputs[1] = np.array([rng.choice((0, 0, 1, 2, -1)) for _ in range(2 * inputs[0].ndim)])
        _replace(inputs, 2, [])
        del inputs[3:]


def _blocks(rng: random.Random, inputs: Operands, attributes: Attributes) -> None:
    if "mode" in attributes:
        attributes["mode"] = rng.choice(("DCR", "CRD"))
    block = attributes["blocksize"] = rng.choice((1, 2, 3))
    plane = [block * rng.choice((1, 2, 3)) for _ in range(2)]
    _replace(inputs, 0, [rng.choice((1, 2)), block * block * rng.choice((1, 2, 3)), *plane])


FITS: dict[str, Callable[[random.Random, Operands, Attributes], None]] = {
    "BatchNormalization": _channels,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "DepthToSpace": _blocks,
    "GRU": _recurrent(3, 6),
    "Gather": _indexed,
    "GatherElements": _indexed,
    "Gemm": _product,
    "InstanceNormalization": _channels,
    "LSTM": _recurrent(4, 8),
    "Pad": _padded,
    "RNN": _recurrent(1, 2),
    "ScatterElements": _indexed,
    "SpaceToDepth": _blocks,
}
"""What fits the operands and attributes of an operator to each other, in place."""
