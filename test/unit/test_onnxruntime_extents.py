"""Symbolic dimensions of sessions: programs for all extents, or for those that occur."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from emulator import open_emulator, requires_emulator
from onnx import TensorProto, helper, numpy_helper
from session_requests import ask, check, drawn, session

import hipgraft
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.onnxruntime import further
from hipgraft.onnxruntime.extents import any_extents
from hipgraft.onnxruntime.further import make_further
from hipgraft.onnxruntime.graph import SessionGraph
from hipgraft.onnxruntime.request import Request, find_answer

F32 = TensorProto.FLOAT
node, info = helper.make_node, helper.make_tensor_value_info


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.getbasetemp() / "onnxruntime-cache"
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(folder))
    return folder


def model_of(
    nodes: list[onnx.NodeProto], inputs: Mapping[str, list[Any]], **constants: Any
) -> onnx.ModelProto:
    """Makes a model with the result `y`."""
    graph = helper.make_graph(
        nodes,
        "g",
        [info(name, F32, shape) for name, shape in inputs.items()],
        [info("y", F32, None)],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def flat_rows() -> onnx.ModelProto:
    """A product whose rows a shape that is computed joins."""
    return model_of(
        [
            node("MatMul", ["x", "w"], ["m"]),
            node("Shape", ["m"], ["s"], end=1),
            node("Concat", ["s", "rest"], ["shape"], axis=0),
            node("Reshape", ["m", "shape"], ["flat"]),
            node("Softmax", ["flat"], ["y"]),
        ],
        {"x": ["batch", "seq", 4]},
        w=np.random.default_rng(2).normal(size=(4, 80)).astype(np.float32),
        rest=[-1],
    )


def reasons(answer: Mapping[str, Any]) -> dict[str, str]:
    return {one["op"]: one["reason"] for one in answer["left"]}


@pytest.mark.slow
def test_one_program_for_all_extents(tmp_path: Path) -> None:
    model = flat_rows()
    answer = ask(model, tmp_path / "r")
    (group,) = answer["groups"]
    assert (group["nodes"], group["variants"]) == ([0, 1, 2, 3, 4], [])
    for batch, seq in ((1, 1), (3, 5), (2, 17)):
        check(model, answer, drawn(model, {"batch": batch, "seq": seq}))


@pytest.mark.slow
def test_a_dimension_without_a_name(tmp_path: Path) -> None:
    model = model_of([node("Exp", ["x"], ["e"]), node("Neg", ["e"], ["y"])], {"x": [None, 3]})
    answer = ask(model, tmp_path / "r")
    assert not answer["left"]
    check(model, answer, {"x": np.ones((5, 3), np.float32)})


@pytest.mark.slow
def test_a_part_of_a_table(tmp_path: Path) -> None:
    """The slice ends at the table's end, but its extent is still not fixed."""
    model = model_of(
        [
            node("Shape", ["x"], ["rows"], start=1, end=2),
            node("Slice", ["table", "first", "rows", "first"], ["part"]),
            node("Concat", ["x", "x"], ["twice"], axis=2),
            node("Add", ["twice", "part"], ["y"]),
        ],
        {"x": ["batch", "rows", 2]},
        table=np.arange(64 * 4, dtype=np.float32).reshape(64, 4),
        first=[0],
    )
    answer = ask(model, tmp_path / "r")
    assert [2, 3] in [group["nodes"] for group in answer["groups"]]
    for rows in (1, 7, 64):
        check(model, answer, drawn(model, {"batch": 2, "rows": rows}))


def test_symbols_are_told_apart(tmp_path: Path) -> None:
    """The first three symbols never have equal extents in all examples."""
    names = ["a", "b", "c", "d", "e"]
    graph = SessionGraph(_saved(model_of([node("Exp", ["x"], ["y"])], {"x": names}), tmp_path))
    types = any_extents(graph, {})
    assert types.dims["x"] == types.dims["y"] == tuple(names)


def test_nodes_of_a_part_are_named_for_errors(tmp_path: Path) -> None:
    nodes = [node("Exp", ["x"], ["y"]), node("Neg", ["y"], ["z"])]
    nodes[1].name = "last"
    graph = SessionGraph(_saved(model_of(nodes, {"x": [4]}), tmp_path))
    infos = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xyz"}
    part = graph.extract([0, 1], infos).graph
    assert [one.name for one in part.node] == ["0:Exp", "1:last"]
    assert [one.name for one in part.input] == ["x"]


