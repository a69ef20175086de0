"""The groups that hipgraft takes of a session, and the rest, compute onnxruntime's results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from contributed_models import DOMAIN
from onnx import TensorProto, helper, numpy_helper
from session_requests import Levels, ask, check, drawn, optimized, run

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.onnxruntime import trial

MODELS = Path(__file__).parents[1] / "models"
F32, I64 = TensorProto.FLOAT, TensorProto.INT64
node, info = helper.make_node, helper.make_tensor_value_info


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.getbasetemp() / "onnxruntime-cache"
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(folder))


def model_of(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, list[Any]],
    outputs: dict[str, int],
    constants: dict[str, Any] | None = None,
    opset: int = 20,
) -> onnx.ModelProto:
    """Inputs are f32 unless their names begin with `i`; shapes of results are inferred."""
    graph = helper.make_graph(
        nodes,
        "g",
        [info(name, I64 if name[0] == "i" else F32, shape) for name, shape in inputs.items()],
        [info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in (constants or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def reasons(answer: dict[str, Any]) -> dict[str, str]:
    return {one["op"]: one["reason"] for one in answer["left"]}


def kinds(answer: dict[str, Any]) -> dict[str, str]:
    return {one["op"]: one["kind"] for one in answer["left"]}


@pytest.mark.thorough
@pytest.mark.slow
def test_whole_model(tmp_path: Path) -> None:
    name = "decoder_f32_tiny"
    model = optimized(onnx.load(MODELS / f"{name}.onnx"), tmp_path, Levels.ORT_ENABLE_EXTENDED)
    answer = ask(model, tmp_path / "r")
    assert not answer["left"]
    assert len(answer["groups"]) == 1
    assert f"takes {len(model.graph.node)} of {len(model.graph.node)} nodes" in answer["summary"]
    inputs = dict(np.load(MODELS / f"{name}.npz"))
    names = [one.name for one in model.graph.input]
    given = {n: inputs[n] for n in names} if set(names) <= set(inputs) else drawn(model)
    check(model, answer, given, 1e-3)


def branches() -> onnx.ModelProto:
    """A convex trap: what is left is on one of two paths, with extents that only it reads."""
    return model_of(
        [
            node("Relu", ["x"], ["a"], name="first"),
            node("NonZero", ["a"], ["where"], name="places"),
            node("Transpose", ["where"], ["rows"]),
            node("GatherND", ["a", "rows"], ["found"]),
            node("ReduceLogSum", ["found"], ["total"], keepdims=0),
            node("MatMul", ["a", "w"], ["product"], name="second"),
            node("Add", ["product", "total"], ["sum"], name="third"),
            node("Tanh", ["sum"], ["y"], name="fourth"),
        ],
        {"x": [4, 6]},
        {"y": F32},
        {"w": np.random.default_rng(0).normal(size=(6, 60)).astype(np.float32)},
    )


@pytest.mark.slow
def test_around_data_dependent_shapes(tmp_path: Path) -> None:
    model = branches()
    answer = ask(model, tmp_path / "r")
    assert [group["nodes"] for group in answer["groups"]] == [[0, 5], [6, 7]]
    unknown = dict.fromkeys(("NonZero", "Transpose", "GatherND"), "shape")
    assert kinds(answer) == {**unknown, "ReduceLogSum": "compile"}
    assert "'ReduceLogSum' combines rows" in reasons(answer)["ReduceLogSum"]
    assert "'where' is not known before it runs" in reasons(answer)["NonZero"]
    assert "4 of 8 nodes (100% of the FLOPs) in 2 groups" in answer["summary"]
    check(model, answer, drawn(model))


def chosen_rows(rows: str) -> onnx.ModelProto:
    """Multiplies the rows that `NonZero` selects, and writes them back; `rows` combines them."""
    return model_of(
        [
            node("Greater", ["x", "half"], ["large"]),
            node("Slice", ["large", "0", "1", "1"], ["first"]),
            node("Squeeze", ["first", "1"], ["chosen"]),
            node("NonZero", ["chosen"], ["where"]),
            node("Transpose", ["where"], ["places"]),
            node("GatherND", ["x", "places"], ["rows"]),
            node("MatMul", ["rows", "w"], ["product"]),
            node(rows, ["product"], ["made"], **({"axis": 0} if rows == "Softmax" else {})),
            node("ScatterND", ["x", "places", "made"], ["z"]),
            node("Exp", ["z"], ["y"]),
        ],
        {"x": [5, 6]},
        {"y": F32},
        {
            "w": np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32),
            "half": np.float32(0.1), "0": np.array([0]), "1": np.array([1]),
        },
    )  # fmt: skip


@pytest.mark.slow
def test_rows_that_data_selects(tmp_path: Path) -> None:
    """Their number is unknown, but the frontend takes all of these nodes together."""
    model = chosen_rows("Relu")
    answer = ask(model, tmp_path / "r")
    assert not answer["left"]
    check(model, answer, drawn(model))
    model = chosen_rows("Softmax")
    answer = ask(model, tmp_path / "s")
    assert [one["node"] for one in answer["left"]] == list(range(1, 9))
    assert kinds(answer)["Softmax"] == "compile"
    assert kinds(answer)["MatMul"] == "shape"
    assert "'Softmax' combines rows" in reasons(answer)["Softmax"]
    assert "takes 2 of 10 nodes in" in answer["summary"]  # without a share of the FLOPs
    check(model, answer, drawn(model))


@pytest.mark.slow
def test_given_back(tmp_path: Path) -> None:
    """Determinants of 7 by 7 are refused, which only the compiler finds."""
    model = model_of(
        [
            node("Sigmoid", ["x"], ["a"]),
            node("Det", ["a"], ["d"], name="volume"),
            node("Exp", ["a"], ["e"]),
            node("Mul", ["e", "d"], ["y"]),
        ],
        {"x": [7, 7]},
        {"y": F32},
    )
    answer = ask(model, tmp_path / "r")
    assert [group["nodes"] for group in answer["groups"]] == [[0, 2], [3]]
    assert kinds(answer) == {"Det": "compile"}
    assert "'Det'" in reasons(answer)["Det"]
    check(model, answer, drawn(model))
    with pytest.raises(HipgraftError, match=r"'volume' .Det.: ONNX operator 'Det'"):
        ask(model, tmp_path / "strict", fallback="error")


@pytest.mark.slow
def test_bisected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that fails on one pair of operators, without saying where."""
    real = trial.compile_program

    def compile(module: Any, *arguments: Any, **options: Any) -> Any:
        text = str(module)
        if '"onnx.Sinh"' in text and '"onnx.Cosh"' in text:
            raise HipgraftError("the compiler is lost")
        return real(module, *arguments, **options)

    monkeypatch.setattr(trial, "compile_program", compile)
    model = model_of(
        [
            node("Relu", ["x"], ["a"]),
            node("Sinh", ["a"], ["b"]),
            node("Cosh", ["b"], ["c"]),
            node("Neg", ["c"], ["y"]),
        ],
        {"x": [5]},
        {"y": F32},
    )
    answer = ask(model, tmp_path / "r")
    assert answer["groups"]
    assert {one["reason"] for one in answer["left"]} == {"the compiler is lost"}
    check(model, answer, drawn(model))


