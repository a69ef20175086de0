"""Composed operators against onnxruntime: extrema, bags of embeddings, images from blocks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_onnx import F32, check, drawn, save

import hipgraft

pytestmark = pytest.mark.slow


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("reduction", "dtype"), [("max", np.float32), ("min", np.int64)])
@pytest.mark.parametrize("axis", [0, -1])
def test_extrema_at_indices_from_both_ends(
    tmp_path: Path, reduction: str, dtype: type, axis: int
) -> None:
    node = helper.make_node(
        "ScatterElements", ["x", "i", "u"], ["y"], axis=axis, reduction=reduction
    )
    random = np.random.default_rng(1)
    inputs = {
        "x": (drawn(5, 4) * 3).astype(dtype),
        "i": random.integers(-4, 4, (5, 4)).astype(np.int32),
        "u": (random.standard_normal((5, 4)) * 5).astype(dtype),
    }
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", element)]), inputs)


@pytest.mark.parametrize(
    ("reduction", "combine"),
    [("add", np.logical_or), ("max", np.logical_or), ("mul", np.logical_and)],
)
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_booleans_are_combined(op: str, reduction: str, combine: np.ufunc) -> None:
    random = np.random.default_rng(2)
    x, updates = random.random(5) < 0.5, random.random(9) < 0.5
    indices = random.integers(-5, 5, 9)
    stored = indices if op == "ScatterElements" else indices[:, None]
    values = (("x", x), ("i", stored), ("u", updates))
    node = helper.make_node(op, ["x", "i", "u"], ["y"], reduction=reduction)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
            )
            for name, value in values
        ],
        [helper.make_tensor_value_info("y", TensorProto.BOOL, x.shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    (found,) = hipgraft.compile(model, "cpu").run([x, stored, updates])
    expected = x.copy()
    combine.at(expected, indices, updates)
    np.testing.assert_array_equal(found, expected)


def bags(path: Path, *, sort: bool) -> tuple[Path, dict[str, np.ndarray]]:
    """Means of bags, as PyTorch's exporter writes them: a loop that reads values around it."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Gather", ["starts", "step"], ["start"]),
            helper.make_node("Gather", ["stops", "step"], ["stop"]),
            helper.make_node("Unsqueeze", ["start", "axis"], ["first"]),
            helper.make_node("Unsqueeze", ["stop", "axis"], ["last"]),
            helper.make_node("Slice", ["flat", "first", "last", "axis"], ["bag"]),
            helper.make_node("Gather", ["table", "bag"], ["rows"]),
            helper.make_node("ReduceMean", ["rows"], ["row"], axes=[0], keepdims=0),
            helper.make_node("Cast", ["always"], ["more"], to=TensorProto.BOOL),
        ],
        "body",
        [value("step", TensorProto.INT64, []), value("given", TensorProto.BOOL, [])],
        [value("more", TensorProto.BOOL, []), value("row", F32, [4])],
    )
    nodes = [
        helper.make_node("Reshape", ["ids", "line"], ["flat"]),
        helper.make_node("Loop", ["count", "always"], ["y"], body=body),
    ]
    inputs = {"ids": np.array([[1, 5, 2], [0, 0, 3]])}
    constants = {
        "starts": np.array([0, 2, 5]), "stops": np.array([2, 5, 6]), "axis": np.array([0]),
        "line": np.array([-1]), "table": drawn(6, 4), "count": np.array(3),
        "always": np.array(True),
    }  # fmt: skip
    save(path, nodes, inputs, [("y", F32)], constants, opset=17)
    if not sort:
        model = onnx.load(path)
        ordered = list(model.graph.node)[::-1]
        del model.graph.node[:]
        model.graph.node.extend(ordered)
        onnx.save(model, path)
    return path, inputs


@pytest.mark.parametrize("sort", [True, False], ids=["in order", "read before it is made"])
def test_bags_of_embeddings(tmp_path: Path, sort: bool) -> None:
    path, inputs = bags(tmp_path / "m.onnx", sort=sort)
    check(path, inputs)