def _saved(model: onnx.ModelProto, folder: Path) -> Path:
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("nodes", "inputs"),
    [
        ([node("Add", ["x", "z"], ["y"])], {"x": ["n", 4], "z": ["m", 4]}),
        ([node("Gemm", ["x", "w", "z"], ["y"])], {"x": ["n", 4], "z": ["m", 4]}),
        ([node("PRelu", ["x", "z"], ["y"])], {"x": ["n", 4], "z": ["m", 4]}),
    ],
)
def test_what_may_be_broadcast_is_left(
    nodes: list[onnx.NodeProto], inputs: dict[str, list[Any]], tmp_path: Path
) -> None:
    """An operand may have equal rows or one row; a program for all extents assumes equal rows."""
    model = model_of(nodes, inputs, w=np.eye(4, dtype=np.float32))
    answer = ask(model, tmp_path / "r")
    assert not answer["groups"]
    assert answer["left"][0]["kind"] == "shape"
    same = {name: ["n", *shape[1:]] for name, shape in inputs.items()}
    taken = ask(model_of(nodes, same, w=np.eye(4, dtype=np.float32)), tmp_path / "s")
    assert not taken["left"]
    check(model, taken, drawn(model, {"n": 3, "m": 3}))


@pytest.mark.slow
def test_an_operand_that_is_a_result(tmp_path: Path) -> None:
    """A node that only passes a value on is left, like the one of a Loop's condition."""
    model = model_of([node("Identity", ["x"], ["e"]), node("Neg", ["e"], ["y"])], {"x": ["n", 4]})
    model.graph.output.append(info("e", F32, None))
    answer = ask(model, tmp_path / "r")
    assert [group["nodes"] for group in answer["groups"]] == [[1]]
    assert reasons(answer) == {"Identity": "it only hands on a value"}
    check(model, answer, drawn(model, {"n": 3}))


@pytest.mark.slow
def test_names_say_nothing_in_bodies(tmp_path: Path) -> None:
    """A loop-carried value keeps its name in each iteration, but may change its extents."""
    nodes = [
        node("Exp", ["x"], ["e"]),
        node("Add", ["e", "z"], ["a"]),
        node("Mul", ["a", "e"], ["y"]),
    ]
    model = model_of(nodes, {"x": ["n", 4], "z": ["n", 4]})
    answer = ask(model, tmp_path / "r", is_nested=True)
    assert [group["nodes"] for group in answer["groups"]] == [[0]]
    check(model, answer, {"x": np.ones((3, 4), np.float32), "z": np.ones((1, 4), np.float32)})
    for same in (
        ask(model, tmp_path / "s"),
        ask(model, tmp_path / "t", is_nested=True, dims="n=3"),
    ):
        assert not same["left"]
        check(model, same, drawn(model, {"n": 3}))


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, "n"])
def test_constants_without_elements(rows: int | str, tmp_path: Path) -> None:
    """Older exporters write them for operands that newer ones omit."""
    model = model_of(
        [
            node("Relu", ["x"], ["a"]),
            node("Resize", ["a", "none", "scales"], ["b"], mode="nearest"),
            node("ReduceSum", ["b", "all"], ["c"], noop_with_empty_axes=1),
            node("Neg", ["c"], ["y"]),
        ],
        {"x": [rows, 2, 4, 4]},
        none=np.zeros(0, np.float32),
        scales=np.array([1, 1, 2, 2], np.float32),
        all=np.zeros(0, np.int64),
    )
    answer = ask(model, tmp_path / "r")
    assert [group["nodes"] for group in answer["groups"]] == [[0, 1, 2, 3]]
    check(model, answer, drawn(model, {"n": 3}))


@pytest.mark.slow
def test_extents_of_data_are_left(tmp_path: Path) -> None:
    """Nodes whose extents depend on data are left, also because these extents may be 0."""
    model = model_of(
        [
            node("Relu", ["x"], ["a"]),
            node("NonZero", ["a"], ["where"]),
            node("Transpose", ["where"], ["rows"]),
            node("GatherND", ["a", "rows"], ["found"]),
            node("ReduceSum", ["found"], ["total"], keepdims=0),
            node("Mul", ["a", "total"], ["y"]),
        ],
        {"x": ["n", 3]},
    )
    answer = ask(model, tmp_path / "r")
    assert [group["nodes"] for group in answer["groups"]] == [[0], [5]]
    assert "'where' is not known before it runs" in reasons(answer)["NonZero"]
    for x in (np.zeros((2, 3)), np.ones((4, 3))):
        check(model, answer, {"x": x.astype(np.float32)})