@pytest.mark.slow
def test_bodies_and_extents(tmp_path: Path) -> None:
    body = helper.make_graph([node("Mul", ["a", "x"], ["p"])], "t", [], [info("p", F32, [3])])
    other = helper.make_graph([node("Neg", ["a"], ["q"])], "e", [], [info("q", F32, [3])])
    model = model_of(
        [
            node("Exp", ["x"], ["a"]),
            node("Add", ["i", "one"], ["j"]),
            node("Cast", ["i"], ["c"], to=TensorProto.BOOL),
            node("If", ["c"], ["b"], then_branch=body, else_branch=other),
            node("Range", ["zero", "j", "one"], ["r"]),
            node("Reshape", ["b", "flat"], ["f"]),
            node("Mul", ["b", "a"], ["y"]),
        ],
        {"x": [3], "i": []},
        {"y": F32, "r": I64, "f": F32},
        {"one": np.int64(1), "zero": np.int64(0), "flat": np.array([1, 3])},
    )
    model.graph.value_info.append(info("b", F32, [3]))  # which a session knows
    answer = ask(model, tmp_path / "r")
    found = kinds(answer)
    assert found["If"] == found["Cast"] == found["Add"] == "host"
    assert found["Range"] == "shape"
    assert [group["nodes"] for group in answer["groups"]] == [[0], [5, 6]]
    for number in (0, 1):
        check(model, answer, {"x": np.ones(3, np.float32), "i": np.array(number)})


