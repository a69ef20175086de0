"""Files beside a model are data: no process of hipgraft imports them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults import misbehave

from hipgraft.service.child_python import child_environment, python_command

MODEL = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir"
HARMFUL = "import pathlib\npathlib.Path({mark!r}).write_text('was imported')\n"
# Modules that a worker imports (standard library, packages), and those that Python looks up.
NAMES = ("queue", "signal", "numpy", "sitecustomize", "usercustomize")


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Changes into a folder of malicious modules; returns the file that they write."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(HARMFUL.format(mark=str(tmp_path / "mark")))
    monkeypatch.chdir(folder)
    return tmp_path / "mark"


@pytest.mark.slow
def test_modules_beside_a_model_are_not_imported(mark: Path) -> None:
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    tool = Path(sys.executable).parent / "hipgraft-compile"
    command = [tool, MODEL, "--no-cache", "--quiet", "-o", "out.mlir"]
    subprocess.run(command, env=environment, check=True)
    assert Path("out.mlir").exists()
    assert not mark.exists()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("entry", ["", ".", "{cwd}", "{cwd}/."])
def test_a_child_does_not_inherit_the_working_directory(
    mark: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(entry.format(cwd=Path.cwd()))
    command = python_command("-c", "import queue, signal, numpy")
    subprocess.run(command, env=child_environment(), check=True)
    assert not mark.exists()


@pytest.mark.slow
def test_a_child_finds_the_module_of_its_task_also_in_the_working_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    command = python_command("-c", "import faults, hipgraft")
    subprocess.run(command, env=child_environment(misbehave), check=True)