def further_request(
    folder: Path,
    answer: Mapping[str, Any],
    architecture: str,
    shapes: list[list[int]],
    dynamic: str = "compile",
) -> Request:
    """Requests a program for shapes of the first group, as the provider does in a run."""
    path = folder / "further.json"
    key = Path(answer["groups"][0]["bundle"]).name.rsplit("-", 1)[0]
    fields = {"version": 1, "key": key, "group": 0, "shapes": shapes,
              "options": {"dynamic": dynamic, "search": "none"}}  # fmt: skip
    path.write_text(json.dumps(fields))
    return Request.read(path, architecture)


@requires_emulator
def test_a_gpu_gets_programs_when_shapes_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = flat_rows()
    answer = ask(model, tmp_path / "r", "gfx942", dynamic="compile", search="none")
    assert not answer["left"]
    device = open_emulator("gfx942")

    def run(request: Request, rows: int) -> None:
        given = drawn(model, {"batch": 2, "seq": rows})
        with hipgraft.load(make_further(request)) as program:
            (found,) = program.run(given, device)
        expected: Any = session(model).run(None, dict(given))
        np.testing.assert_allclose(found, expected[0], rtol=1e-5, atol=1e-6)

    request = further_request(tmp_path, answer, "gfx942", [[2, 3, 4]])
    assert find_answer(request) is None
    run(request, 3)
    assert find_answer(request) == request.bundle

    def fail(*_: Any, **__: Any) -> None:
        raise HipgraftError("the compiler is lost")

    # If compiling fails, the program for all extents provides the calls.
    monkeypatch.setattr(further, "compile_program", fail)
    run(further_request(tmp_path, answer, "gfx942", [[2, 5, 4]]), 5)
    # As it does where nobody asked to compile.
    answer = ask(model, tmp_path / "e", "gfx942", search="none")
    assert not answer["left"]
    run(further_request(tmp_path, answer, "gfx942", [[2, 6, 4]], "error"), 6)
    device.close()


@pytest.mark.slow
@pytest.mark.parametrize("extents", [{"batch": 2, "seq": 0}, {"batch": 0, "seq": 3}])
def test_extents_of_0(extents: dict[str, int], tmp_path: Path) -> None:
    """Sums over no elements are 0."""
    model = model_of(
        [
            node("MatMul", ["x", "w"], ["m"]),
            node("LayerNormalization", ["m", "scale"], ["l"]),
            node("Concat", ["l", "x"], ["c"], axis=2),
            node("ReduceSum", ["c", "axis"], ["y"], keepdims=0),
        ],
        {"x": ["batch", "seq", 4]},
        w=np.random.default_rng(2).normal(size=(4, 8)).astype(np.float32),
        scale=np.ones(8, np.float32),
        axis=[1],
    )
    answer = ask(model, tmp_path / "r")
    assert not answer["left"]
    check(model, answer, drawn(model, extents))


@requires_emulator
def test_extents_of_0_on_a_gpu(tmp_path: Path) -> None:
    model = model_of(
        [node("Exp", ["x"], ["e"]), node("ReduceSum", ["e", "axis"], ["y"], keepdims=0)],
        {"x": ["batch", "seq", 4]},
        axis=[1],
    )
    answer = ask(model, tmp_path / "r", "gfx942", search="none")
    device = open_emulator("gfx942")
    for batch, seq in ((2, 0), (0, 3)):
        request = further_request(tmp_path, answer, "gfx942", [[batch, seq, 4]], "error")
        with hipgraft.load(make_further(request)) as program:
            (found,) = program.run({"x": np.ones((batch, seq, 4), np.float32)}, device)
        np.testing.assert_array_equal(found, np.zeros((batch, 4), np.float32))
    device.close()


@pytest.mark.slow
def test_a_divisor_of_0_is_an_error(tmp_path: Path) -> None:
    model = model_of(
        [
            node("Shape", ["x"], ["m"], start=1, end=2),
            node("Concat", ["rest", "m"], ["shape"], axis=0),
            node("Reshape", ["x", "shape"], ["r"]),
            node("ReduceSum", ["r", "axis"], ["y"], keepdims=0),
        ],
        {"x": ["n", "m", 8]},
        rest=[-1],
        axis=[0],
    )
    with hipgraft.compile(model, "cpu") as program:
        given = np.ones((2, 3, 8), np.float32)
        np.testing.assert_array_equal(program.run([given])[0], np.full(3, 16, np.float32))
        with pytest.raises(HipgraftError, match="an extent that others are divided by is 0"):
            program.run([given[:, :0]])
