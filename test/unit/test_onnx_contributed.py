"""Operators that onnxruntime adds to ONNX's, against onnxruntime."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from contributed_models import MAKERS, Draw, Source
from onnx import helper
from onnxruntime import quantization
from small_onnx import results_of, save

import hipgraft
from hipgraft.frontends.onnx.legalization import CONTRIBUTED
from hipgraft.frontends.onnx.model import read_model
from hipgraft.ir.diagnostics import HipgraftError

SEEDS = 12
COMPILED = (
    "attention",
    "dynamic_quantize_lstm",
    "experts",
    "grouped_query_attention",
    "matmul_bnb4",
    "matmul_nbits",
    "qlinear_binary",
    "quantized_experts",
    "skip_norm",
)
WITHOUT_CPU_KERNEL = {
    "BiasAdd", "BiasSplitGelu", "ComplexMul", "ComplexMulConj", "FusedMatMulActivation",
    "GroupNorm", "NhwcConv", "QLinearReduceMean", "SkipGroupNorm", "TransposeMatMul",
}  # fmt: skip


def bits_as(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array with its bits reinterpreted as another type of the same size."""
    return array if array.dtype == dtype else array.view(dtype)


def run(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    data = model.SerializeToString()
    session = onnxruntime.InferenceSession(data, options, ["CPUExecutionProvider"])
    return [np.asarray(one) for one in session.run(None, feeds)]


def valid(draw: Draw) -> tuple[onnx.ModelProto, list[np.ndarray]] | None:
    """The model with its result types, and onnxruntime's results; None if it is rejected."""
    model = draw.model()
    try:
        wanted = run(model, draw.feeds())
    except Exception:  # of onnxruntime, which has no common class
        return None
    for value, one in zip(model.graph.output, wanted, strict=True):
        element = helper.np_dtype_to_tensor_dtype(one.dtype)
        value.CopyFrom(helper.make_tensor_value_info(value.name, element, one.shape))
    return model, wanted


def rewritten(path: Path, draw: Draw) -> list[np.ndarray]:
    """Returns onnxruntime's result for the operators that replace the contributed one."""
    model = read_model(path)
    model.ir_version = 10
    for node in model.graph.node:
        node.name = ""  # which are locations here, and may be equal
        assert node.domain == ""
    feeds: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        feeds[value.name] = bits_as(draw.feeds()[value.name], dtype)
    return run(model, feeds)


def compare(draw: Draw, found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for got, want in list(zip(found, wanted, strict=True))[: draw.defined]:
        got = bits_as(got, want.dtype)
        assert got.shape == want.shape
        if np.issubdtype(want.dtype, np.integer):
            # onnxruntime computes some of them by tables, and in integers.
            assert np.abs(got.astype(np.int64) - want).max(initial=0) <= 1
        else:
            # If -10000 masks all scores, little of their precision is left.
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)


@pytest.mark.sampled(8)
@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_rewrites(name: str, tmp_path: Path) -> None:
    checked = 0
    for seed in range(SEEDS):
        draw = MAKERS[name](Source(seed))
        case = valid(draw)
        if case is None:
            continue
        model, wanted = case
        onnx.save(model, tmp_path / "m.onnx")
        compare(draw, rewritten(tmp_path / "m.onnx", draw), wanted)
        checked += 1
    assert checked >= SEEDS / 3


@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul", "QLinearAveragePool"])
def test_half_way_between_integers(operator: str, tmp_path: Path) -> None:
    """These add an odd zero point before they round to even, unlike `QuantizeLinear`."""
    s = Source(4)
    x = {"x": s.quantized(1, 2, 9, 9), "xs": np.float32(0.5), "xz": np.uint8(127)}
    y = {"ys": np.float32(1), "yz": np.uint8(3)}
    other = {name.replace("x", "o"): one for name, one in x.items()}
    pool = {"kernel_shape": [2, 2]}
    draw = (
        Draw(operator, x | y, pool)
        if operator == "QLinearAveragePool"
        else Draw(operator, x | other | y)
    )
    case = valid(draw)
    assert case is not None
    onnx.save(case[0], tmp_path / "m.onnx")
    (found,) = rewritten(tmp_path / "m.onnx", draw)
    np.testing.assert_array_equal(bits_as(found, np.dtype(np.uint8)), case[1][0])


@pytest.mark.parametrize("channels_last", [0, 1])
def test_means_half_way_between_integers(channels_last: int, tmp_path: Path) -> None:
    s = Source(channels_last)
    shape = (2, 3, 5, 64) if channels_last else (2, 64, 3, 5)
    for kind in (np.uint8, np.int8):
        for scale in (0.1, 0.037, 0.5):
            operands = {
                "x": s.quantized(*shape, dtype=kind), "xs": np.float32(scale), "xz": s.zero(kind),
                "ys": np.float32(scale) * np.float32(0.4), "yz": s.zero(kind),
            }  # fmt: skip
            draw = Draw("QLinearGlobalAveragePool", operands, {"channels_last": channels_last})
            case = valid(draw)
            assert case is not None
            model, (wanted,) = case
            onnx.save(model, tmp_path / "m.onnx")
            (found,) = rewritten(tmp_path / "m.onnx", draw)
            np.testing.assert_array_equal(bits_as(found, wanted.dtype), wanted)


@pytest.mark.sampled(8)
@pytest.mark.slow
@pytest.mark.parametrize("name", COMPILED)
def test_programs(name: str, tmp_path: Path) -> None:
    draw = MAKERS[name](Source(3))
    case = valid(draw)
    assert case is not None
    model, wanted = case
    onnx.save(model, tmp_path / "m.onnx")
    found = results_of(tmp_path / "m.onnx", list(draw.feeds().values()))
    compare(draw, [np.asarray(one) for one in found], wanted)


def test_every_rewrite_is_drawn_or_has_no_kernel_here() -> None:
    drawn = {MAKERS[name](Source(seed)).operator for name in MAKERS for seed in range(SEEDS)}
    legacy = {"LayerNormalization", "SimplifiedLayerNormalization"}
    assert drawn | legacy | WITHOUT_CPU_KERNEL == set(CONTRIBUTED)


def test_unknown_and_undecided_operators_are_refused_with_their_node(tmp_path: Path) -> None:
    x = {"x": np.zeros((2, 2), np.float32)}
    for draw, message in (
        (Draw("BeamSearch", x), r"m\.onnx:y: .*'com.microsoft.BeamSearch' is not supported"),
        (Draw("MatMulNBits", {**x, "b": np.zeros((2, 1, 8), np.uint8), "s": np.ones((2, 1))},
              {"bits": 3, "block_size": 16, "K": 2, "N": 2}), "'MatMulNBits' of 3 bits"),
        (Draw("QLinearSigmoid", {"q": np.zeros((2, 2), np.uint8), "s!": np.float32(np.inf),
                                 "z": None, "t!": np.float32(1), "u!": np.uint8(0)}),
         "'QLinearSigmoid' by a scale that is not finite"),
    ):  # fmt: skip
        model = draw.model()
        result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 2])
        model.graph.output[0].CopyFrom(result)
        onnx.save(model, tmp_path / "m.onnx")
        with pytest.raises(HipgraftError, match=message) as error:
            read_model(tmp_path / "m.onnx")
        assert "m.onnx" in str(error.value)


