"""Runs the commands of README.md verbatim, in order, on a machine without a GPU."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from page_commands import commands, run

from hipgraft.tools import arrays

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
X = np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).standard_normal((16, 4)).astype(np.float32)
ELSEWHERE = ("make demo", "python3 -m venv")  # other tests install, and CI runs the demo


def save(path: Path, batch: int | str) -> None:
    values = [
        helper.make_tensor_value_info(name, 1, [batch, extent])
        for name, extent in (("features", 16), ("scores", 4))
    ]
    nodes = [
        helper.make_node("MatMul", ["features", "w"], ["product"], name="dense"),
        helper.make_node("Relu", ["product"], ["scores"], name="act"),
    ]
    weights = [numpy_helper.from_array(WEIGHTS, "w")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("readme")
    save(path / "model.onnx", 8)
    save(path / "symbolic.onnx", "batch")
    scores = np.maximum(X @ WEIGHTS, 0)
    for name, found in (("inputs", {"features": X}), ("outputs", {"scores": scores})):
        with (path / f"{name}.npz").open("wb") as file:
            arrays.save(file, found)
    return path


@pytest.mark.slow
def test_commands(folder: Path) -> None:
    run_here = [
        run(line, folder)
        for line in commands(README)
        if not line.startswith(ELSEWHERE) and "# needs " not in line
    ]
    assert sum(run_here) >= 7


@pytest.mark.slow
def test_python(folder: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (code,) = [block for block in blocks if "import numpy" in block]
    done = subprocess.run(
        [sys.executable, "-c", code + "\nprint(results[0].shape)"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "(8, 4)\n", done.stderr
