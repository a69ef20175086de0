"""hipgraft in another program: models in memory, inputs by name, callbacks, types, plug-ins."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import hipgraft
from hipgraft.codegen.progress import Progress, Started
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.bytecode import to_bytecode
from hipgraft.passmanager import registry
from hipgraft.passmanager.pipeline import resolve, to_text
from hipgraft.service import Cache, CompileService, InProcess

ROOT = Path(__file__).resolve().parents[2]
TEXT = """
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
"""
ONES = "0000803F"  # f32
PERCEPTRON = """
func.func @main(%x: !torch.vtensor<[3,8],f32>) -> !torch.vtensor<[3,4],f32> {
  %w0 = torch.vtensor.literal(dense_resource<w0> : tensor<16x8xf32>) : !torch.vtensor<[16,8],f32>
  %b0 = torch.vtensor.literal(dense_resource<b0> : tensor<16xf32>) : !torch.vtensor<[16],f32>
  %w1 = torch.vtensor.literal(dense_resource<w1> : tensor<4x16xf32>) : !torch.vtensor<[4,16],f32>
  %b1 = torch.vtensor.literal(dense_resource<b1> : tensor<4xf32>) : !torch.vtensor<[4],f32>
  %0 = torch.aten.linear %x, %w0, %b0 : !torch.vtensor<[3,8],f32>, !torch.vtensor<[16,8],f32>,
    !torch.vtensor<[16],f32> -> !torch.vtensor<[3,16],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[3,16],f32> -> !torch.vtensor<[3,16],f32>
  %2 = torch.aten.linear %1, %w1, %b1 : !torch.vtensor<[3,16],f32>, !torch.vtensor<[4,16],f32>,
    !torch.vtensor<[4],f32> -> !torch.vtensor<[3,4],f32>
  return %2 : !torch.vtensor<[3,4],f32>
}
{-# dialect_resources: { builtin: {
  w0: "0x04000000W0", b0: "0x04000000B0", w1: "0x04000000W1", b1: "0x04000000B1"
} } #-}
"""
for name, count in {"W0": 128, "B0": 16, "W1": 64, "B1": 4}.items():
    PERCEPTRON = PERCEPTRON.replace(name, ONES * count)
X = np.array([-1, 0, 1, 2], np.float32)


def onnx_model(extent: int | str = 4) -> onnx.ModelProto:
    x, y = (helper.make_tensor_value_info(name, 1, [extent]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="act")], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def module(*, unregistered: bool) -> ir.Module:
    context = make_context()
    context.allow_unregistered_dialects = unregistered
    return ir.Module.parse(TEXT, context)


def of_torch_mlir() -> object:
    from torch_mlir import ir as torch_ir
    from torch_mlir.dialects import torch as torch_d

    with torch_ir.Context() as context:
        torch_d.register_dialect(context)
        return torch_ir.Module.parse(TEXT)


MODELS = {
    "text": lambda: TEXT,
    "bytes of text": TEXT.encode,
    "bytecode": lambda: to_bytecode(module(unregistered=True)),
    "module": lambda: module(unregistered=True),
    "module of a strict context": lambda: module(unregistered=False),
    "module of torch-mlir": of_torch_mlir,
    "ONNX": onnx_model,
    "bytes of ONNX": lambda: onnx_model().SerializeToString(),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", MODELS)
def test_models_in_memory(form: str) -> None:
    with hipgraft.compile(MODELS[form](), "cpu") as program:
        (y,) = program.run([X])
    assert (y == np.maximum(X, 0)).all()


@pytest.mark.slow
def test_models_in_memory_leave_one_entry_for_each_kernel(tmp_path: Path) -> None:
    entries: list[int] = []
    for _ in range(2):
        with CompileService(InProcess(), Cache(tmp_path)) as service:
            hipgraft.compile(onnx_model(), "cpu", service=service)
        entries.append(sum(1 for _ in tmp_path.rglob("*") if _.is_file()))
    assert entries[0] == entries[1]


@pytest.mark.thorough
def test_constants_outlive_the_module_that_holds_them(tmp_path: Path) -> None:
    """This process overwrites freed memory, so that stale handles crash."""
    path = tmp_path / "perceptron.mlir"
    path.write_text(PERCEPTRON)
    text = f"""
