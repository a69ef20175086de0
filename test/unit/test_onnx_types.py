"""Element types that compilers lack, against ONNX's reference implementation."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
import small_onnx
from emulator import open_emulator, requires_emulator
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from small_onnx import check, evaluating, save

import hipgraft
from hipgraft import frontends
from hipgraft.frontends.onnx.legalization.narrow import SMALL_FLOATS, TYPES
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.tools import hipgraft_run

pytestmark = pytest.mark.slow

SMALL = {
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    TensorProto.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    TensorProto.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    TensorProto.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
}


def model_of(nodes, inputs, outputs, constants=None, opset=23) -> onnx.ModelProto:
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in inputs.items()
    ]
    results = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in outputs.items()]
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", infos, results, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


@evaluating
def results_of(tmp_path, model, inputs):
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    return small_onnx.results_of(path, list(inputs.values()))


def drawn(dtype, *shape) -> np.ndarray:
    """Random bits, which give as many small numbers as large ones."""
    info = np.iinfo(dtype)
    rng = np.random.default_rng(1)
    large = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.5, large >> (8 * dtype().itemsize - 4), large).astype(
        dtype
    )


def test_products_of_bytes(tmp_path):
    inputs = {"x": drawn(np.int8, 5, 7), "y": drawn(np.int8, 7, 6)}
    node = helper.make_node("Einsum", ["x", "y"], ["z"], equation="ij,jk->ik")
    outputs = {"z": (TensorProto.INT8, [5, 6])}
    (got,) = results_of(tmp_path, model_of([node], inputs, outputs), inputs)
    np.testing.assert_array_equal(got, inputs["x"] @ inputs["y"])


BINARY = ("Add", "Sub", "Mul", "Div", "Mod", "BitwiseXor", "Max", "Min")
COMPARISONS = ("Less", "GreaterOrEqual", "Equal")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_unsigned_arithmetic(tmp_path, dtype):
    x, y = drawn(dtype, 200), np.roll(drawn(dtype, 200), 7) | dtype(1)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    nodes = [helper.make_node(op, ["x", "y"], [op]) for op in BINARY + COMPARISONS]
    nodes += [helper.make_node("Cast", ["x"], ["real"], to=TensorProto.FLOAT)]
    outputs = {op: (kind, [200]) for op in BINARY}
    outputs |= {op: (TensorProto.BOOL, [200]) for op in COMPARISONS}
    outputs |= {"real": (TensorProto.FLOAT, [200])}
    inputs = {"x": x, "y": y}
    got = results_of(tmp_path, model_of(nodes, inputs, outputs), inputs)
    wanted = [x + y, x - y, x * y, x // y, x % y, x ^ y, np.maximum(x, y), np.minimum(x, y)]
    wanted += [x < y, x >= y, x == y, x.astype(np.float32)]
    for name, one, want in zip(outputs, got, wanted, strict=True):
        assert one.dtype == want.dtype, name
        np.testing.assert_array_equal(one, want, name)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dtype", [np.uint64, np.int64, np.uint8, np.uint32, np.int8])
def test_functions_of_integers(tmp_path, dtype):
    most = np.iinfo(dtype).max
    x = np.array([[most, most - 1, 0, 1], [2, 3, 100, most // 2]], dtype)
    x[1] = 0 - x[1]
    inputs = {"x": x, "low": np.array(2, dtype), "high": np.array(most - 1, dtype)}
    nodes = [
        helper.make_node("Abs", ["x"], ["size"]),
        helper.make_node("Sign", ["x"], ["sign"]),
        helper.make_node("Clip", ["x", "low", "high"], ["both"]),
        helper.make_node("Clip", ["x", "", "high"], ["above"]),
        helper.make_node("EyeLike", ["x"], ["ones"], k=1),
    ]
    if x.itemsize >= 4:
        nodes.append(helper.make_node("CumSum", ["x", "axis"], ["sums"]))
    if x.itemsize < 8:  # f64 does not hold all others
        nodes.append(helper.make_node("Shrink", ["x"], ["near"], bias=1.5, lambd=2.0))
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    outputs = {node.output[0]: (kind, [2, 4]) for node in nodes}
    model = model_of(nodes, inputs, outputs, {"axis": np.array(1)}, opset=20)
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(model).run(None, inputs)
    got = results_of(tmp_path, model, inputs)
    for name, one, want in zip(outputs, got, wanted, strict=True):
        assert one.dtype == want.dtype, name
        np.testing.assert_array_equal(one, want, name)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", ["uint16", "int8", "float8_e4m3fn", "uint4"])
def test_the_runner_draws_inputs_of_any_type(tmp_path, name, capsys):
    x = np.zeros((2, 3), name if name in np.sctypeDict else getattr(ml_dtypes, name))
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    node = helper.make_node("Transpose", ["x"], ["y"])
    onnx.save(model_of([node], {"x": x}, {"y": (kind, [3, 2])}), tmp_path / "m.onnx")
    for runtime in ("recorded", "interpreter"):
        command = [str(tmp_path / "m.onnx"), "--device=cpu", f"--runtime={runtime}"]
        assert hipgraft_run.main(command) == 0
        assert f"3x2x{name}" in capsys.readouterr().out


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int8, np.int64])
def test_shifts_by_any_amount(tmp_path, dtype):
    x = drawn(dtype, 120)
    amounts = np.resize(np.array([0, 1, 3, 7, 8, 63, 64, 70, -1, -8]), 120).astype(dtype)
    nodes = [
        helper.make_node("BitShift", ["x", "s"], [direction], direction=direction)
        for direction in ("LEFT", "RIGHT")
    ]
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    outputs = {direction: (kind, [120]) for direction in ("LEFT", "RIGHT")}
    inputs = {"x": x, "s": amounts}
    got = results_of(tmp_path, model_of(nodes, inputs, outputs, opset=26), inputs)
    # NumPy defines shifts by the type's width and more, like ONNX's reference.
    for one, want in zip(got, [np.left_shift(x, amounts), np.right_shift(x, amounts)], strict=True):
        np.testing.assert_array_equal(one, want)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2])
def test_integers_of_parts_of_bytes(tmp_path, kind):
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    x = np.arange(-8, 8).astype(dtype)
    nodes = [
        helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["x"], ["z"]),
    ]
    outputs = {"y": (TensorProto.FLOAT, [16]), "z": (kind, [16])}
    y, z = results_of(tmp_path, model_of(nodes, {"x": x}, outputs, opset=25), {"x": x})
    np.testing.assert_array_equal(y, x.astype(np.float32))
    assert z.dtype == x.dtype
    np.testing.assert_array_equal(z.astype(np.int32), x.astype(np.int32))


def numbers() -> np.ndarray:
    """Numbers around every code of every small float, zeros, infinities and NaN."""
    codes = np.arange(256, dtype=np.uint8)
    values = np.concatenate([codes.view(dtype).astype(np.float32) for dtype in SMALL.values()])
    finite = np.unique(values[np.isfinite(values)])
    middles = (finite[1:] + finite[:-1]) / 2
    near = [np.nextafter(middles, bound, dtype=np.float32) for bound in (-np.inf, np.inf)]
    special = np.array([np.inf, -np.inf, np.nan, -0.0, 1e30, -1e30, 1e-40, -1e-40], np.float32)
    return np.concatenate([finite, middles, *near, special]).astype(np.float32)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("saturate", [1, 0])
def test_small_floats_are_rounded_and_read(tmp_path, kind, saturate):
    x = numbers()
    nodes = [
        helper.make_node("Cast", ["x"], ["small"], to=kind, saturate=saturate),
        helper.make_node("Cast", ["small"], ["y"], to=TensorProto.FLOAT),
    ]
    outputs = {"small": (kind, [x.size]), "y": (TensorProto.FLOAT, [x.size])}
    model = model_of(nodes, {"x": x}, outputs)
    small, y = results_of(tmp_path, model, {"x": x})
    want, real = ReferenceEvaluator(model).run(None, {"x": x})
    assert small.dtype == np.dtype(SMALL[kind])
    np.testing.assert_array_equal(small.astype(np.float32), want.astype(np.float32))
    np.testing.assert_array_equal(y, real)


@requires_emulator
@pytest.mark.sampled(8)
@pytest.mark.parametrize("architecture", ["gfx942", "gfx950", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("kind", SMALL)
def test_small_floats_by_gpu_code(tmp_path, kind, architecture):
    """All codes, and all numbers between which they change."""
    codes, x = np.arange(256, dtype=np.uint8), numbers()
    codes = (codes if kind != TensorProto.FLOAT4E2M1 else codes[:16]).view(SMALL[kind])
    nodes = [
        helper.make_node("Cast", ["codes"], ["values"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["x"], ["small"], to=kind),
        helper.make_node("Cast", ["small"], ["y"], to=TensorProto.FLOAT),
    ]
    outputs = {"values": (TensorProto.FLOAT, codes.shape), "y": (TensorProto.FLOAT, x.shape)}
    model = model_of(nodes, {"codes": codes, "x": x}, outputs)
    onnx.save(model, tmp_path / "m.onnx")
    device = open_emulator(architecture)
    with hipgraft.compile(tmp_path / "m.onnx", architecture) as program:
        values, y = program.run([codes, x], device)
    device.close()
    np.testing.assert_array_equal(values, codes.astype(np.float32))
    np.testing.assert_array_equal(
        y, ReferenceEvaluator(model).run(["y"], {"codes": codes, "x": x})[0]
    )


def test_a_scalar_of_eight_bits(tmp_path):
    """IREE's compiler crashes where it reinterprets the bits of a scalar."""
    x = {"q": np.array([1, -2, 448], ml_dtypes.float8_e4m3fn)}
    x |= {"s": np.array(0.5, np.float32), "z": np.array(0, ml_dtypes.float8_e4m3fn)}
    model = model_of(
        [
            helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
            helper.make_node("Cast", ["s"], ["e"], to=TensorProto.FLOAT8E5M2),
        ],
        x,
        {"y": (TensorProto.FLOAT, [3]), "e": (TensorProto.FLOAT8E5M2, [])},
    )
    onnx.save(model, tmp_path / "m.onnx")
    y, e = hipgraft.compile(tmp_path / "m.onnx", "cpu").run([*x.values()])
    np.testing.assert_array_equal(y, np.array([0.5, -1, 224], np.float32))
    assert (e.shape, float(e)) == ((), 0.5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_group_norms_of_sixteen_bits(tmp_path, dtype):
    """Their sums exceed f16; by default, their statistics are f32."""
    x = np.random.default_rng(0).normal(500, 50, (1, 4, 16, 16)).astype(dtype)
    node = helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)
    parameters = {"s": np.ones(4, dtype), "b": np.zeros(4, dtype)}
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    model = model_of([node], {"x": x}, {"y": (kind, x.shape)}, parameters, opset=21)
    onnx.save(model, tmp_path / "m.onnx")
    (found,) = hipgraft.compile(tmp_path / "m.onnx", "cpu").run([x])
    groups = x.astype(np.float64).reshape(1, 2, -1)
    expected = (groups - groups.mean(2, keepdims=True)) / groups.std(2, keepdims=True)
    found = np.asarray(found, np.float64).reshape(groups.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)


