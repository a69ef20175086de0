"""The benchmark of models on a GPU, on a device that runs nothing and on small bundles."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from recordings import WEIGHTS, copying_program

from hipgraft.runtime.bundle import write_bundle

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "cuda_models.py"
DEVICE = """
from hipgraft.runtime.host_memory import NullDevice

def open_null():
    return NullDevice("gfx942")
"""


@pytest.fixture
def cuda_models() -> ModuleType:
    specification = importlib.util.spec_from_file_location("cuda_models", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["cuda_models"] = module
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("is_right", [True, False])
def test_table_and_status(
    cuda_models: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], is_right: bool
) -> None:
    (tmp_path / "device.py").write_text(DEVICE)
    write_bundle(tmp_path / "copies.hgb", [copying_program()])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    results = {"out_0": x if is_right else x + 1, "out_1": WEIGHTS, "out_2": np.full(5, 8, np.int8)}
    np.savez(tmp_path / "copies.npz", in_0=x, **results)
    device = f"{tmp_path / 'device.py'}:open_null"
    status = cuda_models.main(["run", str(tmp_path), f"--device={device}", "--iterations=3"])
    assert status == (0 if is_right else 1)
    row = capsys.readouterr().out.splitlines()[-1].split("|")
    error = "0.0e+00" if is_right else "**1.7e-01**"
    assert [cell.strip() for cell in row[1:4]] == ["copies", "4", error]
    assert float(row[4]) > 0
    assert float(row[5]) > 0
