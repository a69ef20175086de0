"""Products of few rows with dequantized weights take one kernel, and agree with NumPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from emulator import open_emulator, requires_emulator
from onnx import NodeProto, TensorProto, helper, numpy_helper
from programs import run_passes

import hipgraft
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.io import walk
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime import run_module
from hipgraft.runtime.devices import open_device
from hipgraft.transforms.dequantization import LEAST_DEPTH

Random = np.random.Generator
Array = np.ndarray[Any, Any]

PIPELINE = (
    "builtin.module(hipdnn-outline,hipdnn-outline-fallback,"
    "hipdnn-compile{target=cpu},hipdnn-bufferize)"
)


@dataclass
class Model:
    """A model of one product, its input, and its expected result."""

    nodes: list[NodeProto]
    x: Array
    constants: dict[str, Array]
    expected: Array
    given: dict[str, Array] = field(default_factory=dict[str, Array])

    def save(self, path: Path) -> Path:
        kind = helper.np_dtype_to_tensor_dtype(self.x.dtype)
        inputs = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in {"x": self.x, **self.given}.items()
        ]
        graph = helper.make_graph(
            self.nodes,
            "g",
            inputs,
            [helper.make_tensor_value_info("y", kind, self.expected.shape)],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        path.write_bytes(
            helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()
        )
        return path

    def check(self, path: Path, architecture: str) -> None:
        self.check_file(self.save(path), architecture)

    def check_file(self, path: Path, architecture: str) -> None:
        device = "cpu" if architecture == "cpu" else open_emulator(architecture)
        with hipgraft.compile(path, architecture) as program:
            (found,) = program.run([self.x, *self.given.values()], device)
        if not isinstance(device, str):
            device.close()
        tolerance = 1e-2 if self.x.dtype == np.float16 else 1e-4
        scale = np.abs(self.expected).max() + 1e-3
        np.testing.assert_allclose(found, self.expected, rtol=tolerance, atol=tolerance * scale)


def dequantized(
    random: Random,
    rows: int = 0,
    columns: int = 0,
    least_depth: int = 0,
    by_columns: bool | None = None,
) -> Model:
    """`x · dequantize(w)`: by tensor, row or block, stored by columns or rows."""
    dtype = random.choice([np.float32, np.float16])
    block = int(random.choice([4, 5, 16, 32, 48]))
    depth = block * int(random.integers(1, 9)) * int(random.choice([1, 4]))
    depth = block * -(-max(depth, least_depth) // block)
    columns = columns or int(random.choice([1, 3, 8, 33]))
    rows = rows or int(random.integers(1, 18))
    by_columns = bool(random.integers(2)) if by_columns is None else by_columns
    shape = (columns, depth) if by_columns else (depth, columns)
    kind = str(random.choice(["tensor", "axis", "block"]))
    axis = {"tensor": 1, "axis": 1 - by_columns, "block": int(by_columns)}[kind]
    scales = {
        "tensor": (),
        "axis": (columns,),
        "block": tuple(n // block if dim == axis else n for dim, n in enumerate(shape)),
    }[kind]
    w = random.integers(-128, 128, shape).astype(random.choice([np.int8, np.uint8]))
    s = (random.uniform(0.5, 2, scales) / 64).astype(dtype)
    has_zero = bool(random.integers(2))
    zero = (
        random.integers(0, 100, scales).astype(w.dtype) if has_zero else np.zeros(scales, w.dtype)
    )

    def spread(values: Array) -> Array:
        if kind == "block":
            return np.repeat(values, block, axis)
        return values if not values.ndim else np.expand_dims(values, 1 - axis)

    exact = (w.astype(np.float64) - spread(zero)) * spread(s).astype(np.float64)
    x = random.uniform(-1, 1, (rows, depth)).astype(dtype)
    arrays = {"w": w, "s": s} | ({"z": zero} if has_zero else {})
    blocks = {"block_size": block} if kind == "block" else {}
    nodes = [helper.make_node("DequantizeLinear", list(arrays), ["f"], axis=axis, **blocks)]
    if by_columns and random.integers(2):
        nodes.append(helper.make_node("Gemm", ["x", "f"], ["y"], transB=1))
    else:
        if by_columns:
            nodes.append(helper.make_node("Transpose", ["f"], ["t"], perm=[1, 0]))
        nodes.append(helper.make_node("MatMul", ["x", "t" if by_columns else "f"], ["y"]))
    expected = x.astype(np.float64) @ (exact.T if by_columns else exact)
    given = {"w": arrays.pop("w")}  # else dequantized at compile time
    return Model(nodes, x, arrays, expected.astype(dtype), given)


def packed(random: Random, blocks: int = 0, columns: int = 0) -> Model:
    """`MatMulNBits` of constants."""
    dtype = random.choice([np.float32, np.float16])
    bits, block = int(random.choice([2, 4, 8])), int(random.choice([16, 32, 64]))
    blocks = blocks or int(random.integers(1, 6))
    depth = blocks * block - int(random.choice([0, 0, 0, 8]))
    rows, columns = int(random.integers(1, 10)), columns or int(random.integers(1, 20))
    bytes_ = random.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)
    steps = np.arange(0, 8, bits, dtype=np.uint8)
    numbers = ((bytes_[..., None] >> steps) & ((1 << bits) - 1)).reshape(columns, blocks, block)
    s = (random.uniform(0.5, 2, (columns, blocks)) / (1 << bits)).astype(dtype)
    constants, zero = {"q": bytes_, "s": s.reshape(-1)}, np.full((columns, blocks), 1 << (bits - 1))
    if random.integers(2):
        per = 8 // bits
        points = random.integers(0, 256, (columns, -(-blocks // per))).astype(np.uint8)
        constants["z"] = points.reshape(-1)
        zero = ((points[..., None] >> steps) & ((1 << bits) - 1)).reshape(columns, -1)[:, :blocks]
    exact = (numbers.astype(np.float64) - zero[..., None]) * s[..., None].astype(np.float64)
    exact = exact.reshape(columns, -1)[:, :depth]
    x = random.uniform(-1, 1, (rows, depth)).astype(dtype)
    attributes = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    node = helper.make_node(
        "MatMulNBits", ["x", *constants], ["y"], domain="com.microsoft", **attributes
    )
    return Model([node], x, constants, (x.astype(np.float64) @ exact.T).astype(dtype))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(24))
def test_dequantized_on_the_cpu(tmp_path: Path, seed: int):
    make = (dequantized, packed)[seed % 2]
    make(np.random.default_rng(seed)).check(tmp_path / "m.onnx", "cpu")


@requires_emulator
@pytest.mark.sampled(14)
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100", "gfx950"])
@pytest.mark.parametrize("seed", range(16))
def test_dequantized_by_gpu_code(tmp_path: Path, seed: int, architecture: str):
    make = (dequantized, packed)[seed % 2]
    make(np.random.default_rng(100 + seed)).check(tmp_path / "m.onnx", architecture)


@requires_emulator
@pytest.mark.thorough
@pytest.mark.parametrize(("seed", "architecture"), [(3, "gfx942"), (4, "gfx1100")])
def test_large_constants_stay_packed(tmp_path: Path, seed: int, architecture: str):
    model = packed(np.random.default_rng(seed), blocks=40, columns=520)
    assert _graphs(model, tmp_path / "m.onnx") == 1
    model.check(tmp_path / "m.onnx", architecture)


@pytest.mark.thorough
@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("kind", "least"), [(TensorProto.INT4, -8), (TensorProto.UINT4, 0)])
def test_parts_of_bytes(tmp_path: Path, kind: int, least: int, architecture: str):
    """Weights of ONNX's 4-bit types, in blocks of a column, from a file beside the model."""
    random, depth, columns, block = np.random.default_rng(7), 1024, 300, 32
    w, z = (random.integers(least, least + 16, (n, columns)) for n in (depth, depth // block))
    s = random.uniform(0.5, 2, z.shape).astype(np.float32) / 16
    x = random.uniform(-1, 1, (1, 4, depth)).astype(np.float32)
    exact = (w - np.repeat(z, block, 0)) * np.repeat(s.astype(np.float64), block, 0)
    halves = {name: array.reshape(-1, 2) & 15 for name, array in (("w", w), ("z", z))}
    narrow = [
        helper.make_tensor(
            name, kind, array.shape, (low | high << 4).astype(np.uint8).tobytes(), True
        )
        for name, array in (("w", w), ("z", z))
        for low, high in [halves[name].T]
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["f"], axis=0, block_size=block),
        helper.make_node("MatMul", ["x", "f"], ["y"]),
    ]
    model = Model(nodes, x, {"s": s}, (x @ exact).astype(np.float32))
    proto = onnx.load(model.save(tmp_path / "m.onnx"))
    proto.graph.initializer.extend(narrow)
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=9999)
    assert (tmp_path / "m.onnx").stat().st_size < w.size // 4
    model.check_file(tmp_path / "m.onnx", architecture)
    assert _graphs_of(tmp_path / "m.onnx") == 1
    program = hipgraft.compile(tmp_path / "m.onnx", "gfx942", compile_to="hipdnn-graphs")
    constants = [op for op in walk(program.module.operation) if op.name == "arith.constant"]
    assert "tensor<300x1024xi8>" in {str(op.results[0].type) for op in constants}


