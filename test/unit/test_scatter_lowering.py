"""Scatters on GPUs that reduce elements or keep the last one, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from emulator import requires_emulator
from onnx import helper

import hipgraft
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.target import Target
from hipgraft.emulator import Check, EmulatorDevice
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError

Array = np.ndarray[Any, Any]
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "none": lambda _, last: last,
}


def scattered(x: Array, index: Array, source: Array, axis: int, mode: str) -> Array:
    result = x.copy()
    for at in np.ndindex(*index.shape):
        home = (*at[:axis], index[at], *at[axis + 1 :])
        result[home] = COMBINE[mode](result[home], source[at])
    return result


def operands(
    shape: tuple[int, ...], count: int, axis: int, kind: str
) -> tuple[Array, Array, Array]:
    draw = np.random.default_rng(count)
    taken = (*shape[:axis], count, *shape[axis + 1 :])
    x, source = (
        draw.integers(-9, 9, extents).astype(np.int64).astype(kind) for extents in (shape, taken)
    )
    return x, draw.integers(-shape[axis], shape[axis], taken), source


def model(path: Path, values: tuple[Array, Array, Array], axis: int, mode: str) -> Path:
    """Writes a model that scatters into its first input."""
    x, index, source = values
    node = helper.make_node("ScatterElements", ["x", "i", "s"], ["y"], axis=axis, reduction=mode)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [node],
        "scattered",
        [
            helper.make_tensor_value_info("x", kind, x.shape),
            helper.make_tensor_value_info("i", onnx.TensorProto.INT64, index.shape),
            helper.make_tensor_value_info("s", kind, source.shape),
        ],
        [helper.make_tensor_value_info("y", kind, x.shape)],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path
    )
    return path


CASES = [
    ((5, 3), 40, 0, "add", "float32", "gfx942"),
    ((5, 3), 4, 0, "none", "float32", "gfx1100"),
    ((3, 4, 2), 7, 1, "none", "float16", "gfx942"),
    ((3, 4, 2), 7, 1, "add", "float32", "gfx1100"),
    ((6,), 33, 0, "max", "float32", "gfx1100"),
    ((2, 7), 64, 1, "min", "float16", "gfx942"),
    ((4, 2), 96, 0, "add", "int64", "gfx942"),
    ((4, 2), 6, 0, "max", "int32", "gfx1100"),
    ((9, 8), 1, 0, "add", "float16", "gfx942"),
    ((4, 2), 16, 0, "max", "uint8", "gfx942"),
    ((300,), 200, 0, "none", "int64", "gfx942"),
    ((2, 9), 64, 1, "none", "int8", "gfx1100"),
]


@requires_emulator
@pytest.mark.sampled(4)
@pytest.mark.parametrize(("shape", "count", "axis", "mode", "kind", "architecture"), CASES)
def test_on_gpus(
    shape: tuple[int, ...],
    count: int,
    axis: int,
    mode: str,
    kind: str,
    architecture: str,
    tmp_path: Path,
) -> None:
    values = operands(shape, count, axis, kind)
    wanted = scattered(values[0], values[1] % shape[axis], values[2], axis, mode)
    assert not np.array_equal(wanted, values[0])
    path = model(tmp_path / "m.onnx", values, axis, mode)
    inputs = dict(zip(("x", "i", "s"), values, strict=True))
    with hipgraft.compile(path, target=architecture) as program:
        (found,) = program.run(inputs, device=f"emulator:{architecture}")
    np.testing.assert_array_equal(found, wanted)


UNSIGNED = [
    ("uint8", "max"), ("uint8", "min"), ("uint8", "mul"), ("uint16", "max"), ("uint32", "min"),
    ("uint64", "add"), ("int8", "max"),
]  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("kind", "mode"), UNSIGNED)
def test_integers_without_a_sign(kind: str, mode: str, tmp_path: Path) -> None:
    values = operands((4, 2), 16, 0, kind)
    path = model(tmp_path / "m.onnx", values, 0, mode)
    with hipgraft.compile(path, target="cpu") as program:
        (found,) = program.run(dict(zip("xis", values, strict=True)))
    np.testing.assert_array_equal(found, scattered(values[0], values[1] % 4, values[2], 0, mode))


@pytest.mark.parametrize(("columns", "count"), [(2, 0), (0, 3)])
def test_no_elements(columns: int, count: int, tmp_path: Path) -> None:
    values = (
        np.ones((4, columns)),
        np.zeros((count, columns), np.int64),
        np.ones((count, columns)),
    )
    path = model(tmp_path / "m.onnx", values, 0, "add")
    with hipgraft.compile(path, target="cpu") as program:
        (found,) = program.run(dict(zip("xis", values, strict=True)))
    np.testing.assert_array_equal(found, values[0])


def test_extrema_of_large_integers_without_a_sign_are_refused(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", operands((4, 2), 16, 0, "uint64"), 0, "max")
    with pytest.raises(HipgraftError, match="'ScatterElements' with elements of type ui64"):
        hipgraft.compile(path, target="cpu")


@pytest.mark.parametrize(
    ("target", "mode", "rows", "count", "is_left"),
    [
        ("gfx942", "add", 8, 4, False),
        ("gfx942", "mul", 8, 4, True),
        ("gfx942", "add", (1 << 18) + 1, 4, True),
        ("cpu", "add", 8, 4, True),
        ("gfx942", "none", 8, 4, False),
        ("gfx942", "none", (1 << 18) + 1, 4, True),
        ("gfx942", "none", 1 << 17, 1 << 16, False),
        ("gfx942", "none", 1 << 17, (1 << 16) + 1, True),
    ],
)
def test_which_forms_are_left_to_iree(
    target: str, mode: str, rows: int, count: int, is_left: bool, tmp_path: Path
) -> None:
    path = model(tmp_path / "m.onnx", operands((rows, 2), count, 0, "float32"), 0, mode)
    text = str(hipgraft.compile(path, target=target, compile_to="hipdnn-linalg").module)
    # The container keeps the op beside the module that it is lowered to.
    op = "torch.aten.scatter.src" if mode == "none" else "torch.aten.scatter_reduce.two"
    assert text.count(op) == 1 + is_left


# How `torch.scatter_reduce` reads a container.
_TORCH = """
func.func private @f() {{
  %x:3 = "test.source"() : () -> (tensor<4x2x{0}>, tensor<6x2xi64>, tensor<6x2x{0}>)
  %g = "hipdnn.fallback"(%x#0, %x#1, %x#2) ({{
  ^bb0(%a: tensor<4x2x{0}>, %b: tensor<6x2xi64>, %c: tensor<6x2x{0}>):
    %0 = torch_c.from_builtin_tensor %a : tensor<4x2x{0}> -> !torch.vtensor<[4,2],{0}>
    %1 = torch_c.from_builtin_tensor %b : tensor<6x2xi64> -> !torch.vtensor<[6,2],si64>
    %2 = torch_c.from_builtin_tensor %c : tensor<6x2x{0}> -> !torch.vtensor<[6,2],{0}>
    %dim = torch.constant.int 0
    %mode = torch.constant.str "amax"
    %own = torch.constant.bool {1}
    %3 = torch.aten.scatter_reduce.two %0, %dim, %1, %2, %mode, %own : !torch.vtensor<[4,2],{0}>,
      !torch.int, !torch.vtensor<[6,2],si64>, !torch.vtensor<[6,2],{0}>, !torch.str, !torch.bool
      -> !torch.vtensor<[4,2],{0}>
    %4 = torch_c.to_builtin_tensor %3 : !torch.vtensor<[4,2],{0}> -> tensor<4x2x{0}>
    "hipdnn.yield"(%4) : (tensor<4x2x{0}>) -> ()
  }}) {{name = "g"}} : (tensor<4x2x{0}>, tensor<6x2xi64>, tensor<6x2x{0}>) -> tensor<4x2x{0}>
  return
}}
"""


@pytest.mark.parametrize(
    ("element", "own", "is_left"),
    [("f32", "true", False), ("f32", "false", True), ("i1", "true", True)],
)
def test_torch_forms_that_are_left(element: str, own: str, is_left: bool) -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(_TORCH.format(element, own))
        block = module.body.operations[0].operation.regions[0].blocks[0]
        (op,) = [one for one in block.operations if one.operation.name == "hipdnn.fallback"]
        text = lower_container(op, Target.parse("gfx942"))
    assert ("scatter_reduce" in text) == is_left


@requires_emulator
@pytest.mark.parametrize("kind", ["bool", "uint8"])
def test_the_last_element_of_any_type_is_kept(kind: str, tmp_path: Path) -> None:
    values = operands((7, 3), 64, 0, kind)
    path = model(tmp_path / "m.onnx", values, 0, "none")
    with hipgraft.compile(path, target="gfx942") as program:
        device = EmulatorDevice("gfx942", check=Check.RACES)
        (result,) = program.run(dict(zip("xis", values, strict=True)), device=device)
    wanted = scattered(values[0], values[1] % 7, values[2], 0, "none")
    np.testing.assert_array_equal(result, wanted)
    assert not device.findings


@requires_emulator
@pytest.mark.parametrize("mode", ["add", "none"])
def test_elements_are_looked_for_in_parts(mode: str, tmp_path: Path) -> None:
    """640 elements for each of 256 results are 40 parts of 16, whose results are combined."""
    values = operands((128, 2), 640, 0, "float32")
    path = model(tmp_path / "m.onnx", values, 0, mode)
    with hipgraft.compile(path, target="gfx942") as program:
        text = str(program.module)
        (found,) = program.run(dict(zip("xis", values, strict=True)), device="emulator")
    wanted = scattered(values[0], values[1] % 128, values[2], 0, mode)
    np.testing.assert_array_equal(found, wanted)
    assert "40x128x2x16" in text
