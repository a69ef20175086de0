"""Running sums and indices of extreme elements on GPUs, against numpy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmark_modules import benchmark
from emulator import requires_emulator
from onnx import TensorProto, helper
from small_onnx import save

import hipgraft
from hipgraft.codegen.target import Target

Array = np.ndarray[Any, Any]

TARGETS = ("gfx942", "gfx950", "gfx1100")
# In blocks, in blocks with padding, in one step, too short for one.
LENGTHS = (3, 9, 37, 64, 197, 211, 500, 1024, 2048, 4099)


def _onnx(
    folder: Path, op: str, x: Array, result: Array, constants=None, **attributes: Any
) -> Path:
    node = helper.make_node(op, ["x", *(constants or {})], ["y"], **attributes)
    kind = helper.np_dtype_to_tensor_dtype(result.dtype)
    return save(folder / "model.onnx", [node], {"x": x}, [("y", kind)], constants)


def _run(path: Path, target: str, *inputs: Array) -> list[Array]:
    with hipgraft.compile(path, target=target) as program:
        return program.run(list(inputs), device=f"emulator:{target}")


def _along(op: str, shape: tuple[int, ...], dim: int, folder: Path) -> Path:
    x = np.zeros(shape, np.float32)
    if op == "CumSum":
        return _onnx(folder, op, x, x, {"axis": np.array(dim, np.int64)})
    return _onnx(folder, op, x, x.max(dim, keepdims=True).astype(np.int64), axis=dim)


def _shape(draw: np.random.Generator) -> tuple[tuple[int, ...], int]:
    """Returns a shape, and a dim of one of the lengths."""
    length = int(draw.choice(LENGTHS))
    most = max(1, 20000 // length)
    shape = [int(draw.integers(1, min(most, 6) + 1)) for _ in range(draw.integers(0, 3))]
    dim = int(draw.integers(0, len(shape) + 1))
    return (*shape[:dim], length, *shape[dim:]), dim


@requires_emulator
@pytest.mark.sampled(52)
@pytest.mark.parametrize("seed", range(48))
def test_running_sums(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    shape, dim = _shape(draw)
    element = [np.float32, np.float16, np.int32, np.int64][seed % 4]
    x = (
        draw.integers(-9, 9, shape).astype(element)
        if seed % 4 > 1
        else draw.uniform(-1, 1, shape).astype(element)
    )
    is_exclusive, is_reverse = (bool(draw.integers(0, 4) == 0) for _ in range(2))
    wide = np.flip(x, dim) if is_reverse else x
    want = np.cumsum(wide.astype(np.int64 if seed % 4 > 1 else np.float64), dim)
    want = want - wide if is_exclusive else want
    want = np.flip(want, dim) if is_reverse else want
    flags = {"exclusive": int(is_exclusive), "reverse": int(is_reverse)}
    axis = {"axis": np.array(dim - len(shape) * (seed % 2), np.int64)}
    (got,) = _run(_onnx(tmp_path, "CumSum", x, x, axis, **flags), TARGETS[seed % 3], x)
    assert got.dtype == x.dtype
    bound = 2e-3 if element is np.float16 else 1e-5
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound * 10 * np.abs(want).max())


@pytest.mark.sampled(4)
@requires_emulator
@pytest.mark.parametrize("target", ["cpu", "gfx942"])
@pytest.mark.parametrize("count", [8, 3000])
def test_short_floats_are_added_in_f32(count: int, target: str, tmp_path: Path) -> None:
    """In f16, 2048 + 1 is 2048; in few elements, 2048 + 1 - 2048 is 0."""
    x = np.ones((2, count), np.float16)
    x[1, :3] = 2048, 1, -2048
    path = _onnx(tmp_path, "CumSum", x, x, {"axis": np.array(1, np.int64)})
    with hipgraft.compile(path, target=target) as program:
        device = "cpu" if target == "cpu" else f"emulator:{target}"
        (got,) = program.run([x], device=device)
    np.testing.assert_array_equal(got, np.cumsum(x.astype(np.float32), 1).astype(np.float16))


@requires_emulator
@pytest.mark.sampled(52)
@pytest.mark.parametrize("seed", range(48))
def test_indices_of_extremes(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    shape, dim = _shape(draw)
    dim = len(shape) - 1 if seed % 3 else dim  # contiguous rows
    element = [np.float32, np.float16, np.int32, np.int8][seed % 4]
    x = draw.integers(-9, 9, shape).astype(element)  # with equal elements
    if seed % 4 < 2:
        x[x == 0] *= draw.choice([-1, 1], (x == 0).sum()).astype(element)
        x[draw.uniform(size=shape) < 0.1] = -np.inf
    is_least, is_last = bool(draw.integers(0, 2)), bool(draw.integers(0, 2))
    places = np.flip(x, dim) if is_last else x
    want = np.expand_dims((np.argmin if is_least else np.argmax)(places, dim), dim)
    want = shape[dim] - 1 - want if is_last else want
    flags = {"axis": dim, "select_last_index": int(is_last)}
    op = "ArgMin" if is_least else "ArgMax"
    (got,) = _run(_onnx(tmp_path, op, x, want, **flags), TARGETS[seed % 3], x)
    np.testing.assert_array_equal(got, want)


_BOTH = """
func.func @main(%x: {tensor}) -> ({values}, {indices}) {{
  %r:2 = "hipdnn.fallback"(%x) ({{
  ^bb0(%a: {tensor}):
    %0 = torch_c.from_builtin_tensor %a : {tensor} -> {vtensor}
    %dim = torch.constant.int -1
    %keeps = torch.constant.bool false
    %y, %i = torch.aten.{op}.dim %0, %dim, %keeps
      : {vtensor}, !torch.int, !torch.bool -> {vvalues}, {vindices}
    %1 = torch_c.to_builtin_tensor %y : {vvalues} -> {values}
    %2 = torch_c.to_builtin_tensor %i : {vindices} -> {indices}
    "hipdnn.yield"(%1, %2) : ({values}, {indices}) -> ()
  }}) {{name = "g"}} : ({tensor}) -> ({values}, {indices})
  return %r#0, %r#1 : {values}, {indices}
}}
"""


@pytest.mark.sampled(8)
@requires_emulator
@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize(
    ("element", "kind", "dtype"),
    [("f32", "f32", np.float32), ("f16", "f16", np.float16), ("i32", "si32", np.int32)],
)
def test_elements_beside_their_indices(
    element: str, kind: str, dtype: Any, op: str, tmp_path: Path
) -> None:
    rows, count = 3, 4608  # in parts
    path = tmp_path / "both.mlir"
    types = {
        "tensor": f"tensor<{rows}x{count}x{element}>",
        "values": f"tensor<{rows}x{element}>",
        "indices": f"tensor<{rows}xi64>",
        "vtensor": f"!torch.vtensor<[{rows},{count}],{kind}>",
        "vvalues": f"!torch.vtensor<[{rows}],{kind}>",
        "vindices": f"!torch.vtensor<[{rows}],si64>",
    }
    path.write_text(_BOTH.format(op=op, **types))
    x = np.random.default_rng(0).integers(-2000, 2000, (rows, count)).astype(dtype)
    values, indices = _run(path, "gfx942", x)
    find = np.argmax if op == "max" else np.argmin
    np.testing.assert_array_equal(indices, find(x, -1))
    np.testing.assert_array_equal(values, getattr(x, op)(-1))


@requires_emulator
def test_not_a_number_is_the_largest(tmp_path: Path) -> None:
    """A NaN of either sign ranks highest, as in PyTorch; ONNX defines no result."""
    x = np.arange(64, dtype=np.float32).reshape(1, 64)
    x[0, 5] = -np.nan
    path = _onnx(tmp_path, "ArgMax", x, np.zeros((1, 1), np.int64), axis=1)
    assert _run(path, "gfx942", x)[0] == 5


@requires_emulator
@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_zeros_of_either_sign_are_equal(op: str, tmp_path: Path) -> None:
    sign = -1 if op == "ArgMax" else 1
    x = np.full((1, 64), sign, np.float32)
    x[0, 10], x[0, 20] = sign * 0.0, sign * -0.0
    path = _onnx(tmp_path, op, x, np.zeros((1, 1), np.int64), axis=1)
    assert _run(path, "gfx942", x)[0] == 10


@requires_emulator
@pytest.mark.parametrize("element", [np.float64, np.int64])
def test_elements_of_64_bits_are_compared_whole(element: Any, tmp_path: Path) -> None:
    """Their upper halves, and their values in f32, are equal."""
    x = ((1 << 40) + np.arange(64)).astype(element).reshape(1, 64)
    path = _onnx(tmp_path, "ArgMax", x, np.zeros((1, 1), np.int64), axis=1)
    assert _run(path, "gfx942", x)[0] == 63


@requires_emulator
def test_parts_of_elements_that_are_apart(tmp_path: Path) -> None:
    x = np.random.default_rng(2).uniform(-1, 1, (2, 256, 3)).astype(np.float32)
    want = np.argmax(x, 1, keepdims=True)
    assert (want >= 32).any()  # beyond the first of 8 parts
    np.testing.assert_array_equal(
        _run(_along("ArgMax", x.shape, 1, tmp_path), "gfx942", x)[0], want
    )


@pytest.mark.sampled(8)
@requires_emulator
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("element", [np.int8, np.int32, np.int64])
def test_extremes_of_integers_without_their_indices(element: Any, op: str, tmp_path: Path) -> None:
    bounds = np.iinfo(element)
    x = np.random.default_rng(1).integers(
        bounds.min, bounds.max, (3, 40, 5), element, endpoint=True
    )
    want = (np.max if op == "ReduceMax" else np.min)(x, 1, keepdims=True)
    path = _onnx(tmp_path, op, x, want, {"axes": np.array([1], np.int64)})
    np.testing.assert_array_equal(_run(path, "gfx942", x)[0], want)
    fallback = str(hipgraft.compile(path, target="gfx942", compile_to="hipdnn-linalg").module)
    assert fallback.count("linalg.fill") == 1  # IREE fills an index, too


@pytest.mark.sampled(8)
# Estimates of scans that took milliseconds with one work item per row.
@requires_emulator
@pytest.mark.parametrize(
    ("op", "shape", "dim", "most"),
    [
        ("CumSum", (8, 1000), 1, 15),
        ("CumSum", (1, 32000), 1, 35),
        ("CumSum", (1000, 300), 0, 25),
        ("ArgMax", (1, 128256), 1, 15),
        ("ArgMax", (8, 1000), 1, 6),
    ],
)
def test_lanes_share_rows(
    op: str, shape: tuple[int, ...], dim: int, most: float, tmp_path: Path
) -> None:
    path = _along(op, shape, dim, tmp_path)
    times, target = benchmark("estimated_times"), Target.parse("gfx942")
    _, microseconds = times.total(times.rows_of(times.hipgraft_parts(path, target)), target)
    assert microseconds < most


def _pairs(*shapes: str) -> list[str]:
    """Returns the types of keys with indices."""
    return [f"{shape}x{element}" for shape in shapes for element in ("i32", "i64")]


# The loops of each size, as the tensors they fill show.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "shape", "dim", "filled"),
    [
        ("CumSum", (2, 8), 1, []),
        ("CumSum", (2, 9), 1, ["2x9x1xf32"]),
        ("CumSum", (2, 384), 1, ["2x384x1xf32"]),
        ("CumSum", (2, 385), 1, ["70x1xf32", "2x35x1xf32", "70x11x1xf32"]),
        ("CumSum", (300, 384), 1, ["7200x1xf32", "300x24x1xf32", "7200x16x1xf32"]),
        ("ArgMax", (2, 31), 1, []),
        ("ArgMax", (2, 32), 1, ["2xi64"]),
        ("ArgMax", (1, 64), 1, ["i64"]),
        ("ArgMax", (8, 65536), 1, ["8x16xi64", "8xi64"]),
        ("ArgMax", (1, 262144), 1, ["128xi64", "i64"]),
        (
            "ArgMax",
            (8, 4096, 512),
            1,
            _pairs("8x64x512", "8x512"),
        ),
        ("ArgMax", (2, 4096, 64), 1, _pairs("2x64x64", "2x64")),
        ("ArgMax", (3, 37, 10), 1, _pairs("3x1x10")),
    ],
)
def test_sizes_choose_the_loops(
    op: str, shape: tuple[int, ...], dim: int, filled: list[str], tmp_path: Path
) -> None:
    path = _along(op, shape, dim, tmp_path)
    assert _filled(path, "gfx942") == filled


def test_lanes_of_narrow_wavefronts_do_not_share_short_rows(tmp_path: Path) -> None:
    """Compared one after the other, keys above indices take LLVM forever to compile."""
    path = _along("ArgMax", (100000, 40), 1, tmp_path)
    assert _filled(path, "gfx942") == ["100000xi64"]
    assert _filled(path, "gfx1100") == _pairs("100000x1x1")


def _filled(path: Path, target: str) -> list[str]:
    module = hipgraft.compile(path, target=target, compile_to="hipdnn-linalg").module
    return re.findall(r"linalg\.fill .* -> tensor<(\S+)>", str(module))


@requires_emulator
def test_transposed_elements(tmp_path: Path) -> None:
    """Scores of classes, as in YOLO's head: LLVM does not finish compiling keys of such rows."""
    x = np.random.default_rng(3).uniform(-1, 1, (1, 44, 70)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["x"], ["rows"], perm=[0, 2, 1]),
        helper.make_node("Slice", ["rows", "start", "end", "axis"], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["y"], axis=-1, keepdims=0),
        helper.make_node("ReduceMax", ["scores", "axis"], ["z"], keepdims=0),
    ]
    constants = {"start": np.array([4]), "end": np.array([44]), "axis": np.array([2])}
    results = [("y", TensorProto.INT64), ("z", TensorProto.FLOAT)]
    path = save(tmp_path / "m.onnx", nodes, {"x": x}, results, constants)
    index, largest = _run(path, "gfx942", x)
    np.testing.assert_array_equal(index, np.argmax(x[:, 4:], 1))
    np.testing.assert_array_equal(largest, x[:, 4:].max(1))