@pytest.mark.slow
def test_a_branch_that_is_known(tmp_path: Path) -> None:
    """onnxruntime keeps an `If` on extents, which hipgraft evaluates."""
    bodies = {
        f"{name}_branch": helper.make_graph(
            [node(op, ["a"], [name])], name, [], [info(name, F32, [3])]
        )
        for name, op in (("then", "Neg"), ("else", "Abs"))
    }
    model = model_of(
        [
            node("Exp", ["x"], ["a"]),
            node("Size", ["a"], ["n"]),
            node("Equal", ["n", "three"], ["c"]),
            node("If", ["c"], ["y"], **bodies),
        ],
        {"x": [3]},
        {"y": F32},
        {"three": np.int64(3)},
    )
    answer = ask(model, tmp_path / "r")
    assert [group["nodes"] for group in answer["groups"]] == [[0]]
    assert kinds(answer)["If"] == "host"
    check(model, answer, drawn(model))


@pytest.mark.slow
def test_contributed(tmp_path: Path) -> None:
    """Fused operators of onnxruntime are taken by their semantics, or left with their name."""
    rng = np.random.default_rng(1)
    model = model_of(
        [
            node("MatMul", ["x", "w"], ["m"]),
            node("Add", ["m", "b"], ["s"]),
            node("Gelu", ["s"], ["g"]),
            node("Transpose", ["g"], ["t"], perm=[0, 2, 1]),
            node("MatMul", ["t", "x"], ["u"]),
            node("Inverse", ["u"], ["v"], domain=DOMAIN, name="inverted"),
            node("Softmax", ["v"], ["y"]),
        ],
        {"x": [2, 8, 8]},
        {"y": F32},
        {"w": rng.normal(size=(8, 8)).astype(np.float32), "b": np.ones(8, np.float32)},
    )
    fused = optimized(model, tmp_path, Levels.ORT_ENABLE_ALL)
    fused.graph.value_info.append(info("v", F32, [2, 8, 8]))
    assert any(one.domain == DOMAIN and one.op_type != "Inverse" for one in fused.graph.node)
    answer = ask(fused, tmp_path / "r")
    assert list(reasons(answer)) == ["Inverse"]
    assert "'com.microsoft.Inverse' is not supported" in reasons(answer)["Inverse"]
    assert len(answer["groups"]) == 2
    check(fused, answer, drawn(fused), 1e-4)


@pytest.mark.slow
def test_variants(tmp_path: Path) -> None:
    model = model_of(
        [
            node("MatMul", ["x", "w"], ["m"]),
            node("Shape", ["m"], ["s"], end=1),
            node("Concat", ["s", "rest"], ["shape"], axis=0),
            node("Reshape", ["m", "shape"], ["y"]),
        ],
        {"x": ["batch", "seq", 4]},
        {"y": F32},
        {"w": np.random.default_rng(2).normal(size=(4, 80)).astype(np.float32), "rest": [-1]},
    )
    whole = ask(model, tmp_path / "r", dims="batch=1,3;seq=5")
    (group,) = whole["groups"]
    assert [one["dims"] for one in group["variants"]] == [
        {"batch": 1, "seq": 5}, {"batch": 3, "seq": 5}
    ]  # fmt: skip
    for batch in (1, 3):
        check(model, whole, drawn(model, {"batch": batch, "seq": 5}))
    with pytest.raises(HipgraftError, match="no variant"):
        run(model, whole, drawn(model, {"batch": 2, "seq": 5}))
    none = ask(model, tmp_path / "s", dims="batch=1,3")
    assert not none["groups"]
    assert "depends on 'seq': give extents by option dims=seq=N" in reasons(none)["MatMul"]


@pytest.mark.slow
def test_for_a_gpu(tmp_path: Path) -> None:
    answer = ask(branches(), tmp_path / "r", "gfx942", search="none")
    assert [group["nodes"] for group in answer["groups"]] == [[0, 5], [6, 7]]
    report = json.loads(Path(answer["report"]).read_bytes())
    assert report["groups"][0]["names"] == ["first", "second"]
    assert report["groups"][0]["compilation"]["kernels"][0]["target"] == "gfx942"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dims": "batch"}, "option 'dims' is of the form"),
        ({"dims": "batch=one"}, "option 'dims' is of the form"),
        ({"fallback": "cpu"}, "option 'fallback' is one of 'node', 'error', not 'cpu'"),
        ({"search": "more"}, "option 'search' is one of"),
    ],
)
def test_wrong_options(options: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(HipgraftError, match=message):
        ask(branches(), tmp_path / "r", **options)
