"""Inputs and results keep the model's names, so that one file of arrays fits every form of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import hipgraft
from hipgraft import frontends
from hipgraft.runtime.host_program.dynamic import input_tensors, result_names
from hipgraft.tools import arrays, hipgraft_compile, hipgraft_run

pytestmark = pytest.mark.slow

X, BIAS = np.array([[1.0, -2.0]], np.float32), np.array([3.0, 4.0], np.float32)
ARRAYS = {"pixels": X, "file": BIAS, "logits": X + BIAS, "kept": np.maximum(X, 0)}


def save_model(path: Path, batch: int | str = 1) -> Path:
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (
            ("pixels", [batch, 2]),
            ("file", [2]),
            ("logits", [batch, 2]),
            ("kept", [batch, 2]),
        )
    ]
    nodes = [
        helper.make_node("Relu", ["pixels"], ["kept"]),
        helper.make_node("Add", ["pixels", "file"], ["logits"]),
    ]
    graph = helper.make_graph(nodes, "g", values[:2], values[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names")
    save_model(path / "model.onnx")
    with (path / "io.npz").open("wb") as file:
        arrays.save(file, ARRAYS)
    return path


@pytest.mark.parametrize("suffix", ["onnx", "mlir", "mlirbc", "hgb"])
def test_one_file_of_arrays_fits_each_form(folder: Path, suffix: str, capsys) -> None:
    model = folder / f"model.{suffix}"
    if suffix != "onnx":
        form = {"mlir": "mlir", "mlirbc": "bytecode", "hgb": "bundle"}[suffix]
        compiled = [str(folder / "model.onnx"), "--target=cpu", f"--emit={form}", "-o", str(model)]
        assert hipgraft_compile.main(compiled) == 0
    io, out = f"@{folder / 'io.npz'}", folder / f"out-{suffix}.npz"
    flags = ["--device=cpu", f"--input={io}", f"--expected={io}", f"--output=@{out}"]
    assert hipgraft_run.main([str(model), *flags]) == 0
    said = capsys.readouterr().out
    assert re.search(r"logits .* ok", said)
    assert re.search(r"kept .* ok", said)
    assert set(np.load(out).files) == {"logits", "kept"}


@pytest.mark.parametrize("batch", ["n", 1])
def test_names_survive_text_for_gpus(tmp_path: Path, batch: int | str) -> None:
    program = hipgraft.compile(save_model(tmp_path / "m.onnx", batch), "gfx942")
    program.save(tmp_path / "m.mlir")
    module = frontends.read(tmp_path / "m.mlir")
    ((tensors),) = input_tensors(module, "gfx942").values()
    assert [one.name for one in tensors] == ["pixels", "file"]
    assert result_names(module, "gfx942", 2) == ["logits", "kept"]


def test_expected_results_that_are_not_there(folder: Path, capsys) -> None:
    np.savez(folder / "other.npz", y=X)
    flags = ["--device=cpu", "--input=1x2,2", f"--expected=@{folder / 'other.npz'}"]
    assert hipgraft_run.main([str(folder / "model.onnx"), *flags]) == 1
    said = capsys.readouterr().err
    assert "no array for result #0: expected one called 'out_0' or 'logits'; found 'y'" in said


def test_what_only_traces_has_no_results(folder: Path, capsys) -> None:
    model = str(folder / "model.onnx")
    assert hipgraft_run.main([model, "--device=trace:gfx942"]) == 0
    assert capsys.readouterr().out == "the kernels were not executed: there are no results\n"
    flag = f"--expected=@{folder / 'io.npz'}"
    assert hipgraft_run.main([model, "--device=trace:gfx942", flag]) == 1
    assert "'trace:gfx942' only traces them" in capsys.readouterr().err
