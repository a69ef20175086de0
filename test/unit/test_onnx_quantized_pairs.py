"""Contractions between `DequantizeLinear` and `QuantizeLinear`, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulator import requires_emulator
from onnx import TensorProto, helper
from quantized_models import FLOATS, Pairs, draw

import hipgraft
from hipgraft.frontends.onnx.model import read_model

pytestmark = pytest.mark.slow


def products_of(path: Path) -> list[str]:
    """The operators of the contractions that hipgraft compiles for a model."""
    kinds = ("MatMul", "MatMulInteger", "Gemm", "Conv")
    return [node.op_type for node in read_model(path).graph.node if node.op_type in kinds]


KINDS = pytest.mark.parametrize("kind", [np.int8, np.uint8, ml_dtypes.float8_e4m3fn])


def is_integer(kind: Any) -> bool:
    return np.dtype(kind).kind in "iu"


@pytest.mark.sampled(4)
@KINDS
@pytest.mark.parametrize("axis", [None, 1])
def test_product_with_weights(tmp_path: Path, kind: Any, axis: int | None) -> None:
    pairs = Pairs(1, kind)
    product = pairs.node("MatMul", pairs.activation("x"), pairs.weights(12, 7, axis=axis))
    bias = pairs.constant(pairs.random.standard_normal(7), np.float32)
    y = pairs.activation(pairs.node("Relu", pairs.node("Add", product, bias)))
    x = pairs.random.standard_normal((3, 5, 12)).astype(np.float32)
    pairs.check(tmp_path / "m.onnx", x, y)
    expected = "MatMulInteger" if is_integer(kind) else "MatMul"
    assert products_of(tmp_path / "m.onnx") == [expected]


@pytest.mark.sampled(6)
@KINDS
@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("zero", [0, 3])
def test_gemm(tmp_path: Path, kind: Any, transposed: int, zero: int) -> None:
    """A nonzero zero point of the weights would require sums of the other operand."""
    pairs = Pairs(2, kind)
    shape, axis = ((7, 12), 0) if transposed else ((12, 7), 1)
    bias = pairs.constant(pairs.random.standard_normal(7), np.float32)
    operands = pairs.activation("x"), pairs.weights(*shape, axis=axis, zero=zero), bias
    y = pairs.activation(pairs.node("Gemm", *operands, transB=transposed))
    x = pairs.random.standard_normal((5, 12)).astype(np.float32)
    pairs.check(tmp_path / "m.onnx", x, y)
    expected = "Gemm" if zero or not is_integer(kind) else "MatMulInteger"
    assert products_of(tmp_path / "m.onnx") == [expected]


@pytest.mark.sampled(6)
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
    rows = pairs.node("Cast", "x", to=TensorProto.INT64)
    y = pairs.activation(pairs.node("Gather", pairs.weights(5, 4), rows))
    pairs.check(tmp_path / "m.onnx", pairs.random.integers(0, 5, (2, 2)).astype("f"), y)
    graph = read_model(tmp_path / "m.onnx").graph
    (gather,) = [node for node in graph.node if node.op_type == "Gather"]
    tables = [tensor for tensor in graph.initializer if tensor.name == gather.input[0]]
    assert [tensor.data_type for tensor in tables] == [TensorProto.INT8]  # the bits of the others


def test_scales_of_the_summed_dimension_stay(tmp_path: Path) -> None:
    pairs = Pairs(6, np.int8)
    product = pairs.node("MatMul", pairs.activation("x"), pairs.weights(12, 7, axis=0))
    y = pairs.activation(product)
    pairs.check(tmp_path / "m.onnx", pairs.random.standard_normal((5, 12)).astype("f"), y)
    assert products_of(tmp_path / "m.onnx") == ["MatMul"]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("seed", range(20))
def test_random_models(tmp_path: Path, seed: int) -> None:
    pairs, x, y = draw(seed)
    pairs.check(tmp_path / "m.onnx", x, y)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(12))
def test_random_floats_of_eight_bits(tmp_path: Path, seed: int) -> None:
    pairs, x, y = draw(200 + seed, FLOATS[seed % 4])
    pairs.check(tmp_path / "m.onnx", x, y)


@requires_emulator
@pytest.mark.sampled(8)
@pytest.mark.parametrize("architecture", ["gfx942", "gfx950", "gfx1100"])
@pytest.mark.parametrize("seed", range(12))
def test_floats_of_eight_bits_by_gpu_code(tmp_path: Path, seed: int, architecture: str) -> None:
    pairs, x, y = draw(300 + seed, FLOATS[seed % 4])
    pairs.check(tmp_path / "m.onnx", x, y, architecture)


def test_contractions_read_floats_of_eight_bits(tmp_path: Path) -> None:
    pairs = Pairs(8, ml_dtypes.float8_e4m3fn)
    product = pairs.node("MatMul", pairs.activation("x"), pairs.weights(300, 200))
    pairs.check(tmp_path / "m.onnx", pairs.random.standard_normal((64, 300)).astype("f"), product)
    text = str(hipgraft.compile(tmp_path / "m.onnx", "gfx950", compile_to="hipdnn-graphs").module)
    assert text.count('"hipdnn.graph"') == 2
    assert "(tensor<64x300xf8E4M3FN>, tensor<300x200xf8E4M3FN>) -> tensor<64x200xf32>" in text


def test_bytes_that_a_branch_reads_stay_unsigned(tmp_path: Path) -> None:
    """Only the branch and `DequantizeLinear` read the bytes."""
    pairs = Pairs(7, np.uint8)
    pairs.activation("x")
    quantized = pairs.nodes[0].output[0]
    numbers = helper.make_tensor_value_info("numbers", TensorProto.FLOAT, [2, 3])
    body = helper.make_graph(
        [helper.make_node("Cast", [quantized], ["numbers"], to=TensorProto.FLOAT)],
        "body", [], [numbers],
    )  # fmt: skip
    condition = pairs.node("Greater", pairs.node("ReduceSum", "x", keepdims=0), "limit")
    pairs.constants["limit"] = np.float32(-1e9)
    y = pairs.node("If", condition, then_branch=body, else_branch=body)
    y = pairs.activation(pairs.node("Mul", y, pairs.constant(0.02, np.float32)))
    pairs.check(tmp_path / "m.onnx", pairs.random.standard_normal((2, 3)).astype("f"), y)