import numpy as np, hipgraft
program = hipgraft.compile({str(path)!r}, "gfx942")
(y,) = program.run([np.ones((3, 8), np.float32)], "cpu")
assert (y == 16 * 9 + 1).all()
"""
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}
    subprocess.run([sys.executable, "-c", text], env=environment, check=True)


@pytest.mark.parametrize("model", [3, None, [TEXT]])
def test_what_is_no_model(model: object) -> None:
    with pytest.raises(
        TypeError,
        match="expected a path, text, bytes, an ONNX model, an exported program or a module",
    ):
        hipgraft.compile(model)  # pyright: ignore[reportArgumentType]


def test_errors_in_text_have_a_place() -> None:
    with pytest.raises(hipgraft.HipgraftError, match=r"<model>:3:\d+: error: "):
        hipgraft.compile(TEXT.replace("aten.relu", "aten.no_such_op"))


@pytest.mark.parametrize("extent", [4, "n"])
def test_inputs_by_name_and_alone(extent: int | str) -> None:
    with hipgraft.compile(onnx_model(extent), "cpu", dims={"n": 4} if extent == "n" else None) as p:
        for inputs in ([X], (X,), {"x": X}, X):
            (y,) = p.run(inputs)
            assert (y == np.maximum(X, 0)).all()
        (name,) = p.run_named({"x": X})
        assert name == "y"
        with pytest.raises(hipgraft.HipgraftError, match="expected inputs called 'x'; found 'z'"):
            p.run({"z": X})
        with pytest.raises(hipgraft.HipgraftError, match="found 'ndarray': pass the inputs as one"):
            p.run(X, X)


def test_a_result_without_a_name_has_a_number() -> None:
    with hipgraft.compile(TEXT, "cpu") as program:
        assert [*program.run_named(X)] == ["0"]


@pytest.mark.own_service
def test_progress_stages_and_log(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Started | Progress] = []
    stages: list[str] = []
    with caplog.at_level(logging.INFO, "hipgraft"):
        hipgraft.compile(
            TEXT,
            "gfx942",
            on_progress=events.append,
            on_stage=lambda stage, _: stages.append(stage),
        )
    assert isinstance(events[-1], Progress)
    assert events[-1].done == events[-1].total == 1
    assert stages[-1] == "host"
    assert "reached stage host" in caplog.text


@pytest.mark.parametrize("callback", ["on_progress", "on_stage"])
def test_a_callback_that_raises_cancels(callback: str) -> None:
    def cancel(*_: object) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        hipgraft.compile(TEXT, "gfx942", **{callback: cancel})


@pytest.mark.slow
def test_types(tmp_path: Path) -> None:
    """A user's type checker reports wrong arguments, and accepts all documented ones."""
    right = """
        import numpy as np
        import onnx
        import pathlib
        import hipgraft
        program = hipgraft.compile(onnx.ModelProto())
        hipgraft.compile(b"", target=["gfx942"])
        hipgraft.compile(pathlib.Path("m.onnx"))
        program.run([np.zeros(3)])
        program.run({"x": np.zeros(3)})
        program.run(np.zeros(3))
    """
    wrong = """
        import hipgraft
        hipgraft.compile(3)
        hipgraft.compile("m.onnx", target=942)
        hipgraft.compile("m.onnx").run(3)
        hipgraft.compile("m.onnx").runs([])
    """
    for name, text in (("right.py", right), ("wrong.py", wrong)):
        (tmp_path / name).write_text("\n".join(line.strip() for line in text.splitlines()))
    command = [Path(sys.executable).parent / "pyright", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "right.py", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = re.findall(r"(right|wrong)\.py:(\d+):\d+ - error", done.stdout)
    assert sorted(set(lines)) == [("wrong", str(line)) for line in (3, 4, 5, 6)], done.stdout


def test_pipelines_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_pipelines.py").write_text(
        "from dataclasses import dataclass\n"
        "from hipgraft.passmanager.base import option\n"
        "@dataclass(frozen=True)\n"
        "class Config:\n"
        "    inline: bool = option(True, 'whether to inline')\n"
        "def build_tidy(config: Config):\n"
        "    return ['inline', 'cse'] if config.inline else ['cse']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    points = {"hipgraft.pipelines": [EntryPoint("tidy", "my_pipelines:build_tidy", "")]}
    monkeypatch.setattr(registry, "plugins", lambda group: points.get(group, []))
    registry.entries.cache_clear()
    try:
        assert to_text(resolve("tidy{inline=false}")) == "builtin.module(cse)"
        assert to_text(resolve("tidy")) == "builtin.module(inline,cse)"
    finally:
        registry.entries.cache_clear()


@pytest.mark.slow
def test_the_page_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "embedding.md").read_text()
    blocks = re.findall(r"<!-- run -->\n```python\n(.*?)```\n", page, re.DOTALL)
    assert len(blocks) == page.count("```python")
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "after 1 of 1 graphs" in done.stdout