OWN = """
  %f = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<256x6xi8>) -> tensor<256x6xf32>
  %n = "hipdnn.pointwise"(%x) {mode = "neg"} : (tensor<2x256xf32>) -> tensor<2x256xf32>"""
WITH_TWO_READERS = """
  %f = "hipdnn.pointwise"(%w) {mode = "identity"} : (tensor<256x6xi8>) -> tensor<256x6xf32>
  %n = "hipdnn.pointwise"(%w) {mode = "neg"} : (tensor<256x6xi8>) -> tensor<256x6xi8>"""
PART = """
  %v = "hipdnn.view"(%w) {offset = 12 : i64, strides = array<i64: 6, 1>}
      : (tensor<258x6xi8>) -> tensor<256x6xi8>
  %f = "hipdnn.pointwise"(%v) {mode = "identity"} : (tensor<256x6xi8>) -> tensor<256x6xf32>
  %n = "hipdnn.pointwise"(%x) {mode = "neg"} : (tensor<2x256xf32>) -> tensor<2x256xf32>"""


@pytest.mark.parametrize(
    ("rows", "body", "other", "stored"),
    [
        (256, OWN, "2x256xf32", 1),
        (256, WITH_TWO_READERS, "256x6xi8", 0),
        (258, PART, "2x256xf32", 0),
    ],
)
def test_constants_of_one_product_are_stored_by_columns(
    rows: int, body: str, other: str, stored: int
):
    random = np.random.default_rng(11)
    w = random.integers(-128, 128, (rows, 6)).astype(np.int8)
    x = random.uniform(-1, 1, (2, 256)).astype(np.float32)
    text = f"""func.func @main(%x: tensor<2x256xf32>) -> (tensor<2x6xf32>, tensor<{other}>) {{
  %w = arith.constant dense<"0x{w.tobytes().hex().upper()}"> : tensor<{rows}x6xi8> {body}
  %y = "hipdnn.matmul"(%x, %f) : (tensor<2x256xf32>, tensor<256x6xf32>) -> tensor<2x6xf32>
  return %y, %n : tensor<2x6xf32>, tensor<{other}>
}}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (state,) = run_passes(module, "hipdnn-raise-dequantization")
        assert state.counters["transposed-constants"] == stored
        assert ("tensor<6x256xi8>" in str(module)) == bool(stored)
        Runner(keep_reproducer=False).run(module, PIPELINE)
        y, _ = run_module(module, [x], open_device("cpu"))
    np.testing.assert_allclose(y, x @ w[-256:].astype(np.float32), rtol=1e-4, atol=1e-3)


def _graphs(model: Model, path: Path) -> int:
    return _graphs_of(model.save(path))


def _graphs_of(path: Path) -> int:
    program = hipgraft.compile(path, "gfx942", compile_to="hipdnn-graphs")
    return sum(op.name == "hipdnn.graph" for op in walk(program.module.operation))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(16))
def test_few_rows_take_one_graph_by_columns(tmp_path: Path, seed: int):
    random, by_columns = np.random.default_rng(200 + seed), seed % 3 > 0
    rows = 1 + seed % 16
    model = dequantized(random, rows, columns=33, least_depth=LEAST_DEPTH, by_columns=by_columns)
    assert _graphs(model, tmp_path / "m.onnx") == (1 if by_columns else 2)


def test_many_rows_take_two(tmp_path: Path):
    model = dequantized(np.random.default_rng(5), rows=64, columns=33, by_columns=True)
    assert _graphs(model, tmp_path / "m.onnx") == 2
