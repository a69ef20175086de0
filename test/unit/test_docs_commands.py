"""Runs the commands in docs/*.md verbatim, page by page, on a machine without a GPU.

README.md and the page about embedding have tests of their own.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from page_commands import commands, run

from hipgraft.tools import arrays

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INPUTS = ROOT / "test" / "lit" / "tools" / "Inputs"

# Maps the beginning of a command to the reason why it is not run.
EXCEPTIONS = {
    "hipgraft-run bert.mlir --device=hip": "needs a GPU",
    'hipgraft-opt "$1"': "a line of a script for hipgraft-reduce",
    "python -m hipgraft.emulator kernel.hsaco": "needs a code object of the reader's; "
    "test/unit/test_emulator.py runs the command on another",
    "python benchmarks/": "works for minutes; test/unit/test_benchmarks.py runs parts",
    "python -m hipgraft.onnx_backend": "works for minutes; test_onnx_backend.py runs a part",
    "make differential": "works for minutes; test/unit/test_differential.py runs parts",
    "pip install": "needs the network",
    "complete -F": "is for an interactive shell; see test_completion",
}
# A test for a defect, and modules that `hipgraft-reduce` reduces to it.
CRASHES = 'grep -q "aten.relu" "$1"\n'
TORCH = """
func.func @main(%a: !torch.vtensor<[?,4],f32>, %b: !torch.vtensor<[?,4],f32>)
    -> !torch.vtensor<[?,4],f32> {
  %one = torch.constant.int 1
  %0 = torch.aten.add.Tensor %a, %b, %one : !torch.vtensor<[?,4],f32>,
    !torch.vtensor<[?,4],f32>, !torch.int -> !torch.vtensor<[?,4],f32>
  return %0 : !torch.vtensor<[?,4],f32>
}
"""


def reason_of(command: str) -> str:
    """Returns why a command is not run; empty if it is."""
    return next((why for start, why in EXCEPTIONS.items() if command.startswith(start)), "")


def model(path: Path, names: list[str], shape: list[int | str]) -> None:
    """Writes an ONNX model that adds its inputs, up to a ReLU."""
    values = [helper.make_tensor_value_info(name, 1, shape) for name in (*names, "out")]
    nodes = [helper.make_node("Sum", names, ["sum"]), helper.make_node("Relu", ["sum"], ["out"])]
    graph = helper.make_graph(nodes, "g", values[:-1], values[-1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the files that the pages name."""
    path = tmp_path_factory.mktemp("docs")
    model(path / "bert.onnx", ["ids", "mask", "kinds"], ["batch", "seq"])
    model(path / "model.onnx", ["x"], [2, 8])
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    for name, found in (("in", {"x": x}), ("out", {"out": np.maximum(x, 0)})):
        with (path / f"{name}.npz").open("wb") as file:
            arrays.save(file, found)
    (path / "export.mlir").write_text(TORCH)
    (path / "crashes.sh").write_text(CRASHES)
    engine = re.search(r"^```yaml\n(.*?)^```$", (DOCS / "engines.md").read_text(), re.M | re.S)
    (path / "mine.yaml").write_text(engine[1])
    shutil.copy(INPUTS / "conv_relu.mlir", path / "model.mlir")
    shutil.copy(INPUTS / "conv_bias_relu.json", path / "graph.json")
    shutil.copytree(INPUTS / "batchnorm_gradient", path / "bundle")
    shutil.copy(INPUTS.parents[1] / "pipelines/rocmlir-drop-in.mlir", path / "mlir_dot_add.mlir")
    return path


@pytest.mark.sampled(12)
@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_commands(page: str, folder: Path) -> None:
    for line in commands((DOCS / page).read_text()):
        if not reason_of(line):
            run(line, folder)


def test_exceptions_are_few_and_needed() -> None:
    found = [line for page in DOCS.glob("*.md") for line in commands(page.read_text())]
    assert all(any(line.startswith(start) for line in found) for start in EXCEPTIONS)
    assert sum(not reason_of(line) for line in found) >= 10


TOOLS = ["cache", "compile", "config", "emulate", "opt", "reduce", "run", "translate", "tune"]


@pytest.mark.parametrize("tool", TOOLS)
def test_completion(tool: str) -> None:
    """`_longopt` of bash-completion takes the words with two dashes from the help's lines."""
    (line,) = [
        line for line in commands((DOCS / "tools.md").read_text()) if line.startswith("complete")
    ]
    assert f"hipgraft-{tool}" in line.split()
    name = Path(sys.executable).parent / f"hipgraft-{tool}"
    text = subprocess.run([name, "--help"], capture_output=True, text=True, check=True).stdout
    found = {
        match[0]
        for line in text.splitlines()
        if (match := re.search(r"--[A-Za-z0-9][-A-Za-z0-9_]*", line))
    }
    wanted = {
        "cache": {"--cache-dir", "--version"},
        "config": {"--library", "--include", "--version"},
        "emulate": {"--arch", "--devices", "--version"},
        "opt": {"--pass-pipeline", "--hipdnn-outline", "--verify-each", "--version"},
        "reduce": {"--test", "--timeout", "--version"},
        "translate": {"--import-hipdnn-json", "--export-hipdnn-fb", "--version"},
    }
    assert wanted.get(tool, {"--device"} if tool == "run" else {"--target"}) <= found