@pytest.mark.parametrize("operator", ["LayerNormalization", "SimplifiedLayerNormalization"])
def test_norms_in_the_domain_of_onnx(operator: str, tmp_path: Path) -> None:
    s = Source(0)
    draw = Draw(operator, {"x": s.f32(3, 8), "g": s.f32(8)}, {"epsilon": 1e-5}, opset=16)
    model = draw.model()
    model.graph.node[0].domain = ""
    (wanted,) = run(model, draw.feeds())
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, wanted.shape)
    model.graph.output[0].CopyFrom(result)
    onnx.save(model, tmp_path / "m.onnx")
    compare(draw, rewritten(tmp_path / "m.onnx", draw), [wanted])


def group_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Normalises two groups of the last dimension, and applies SiLU."""
    batch, *_, channels = x.shape
    rows = x.reshape(batch, -1, 2, channels // 2).astype(np.float64)
    mean = rows.mean(axis=(1, 3), keepdims=True)
    variance = ((rows - mean) ** 2).mean(axis=(1, 3), keepdims=True)
    y = ((rows - mean) / np.sqrt(variance + 1e-5)).reshape(x.shape) * gamma + beta
    return y / (1 + np.exp(-y))


def erf_gelu(x: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda one: one / 2 * (1 + math.erf(one / math.sqrt(2))))(x)


def grouped_conv(x: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Convolves two groups in layout NHWC, padded by one before each dimension."""
    x = np.pad(x, [(0, 0), (1, 0), (1, 0), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(x, filters.shape[1:3], (1, 2))
    parts = zip(np.split(windows, 2, 3), np.split(filters, 2, 0), strict=True)
    return np.concatenate([np.einsum("nhwcij,mijc->nhwm", *pair) for pair in parts], -1)


S = Source(1)
FILTERS, BIAS = S.f32(6, 2, 3, 2), S.f32(6)
X, PAIR, OTHER = S.f32(2, 3, 3, 4), S.f32(3, 2), S.f32(3, 2)
GAMMA, BETA, SKIP = S.f32(4), S.f32(4), S.f32(2, 3, 3, 4)
COMPLEX, CONJUGATE = (
    (PAIR[:, 0] + 1j * PAIR[:, 1]) * (OTHER[:, 0] + sign * 1j * OTHER[:, 1]) for sign in (1, -1)
)
GROUPS = {"groups": 2, "activation": 1}
QUANTIZED = S.quantized(3, 4)
DEFINED: list[tuple[Draw, np.ndarray]] = [
    (Draw("GroupNorm", {"x": X, "g": GAMMA, "b": BETA}, GROUPS), group_norm(X, GAMMA, BETA)),
    (
        Draw("SkipGroupNorm", {"x": X, "g": GAMMA, "b": BETA, "s": SKIP, "bias": BETA}, GROUPS),
        group_norm(X + SKIP + BETA, GAMMA, BETA),
    ),
    (
        Draw(
            "NhwcConv",
            {"x": X, "w": FILTERS, "b": BIAS},
            {"group": 2, "pads": [1, 1, 0, 0], "kernel_shape": [2, 3]},
        ),
        grouped_conv(X, FILTERS) + BIAS,
    ),
    (Draw("BiasAdd", {"x": X, "b": BETA, "s": SKIP}), X + BETA + SKIP),
    (
        Draw("BiasSplitGelu", {"x": X, "b": BETA}),
        (X + BETA)[..., :2] * erf_gelu((X + BETA)[..., 2:]),
    ),
    (Draw("ComplexMul", {"a": PAIR, "b": OTHER}), np.stack([COMPLEX.real, COMPLEX.imag], 1)),
    (
        Draw("ComplexMulConj", {"a": PAIR, "b": OTHER}),
        np.stack([CONJUGATE.real, CONJUGATE.imag], 1),
    ),
    (Draw("TransposeMatMul", {"a": PAIR, "b": OTHER}, {"transA": 1}), PAIR.T @ OTHER),
    (
        Draw("FusedMatMulActivation", {"a": PAIR, "b": OTHER}, {"transB": 1, "activation": "Relu"}),
        np.maximum(PAIR @ OTHER.T, 0),
    ),
    (
        Draw(
            "QLinearReduceMean",
            {"x": QUANTIZED, "s": np.float32(0.5), "z": np.uint8(128), "ys": np.float32(0.25),
             "yz": np.uint8(3)},
            {"axes": [1], "keepdims": 0},
        ),
        np.clip(np.round((QUANTIZED.astype(np.float64) - 128).mean(1) * 2) + 3, 0, 255)
        .astype(np.uint8),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", DEFINED, ids=lambda case: case[0].operator)
def test_operators_without_a_cpu_kernel(case: tuple[Draw, np.ndarray], tmp_path: Path) -> None:
    draw, wanted = case
    wanted = wanted if wanted.dtype == np.uint8 else wanted.astype(np.float32)
    model = draw.model()
    element = helper.np_dtype_to_tensor_dtype(wanted.dtype)
    result = helper.make_tensor_value_info("y", element, wanted.shape)
    model.graph.output[0].CopyFrom(result)
    onnx.save(model, tmp_path / "m.onnx")
    compare(draw, rewritten(tmp_path / "m.onnx", draw), [wanted])


class Calibration(quantization.CalibrationDataReader):
    def __init__(self, feeds: dict[str, np.ndarray]):
        self.left = iter([feeds])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.left, None)


@pytest.mark.slow
def test_a_network_that_onnxruntime_quantized(tmp_path: Path) -> None:
    s = Source(0)
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4),
        helper.make_node("LeakyRelu", ["c"], ["r"], alpha=0.1),
        helper.make_node("Add", ["r", "r"], ["s"]),
        helper.make_node("GlobalAveragePool", ["s"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "m"], ["y"]),
    ]
    x = s.f32(1, 3, 8, 8)
    constants = {"w": s.f32(4, 3, 3, 3), "b": s.f32(4), "m": s.f32(4, 5)}
    path = save(tmp_path / "m.onnx", nodes, {"x": x}, [("y", onnx.TensorProto.FLOAT)], constants)
    quantized = tmp_path / "q.onnx"
    form = quantization.QuantFormat.QOperator
    quantization.quantize_static(path, quantized, Calibration({"x": x}), quant_format=form)
    operators = {node.op_type for node in onnx.load(quantized).graph.node}
    assert {"QLinearAdd", "QGemm", "QLinearGlobalAveragePool"} <= operators
    (wanted,) = run(onnx.load(quantized), {"x": x})
    (found,) = hipgraft.compile(quantized, "cpu").run([x])
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
