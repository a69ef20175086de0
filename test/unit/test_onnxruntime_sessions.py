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
    # What a Loop hands on may change its shape from round to round.
    assert "takes 1 of 4 nodes" in loop
    assert "takes 1 of 2 nodes" in scan
    assert "takes 2 of 3 nodes" in branch
    # onnxruntime fuses some first.
    whole = re.compile(r"in a subgraph: takes (\d) of \1 nodes")
    assert len(whole.findall(loop)) == len(whole.findall(scan)) == 1
    assert len(whole.findall(branch)) == 3
    assert branch.count("in a subgraph: takes 1 of 2 nodes") == 1  # and the inner If


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
print(open("report.json").read())
""",
    )
    branch, loop = (line for line in said.splitlines() if "hipgraft: takes" in line)
    assert len(re.findall(r"in a subgraph: takes (\d) of \1 nodes", branch)) == 3
    assert "in a subgraph: takes 4 of 5 nodes" in loop
    body, whole = json.loads(said[said.index("{\n") : said.rindex("}") + 1])["graphs"]
    assert (body["graph"], body["body_of"]) == ("body", "Loop")
    assert [left["op"] for left in body["answer"]["left"]] == ["Identity"]
    assert (whole["graph"], whole["body_of"]) == ("graph", "")
    assert whole["answer"]["left"][0]["op"] == "Loop"


@pytest.mark.slow
def test_what_does_not_compile_is_given_back(home: Path) -> None:
    """Before the session commits to it: onnxruntime computes it."""
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