def test_all_types_have_a_name_and_a_storage():
    assert set(SMALL_FLOATS) <= set(TYPES)
    sizes = {kind.storage for kind in TYPES.values()}
    assert sizes == {TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64}


QUANTIZED = {
    "per tensor": ([], {}),
    "per channel": ([4], {"axis": 1}),
    "per block": ([3, 2], {"axis": 1, "block_size": 2}),
}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("form", QUANTIZED)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
def test_quantisation_by_inputs(tmp_path, form, dtype):
    shape, attributes = QUANTIZED[form]
    rng = np.random.default_rng(2)
    x = (20 * rng.standard_normal((3, 4))).astype(np.float32)
    scale = rng.uniform(0.1, 0.5, shape).astype(np.float32)
    zero = rng.integers(0, 9, shape).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(zero.dtype)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **attributes),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **attributes),
    ]
    outputs = {"q": (kind, [3, 4]), "y": (TensorProto.FLOAT, [3, 4])}
    inputs = {"x": x, "s": scale, "z": zero}
    model = model_of(nodes, inputs, outputs)
    got = results_of(tmp_path, model, inputs)
    for one, want in zip(got, ReferenceEvaluator(model).run(None, inputs), strict=True):
        assert one.dtype == want.dtype
        np.testing.assert_allclose(one, want, rtol=1e-6)


