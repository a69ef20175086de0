"""Runs the folder that `benchmarks/native_gpu.py` prepares on the emulated HIP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from emulator import requires_emulator

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
CASES = ("layernorm", "relu_bwd", "matmul_gelu")


@requires_emulator
@pytest.mark.slow
def test_runs_and_tells_wrong_results(tmp_path: Path) -> None:
    prepare = [sys.executable, ROOT / "benchmarks" / "native_gpu.py", tmp_path, *CASES]
    subprocess.run([*prepare, "--target=gfx942"], check=True)
    run = [BIN / "hipgraft-emulate", "--", sys.executable, tmp_path / "run.py", "--device=hip:0"]
    done = subprocess.run(
        [*run, "--costs", "--batches=1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "all right"
    assert [line.split()[0] for line in lines[2:5]] == list(CASES)
    assert all(len(line.split()) == 5 for line in lines[2:5])
    assert len([line for line in lines if "1/1" in line]) == len(CASES)  # the costs
    with np.load(tmp_path / "relu_bwd.npz") as arrays:
        changed = {name: arrays[name] + (0.5 if name == "out.7" else 0) for name in arrays}
    np.savez(tmp_path / "relu_bwd.npz", allow_pickle=False, **changed)
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    wrong = [line.split()[0] for line in done.stdout.splitlines() if "WRONG" in line]
    assert wrong == ["relu_bwd"]
    assert done.stdout.splitlines()[-1] == "1 wrong"
