"""The provider in a host without Python, and its writer of graphs under sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from emulator import requires_emulator
from onnxruntime_models import reference, rows_model
from served import user_in

from hipgraft.native import onnxruntime_path

ROOT = Path(__file__).resolve().parents[2]
UNIT = Path(__file__).parent
BIN = Path(sys.executable).parent
NATIVE = ROOT / "src/hipgraft/native"

needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


@pytest.fixture
def home(tmp_path: Path) -> Generator[Path]:
    with user_in(tmp_path) as home:
        yield home


@requires_emulator
@needs_compiler
@pytest.mark.slow
def test_a_host_in_cpp(home: Path) -> None:
    """The helper compiles; the host's process does not load Python."""
    libraries = sorted((Path(ort.__file__).parent / "capi").glob("libonnxruntime.so.*"))
    if not libraries:
        pytest.skip("this onnxruntime has no library for C++")
    host = home / "host"
    command = ["c++", "-std=c++17", UNIT / "onnxruntime_host.cpp", "-ldl", "-o", host]
    subprocess.run(command, check=True)
    draw = np.random.default_rng(0)
    model = rows_model()
    (home / "model.onnx").write_bytes(model)
    given = draw.standard_normal((2, 3, 8)).astype(np.float32)
    given.tofile(home / "x")
    done = subprocess.run(
        [BIN / "hipgraft-emulate", "--", host, libraries[-1], onnxruntime_path(),
         home / "model.onnx", "gfx942", home / "x", home / "y", *map(str, given.shape)],
        env={
            **os.environ,
            "XDG_RUNTIME_DIR": str(home / "run"),
            "HIPGRAFT_CACHE_DIR": str(home / "cache"),
            "HIPGRAFT_SERVE": str(BIN / "hipgraft-serve"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    expected = reference(model, {"x": given})
    found = np.fromfile(home / "y", np.float32).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@needs_compiler
@pytest.mark.thorough
def test_hostile_graphs_are_written_or_errors(tmp_path: Path) -> None:
    flags = ["-g", "-O0", "-fno-rtti", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    empty = tmp_path / "empty.cpp"
    empty.write_text("int main() {}")
    if subprocess.run(["c++", *flags, empty, "-o", tmp_path / "empty"], check=False).returncode:
        pytest.skip("the compiler has no sanitizers")
    folders = [NATIVE / one for one in ("include", "core", "client", "onnxruntime")]
    files = [NATIVE / "onnxruntime" / name for name in ("model.cpp", "ort.cpp")]
    command = ["c++", "-std=c++17", *flags, *(f"-I{folder}" for folder in folders)]
    command += ['-DHIPGRAFT_RELEASE="0"', UNIT / "onnxruntime_graphs_fuzz.cpp", *files]
    subprocess.run([*command, "-o", tmp_path / "fuzz"], check=True)
    done = subprocess.run(
        [tmp_path / "fuzz", "1", "2000", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    models, errors = map(int, done.stdout.split())
    assert models > 500
    assert errors > 500
    written = sorted(tmp_path.glob("*.onnx"))
    assert len(written) == 100
    parsed = [onnx.ModelProto.FromString(path.read_bytes()) for path in written]
    assert any(model.graph.node for model in parsed)