IMAGES = [
    {"image": [6, 4], "block": [2, 2], "strides": [2, 2]},
    {"image": [5, 6], "block": [3, 3], "pads": [1, 1, 1, 1]},
    {
        "image": [8, 7],
        "block": [3, 2],
        "strides": [2, 3],
        "dilations": [1, 2],
        "pads": [1, 0, 0, 2],
    },
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", IMAGES, ids=str)
def test_images_from_blocks(tmp_path: Path, form: dict[str, list[int]]) -> None:
    form = dict(form)
    image, block = form.pop("image"), form.pop("block")
    strides, dilations = form.get("strides", [1, 1]), form.get("dilations", [1, 1])
    pads = form.get("pads", [0] * 4)
    counts = [
        (image[n] + pads[n] + pads[n + 2] - dilations[n] * (block[n] - 1) - 1) // strides[n] + 1
        for n in range(2)
    ]
    inputs = {"x": drawn(2, 3 * block[0] * block[1], counts[0] * counts[1])}
    node = helper.make_node("Col2Im", ["x", "i", "b"], ["y"], **form)
    constants = {"i": np.array(image), "b": np.array(block)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants), inputs)


TRANSPOSED = [
    {"strides": [2, 2], "pads": [1, 0, 0, 1], "output_padding": [0, 1]},
    {"strides": [2, 3], "auto_pad": "SAME_UPPER"},
    {"strides": [2, 2], "auto_pad": "SAME_LOWER", "dilations": [2, 1]},
    {"strides": [3, 2], "output_shape": [10, 8]},
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", TRANSPOSED, ids=str)
def test_transposed_convolutions_that_are_cropped(tmp_path: Path, form: dict[str, object]) -> None:
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **form)
    inputs = {"x": drawn(1, 2, 4, 5)}
    constants = {"w": drawn(2, 3, 3, 4), "b": drawn(3)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants), inputs, 1e-4)


@pytest.mark.parametrize(
    ("form", "slices"),
    [
        ({"strides": [2, 2], "pads": [1, 1, 1, 1], "auto_pad": "NOTSET"}, 0),
        ({"strides": [2, 2], "pads": [1, 1, 0, 0]}, 0),
        ({"strides": [2, 2], "pads": [0, 1, 1, 1]}, 1),
        ({"strides": [1, 1], "pads": [1, 0, 0, 1]}, 2),
    ],
    ids=str,
)
def test_crops_of_transposed_convolutions(
    tmp_path: Path, form: dict[str, object], slices: int
) -> None:
    """Equal padding is the convolution's own, and so is more padding at the start, if possible."""
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **form)
    inputs = {"x": drawn(1, 2, 4, 5)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], {"w": drawn(2, 3, 3, 4)})
    text = str(hipgraft.compile(path, "cpu", compile_to="torch").module)
    assert text.count("torch.aten.slice.Tensor") == slices


SCATTERED = """func.func @main(%x: !torch.vtensor<[3,4],f32>, %i: !torch.vtensor<[3,2],si64>,
    %u: !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[3,4],f32> {
  %dim = torch.constant.int -1
  %how = torch.constant.str "amax"
  %yes = torch.constant.bool true
  %y = torch.aten.scatter_reduce.two %x, %dim, %i, %u, %how, %yes
      : !torch.vtensor<[3,4],f32>, !torch.int, !torch.vtensor<[3,2],si64>,
        !torch.vtensor<[3,2],f32>, !torch.str, !torch.bool -> !torch.vtensor<[3,4],f32>
  return %y : !torch.vtensor<[3,4],f32>
}
"""


def test_dim_from_the_last(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(SCATTERED)
    x, u = drawn(3, 4), drawn(3, 2) + 1
    i = np.array([[3, 3], [0, 2], [1, 0]])
    (found,) = hipgraft.compile(tmp_path / "m.mlir", "cpu").run([x, i, u])
    wanted = x.copy()
    for row, column in np.ndindex(3, 2):
        wanted[row, i[row, column]] = max(wanted[row, i[row, column]], u[row, column])
    np.testing.assert_array_equal(found, wanted)


def test_the_compiler_still_crashes_at_a_dim_from_the_last(tmp_path: Path) -> None:
    """Otherwise the workaround can go."""
    (tmp_path / "m.mlir").write_text(SCATTERED)
    code = (
        "import sys\n"
        "from hipgraft.codegen.workarounds import without\n"
        "from hipgraft.codegen.workarounds.scatter_dim import SCATTER_DIM\n"
        "from hipgraft.compiler.program import compile\n"
        "from hipgraft.service import CompileService, InProcess, use_service\n"
        "with without(SCATTER_DIM), CompileService(InProcess()) as service, use_service(service):\n"
        "    compile(sys.argv[1], 'cpu')\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "m.mlir")]
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0
