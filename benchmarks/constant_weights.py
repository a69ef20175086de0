"""Replaces the weights of the models in `models/`, which are inputs, with constants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx


def is_parameter(name: str) -> bool:
    """Whether an input is a parameter, which has a dot in its name in PyTorch's exports."""
    return "." in name


def with_weights(
    path: Path, directory: Path, is_weight: Callable[[str], bool] = is_parameter
) -> Path:
    """Writes a model whose weights are initializers of random values; returns its path.

    Args:
        path: the model.
        directory: directory of the new model, which has the same name.
        is_weight: function that returns whether the input with a given name is a weight.

    Values have a standard deviation of 0.05.
    """
    model, random = onnx.load(path), np.random.default_rng(0)
    weights = [value for value in model.graph.input if is_weight(value.name)]
    for value in weights:
        kind = value.type.tensor_type
        shape = [each.dim_value for each in kind.shape.dim]
        values = 0.05 * random.standard_normal(shape, np.float32)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        made = onnx.numpy_helper.from_array(values.astype(dtype), value.name)
        model.graph.initializer.append(made)
        model.graph.input.remove(value)
    filled = directory / path.name
    onnx.save(model, filled)
    return filled