@requires_emulator
def test_chosen_of_transposed_elements(tmp_path: Path) -> None:
    """The transpose reaches the kernel through an operator whose other operand is contiguous."""
    draw = np.random.default_rng(4)
    x = draw.uniform(-1, 1, (1, 40, 70)).astype(np.float32)
    mask = draw.uniform(size=(1, 70, 40)) < 0.5
    nodes = [
        helper.make_node("Transpose", ["x"], ["rows"], perm=[0, 2, 1]),
        helper.make_node("Where", ["mask", "rows", "least"], ["some"]),
        helper.make_node("ArgMax", ["some"], ["y"], axis=-1, keepdims=0),
    ]
    inputs = {"x": x, "mask": mask}
    constants = {"least": np.float32(-9)}
    path = save(tmp_path / "m.onnx", nodes, inputs, [("y", TensorProto.INT64)], constants)
    want = np.where(mask, x.transpose(0, 2, 1), -9).argmax(-1)
    np.testing.assert_array_equal(_run(path, "gfx942", x, mask)[0], want)


@requires_emulator
def test_rows_of_a_codebook_at_the_nearest_one(tmp_path: Path) -> None:
    """IREE would fuse the read of the codebook; one work item then compares 32 elements."""
    draw = np.random.default_rng(5)
    distances, norms = draw.uniform(size=(24, 32)), draw.uniform(size=(24, 1))
    book = draw.uniform(size=(32, 16)).astype(np.float32)
    inputs = {"x": distances.astype(np.float32), "y": norms.astype(np.float32), "book": book}
    nodes = [
        helper.make_node("Add", ["x", "y"], ["sum"]),
        helper.make_node("Sqrt", ["sum"], ["root"]),
        helper.make_node("ArgMin", ["root"], ["nearest"], axis=-1),
        helper.make_node("Expand", ["nearest", "shape"], ["index"]),
        helper.make_node("GatherElements", ["book", "index"], ["rows"], axis=0),
    ]
    results = [("rows", TensorProto.FLOAT), ("nearest", TensorProto.INT64)]
    path = save(tmp_path / "m.onnx", nodes, inputs, results, {"shape": np.array([24, 16])})
    rows, nearest = _run(path, "gfx942", *inputs.values())
    np.testing.assert_array_equal(nearest[:, 0], distances.argmin(1))
    np.testing.assert_array_equal(rows, book[nearest[:, 0]])
