"""Sessions with the helper that really compiles: bodies of nodes, given-back nodes, weights."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator
from pathlib import Path

import onnxruntime_host
import pytest
from served import user_in


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with user_in(tmp_path_factory.mktemp("home")) as home:
        yield home


def play(home: Path, code: str) -> str:
    """Runs a user's script; returns what it wrote."""
    return onnxruntime_host.play(home, "register()\n" + code, PATH=os.defpath)


@pytest.mark.slow
def test_bodies_are_entered(home: Path) -> None:
    said = play(
        home,
        """
def compare(made, model, inputs):
    for found, expected in zip(made.run(None, inputs), references(model, inputs), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        check(found, expected)

model, inputs = loop_model()
made = session(model)
for rounds in (5, 1, 0):
    compare(made, model, {**inputs, "rounds": np.array(rounds)})
compare(session(scan_model()[0]), *scan_model())
model, inputs = branch_model()
made = session(model)
for first, second in ((True, True), (True, False), (False, True)):
    compare(made, model, {**inputs, "first": np.array(first), "second": np.array(second)})
""",
    )
    loop, scan, branch = (line for line in said.splitlines() if "hipgraft: takes" in line)
    # A loop-carried value may change its shape from iteration to iteration.
    assert "takes 1 of 4 nodes" in loop
    assert "takes 1 of 2 nodes" in scan
    assert "takes 2 of 3 nodes" in branch
    # onnxruntime fuses some first.
    whole = re.compile(r"in a subgraph: takes (\d) of \1 nodes")
    assert len(whole.findall(loop)) == len(whole.findall(scan)) == 1
    assert len(whole.findall(branch)) == 3
    assert branch.count("in a subgraph: takes 1 of 2 nodes") == 1  # and the inner If


@pytest.mark.thorough
@pytest.mark.slow
def test_bodies_with_symbolic_dimensions(home: Path) -> None:
    said = play(
        home,
        """
def compare(made, model, inputs):
    for found, expected in zip(made.run(None, inputs), references(model, inputs), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        check(found, expected)

model, inputs = branch_model("rows")
made = session(model)
for first, second in ((True, True), (True, False), (False, True)):
    compare(made, model, {**inputs, "first": np.array(first), "second": np.array(second)})
model, inputs = growing_model()
made = session(model, report="report.json")
compare(made, model, inputs)
compare(made, model, {**inputs, "rounds": np.array(0)})
model, inputs = scan_model("rows")
made = session(model)
for rows in (4, 1):
    compare(made, model, drawn_inputs(model, rows=rows))
print(open("report.json").read())
""",
    )
    branch, loop, scan = (line for line in said.splitlines() if "hipgraft: takes" in line)
    assert len(re.findall(r"in a subgraph: takes (\d) of \1 nodes", branch)) == 3
    assert "in a subgraph: takes 4 of 5 nodes" in loop
    assert "takes 1 of 2 nodes" in scan
    assert len(re.findall(r"in a subgraph: takes (\d) of \1 nodes", scan)) == 1
    body, whole = json.loads(said[said.index("{\n") : said.rindex("}") + 1])["graphs"]
    assert (body["graph"], body["body_of"]) == ("body", "Loop")
    assert [left["op"] for left in body["answer"]["left"]] == ["Identity"]
    assert (whole["graph"], whole["body_of"]) == ("graph", "")
    assert whole["answer"]["left"][0]["op"] == "Loop"


@pytest.mark.slow
def test_what_does_not_compile_is_given_back(home: Path) -> None:
    """Nodes that do not compile are given back before the session is committed to them."""
    said = play(
        home,
        """
model, inputs = volume_model()
made = session(model, report="report.json")
check(made.run(None, inputs)[0], reference(model, inputs))
print(open("report.json").read())
with pytest.raises(Exception, match="'volume' .Det.: ONNX operator 'Det'"):
    session(model, fallback="error")
""",
    )
    assert "takes 3 of 4 nodes" in said
    assert '"kind": "compile"' in said


@pytest.mark.slow
def test_weights_in_a_file(home: Path) -> None:
    said = play(
        home,
        """
import os, pathlib
model, inputs = small_model(rows=6)
folder = pathlib.Path("saved")
folder.mkdir()
whole = onnx.load_from_string(model)
onnx.save(whole, folder / "model.onnx", save_as_external_data=True, location="model.onnx.data",
          size_threshold=0)
assert (folder / "model.onnx.data").stat().st_size >= 16 * 27 * 4
path = str(folder / "model.onnx")
assert len(open(path, "rb").read()) < len(model) - 1000
for options in ({}, {"serve": "off"}):
    made = session(path, **options)
    check(made.run(None, inputs)[0], reference(model, inputs))
# Other weights are another model.
changed = np.fromfile(path + ".data", np.float32) * 2
changed.tofile(path + ".data")
made = session(path)
found, expected = made.run(None, inputs)[0], ort.InferenceSession(path).run(None, inputs)[0]
check(found, expected)
assert abs(expected - reference(model, inputs)).max() > 1
""",
    )
    assert said.count("takes 5 of 5 nodes") == 3


@pytest.mark.slow
def test_elements_of_two_bits(home: Path) -> None:
    """Programs take packed elements; ONNX Runtime numbers these types differently."""
    said = play(
        home,
        """
for kind, bits, values in (("UINT2", 0b00_11_10_01, [1, 2, 3, 0]),
                           ("INT2", 0b00_11_10_01, [1, -2, -1, 0])):
    element = getattr(onnx.TensorProto, kind)
    nodes = [onnx.helper.make_node("Cast", ["x"], ["f"], to=1),
             onnx.helper.make_node("Exp", ["f"], ["e"]),
             onnx.helper.make_node("Add", ["e", "f"], ["y"])]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [info("x", element, [4])], [info("y", 1, [4])])
    opsets = [onnx.helper.make_opsetid("", 25)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    packed = np.array([bits, 0, 0, 0], np.uint8)
    given = {"x": ort.OrtValue.ortvalue_from_numpy_with_onnx_type(packed, element)}
    check(session(model).run_with_ort_values(None, given)[0].numpy(), np.exp(values) + values)
""",
    )
    assert said.count("takes 2 of 3 nodes") == 2
    assert said.count("several elements in a byte") == 2


@pytest.mark.thorough
@pytest.mark.slow
def test_bodies_of_a_compiled_model(home: Path) -> None:
    """Bodies are not compiled, and read constants that no other node reads."""
    play(
        home,
        """
def compare(made, model, inputs):
    for found, expected in zip(made.run(None, inputs), references(model, inputs), strict=True):
        check(found, expected)

for number, make in enumerate((loop_model, scan_model, branch_model, model_of_all_kinds)):
    model, inputs = make()
    path = f"bodies{number}.onnx"
    entries = {"ep.context_enable": "1", "ep.context_file_path": path}
    compare(session_on(model, "cpu", entries), model, inputs)
    assert "EPContext" in {node.op_type for node in onnx.load(path).graph.node}
    compare(session_on(path, "cpu", serve="off"), model, inputs)
""",
    )
