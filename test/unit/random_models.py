"""Building blocks of random ONNX models."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper
from small_onnx import F32, save


class RandomModel:
    """A model of f32 whose form and inputs depend on a seed alone."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.seed = seed
        self.nodes: list[onnx.NodeProto] = []
        self.numbers: dict[str, np.ndarray[Any, Any]] = {}
        self.inputs: dict[str, np.ndarray[Any, Any]] = {}

    def save(self, path: Path, result: str) -> Path:
        return save(path, self.nodes, self.inputs, [(result, F32)], self.numbers, opset=17)

    def op(self, kind: str, operands: Sequence[str], **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name

    def input(self, shape: Sequence[int]) -> str:
        name = f"x{len(self.inputs)}"
        generator = np.random.default_rng(self.seed + len(self.inputs))
        self.inputs[name] = generator.standard_normal(shape).astype(np.float32)
        return name

    def number(self, *numbers: int) -> str:
        """Returns a constant of i64 in one dimension."""
        name = f"n{len(self.numbers)}"
        self.numbers[name] = np.array(numbers, np.int64)
        return name
