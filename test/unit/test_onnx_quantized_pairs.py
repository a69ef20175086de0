"""Contractions between `DequantizeLinear` and `QuantizeLinear`, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quantized_models import Pairs, draw

from hipgraft.frontends.onnx.model import read_model

pytestmark = pytest.mark.usefixtures("shared_worker")


def products_of(path: Path) -> list[str]:
    """The operators of the contractions that hipgraft compiles for a model."""
    kinds = ("MatMul", "MatMulInteger", "Gemm", "Conv")
    return [node.op_type for node in read_model(path).graph.node if node.op_type in kinds]


KINDS = pytest.mark.parametrize("kind", [np.int8, np.uint8])


@KINDS
@pytest.mark.parametrize("axis", [None, 1])
def test_product_with_weights(tmp_path: Path, kind: Any, axis: int | None) -> None:
    pairs = Pairs(1, kind)
    product = pairs.node("MatMul", pairs.activation("x"), pairs.weights(12, 7, axis=axis))
    bias = pairs.constant(pairs.random.standard_normal(7), np.float32)
    y = pairs.activation(pairs.node("Relu", pairs.node("Add", product, bias)))
    x = pairs.random.standard_normal((3, 5, 12)).astype(np.float32)
    pairs.check(tmp_path / "m.onnx", x, y)
    assert products_of(tmp_path / "m.onnx") == ["MatMulInteger"]


@KINDS
@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("zero", [0, 3])
def test_gemm(tmp_path: Path, kind: Any, transposed: int, zero: int) -> None:
    """With another zero point than 0 of the weights, sums of the operand would be needed."""
    pairs = Pairs(2, kind)
    shape, axis = ((7, 12), 0) if transposed else ((12, 7), 1)
    bias = pairs.constant(pairs.random.standard_normal(7), np.float32)
    operands = pairs.activation("x"), pairs.weights(*shape, axis=axis, zero=zero), bias
    y = pairs.activation(pairs.node("Gemm", *operands, transB=transposed))
    x = pairs.random.standard_normal((5, 12)).astype(np.float32)
    pairs.check(tmp_path / "m.onnx", x, y)
    assert products_of(tmp_path / "m.onnx") == ["Gemm" if zero else "MatMulInteger"]


@KINDS
@pytest.mark.parametrize("group", [1, 4])
def test_convolutions_and_a_residual(tmp_path: Path, kind: Any, group: int) -> None:
    """Padding is zero, not the zero point; the residual reads what the convolution reads."""
    pairs = Pairs(3, kind)
    x = pairs.activation("x")
    bias = pairs.constant(pairs.random.standard_normal(4), np.float32)
    filters = pairs.weights(4, 4 // group, 3, 3, axis=0)
    y = pairs.node("Conv", x, filters, bias, pads=[1, 1, 1, 1], group=group)
    y = pairs.activation(pairs.node("Relu", pairs.node("Add", pairs.activation(y), x)))
    pairs.check(tmp_path / "m.onnx", pairs.random.standard_normal((2, 4, 6, 5)).astype("f"), y)


@KINDS
def test_product_of_activations(tmp_path: Path, kind: Any) -> None:
    """The operands are quantised, moved, and quantised again, as heads of attention are."""
    pairs = Pairs(4, kind)
    x = pairs.activation("x")
    shape = pairs.constant([2, 5, 3, 4], np.int64)
    heads = pairs.node("Reshape", x, shape)
    # The same scale and zero point as before: bytes are moved.
    before = pairs.nodes[0].input[1:]
    heads = pairs.node("QuantizeLinear", heads, *before)
    heads = pairs.node("DequantizeLinear", heads, *before)
    left = pairs.node("Transpose", heads, perm=[0, 2, 1, 3])
    right = pairs.node("Transpose", heads, perm=[0, 2, 3, 1])
    y = pairs.activation(pairs.node("MatMul", pairs.activation(left), pairs.activation(right)))
    pairs.check(tmp_path / "m.onnx", pairs.random.standard_normal((2, 5, 12)).astype("f"), y)


@KINDS
def test_rows_of_a_table(tmp_path: Path, kind: Any) -> None:
    pairs = Pairs(5, kind)
    rows = pairs.constant([[1, 3], [0, 1]], np.int64)
    found = pairs.node("Gather", pairs.weights(5, 4), rows)
    y = pairs.activation(pairs.node("Add", found, "x"))
    pairs.check(tmp_path / "m.onnx", pairs.random.standard_normal((2, 2, 4)).astype("f"), y)
    gathered = [n for n in read_model(tmp_path / "m.onnx").graph.node if n.op_type == "Gather"]
    assert len(gathered) <= 1


def test_scales_of_the_summed_dimension_stay(tmp_path: Path) -> None:
    pairs = Pairs(6, np.int8)
    product = pairs.node("MatMul", pairs.activation("x"), pairs.weights(12, 7, axis=0))
    y = pairs.activation(product)
    pairs.check(tmp_path / "m.onnx", pairs.random.standard_normal((5, 12)).astype("f"), y)
    assert products_of(tmp_path / "m.onnx") == ["MatMul"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(20))
def test_random_models(tmp_path: Path, seed: int) -> None:
    pairs, x, y = draw(seed)
    pairs.check(tmp_path / "m.onnx", x, y)