def test_quantisation_of_integers_by_integers(tmp_path):
    """Their quotients are fractional, and are rounded to even."""
    inputs = {"x": np.arange(-9, 12, dtype=np.int32), "s": np.int32(6)}
    node = helper.make_node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=TensorProto.INT8)
    (got,) = results_of(tmp_path, model_of([node], inputs, {"q": (TensorProto.INT8, [21])}), inputs)
    np.testing.assert_array_equal(got, np.rint(np.arange(-9, 12) / 6).astype(np.int8))


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4, np.int8])
def test_weights_of_blocks(tmp_path, dtype):
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 7, (8, 4)).astype(dtype)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=4),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    x = rng.standard_normal((2, 8)).astype(np.float32)
    scale = rng.uniform(0.1, 1, (2, 4)).astype(np.float32)
    outputs = {"y": (TensorProto.FLOAT, [2, 4])}
    model = model_of(nodes, {"x": x}, outputs, {"w": weights, "s": scale})
    (got,) = results_of(tmp_path, model, {"x": x})
    want = x @ (weights.astype(np.float32) * np.repeat(scale, 4, axis=0))
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("x", [np.zeros((2, 3)), np.zeros(1), [-np.inf], [1, np.inf, -2]])
def test_dynamic_quantisation_without_a_finite_range(tmp_path, x):
    """If all elements are zero, onnxruntime uses the scale 1."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    inputs = {"x": np.array(x, np.float32)}
    outputs = [
        ("q", TensorProto.UINT8),
        ("s", TensorProto.FLOAT),
        ("z", TensorProto.UINT8),
        ("y", TensorProto.FLOAT),
    ]
    check(save(tmp_path / "m.onnx", nodes, inputs, outputs), inputs)


def test_zero_points_of_single_elements_are_invalid(tmp_path):
    nodes = [helper.make_node("MatMulInteger", ["a", "b", "", "z"], ["y"])]
    inputs = {name: np.ones((1, 2, 2), np.uint8) for name in ("a", "b", "z")}
    path = save(tmp_path / "m.onnx", nodes, inputs, [("y", TensorProto.INT32)])
    with pytest.raises(HipgraftError, match=r"'MatMulInteger' with 'z' of shape \[1, 2, 2\]"):
        frontends.load(path)
