"""Streams, signals and unusual arguments: a tool ends with a message and leaves no files."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MODEL = str(Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir")
BIN = Path(sys.executable).parent


def run(tool: str, *arguments: str | bytes, **options: object) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / f"hipgraft-{tool}"), *arguments]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run(command, timeout=120, check=False, **given)
    done.stderr = (done.stderr or b"").decode(errors="replace")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


DIGITS = "9" * 5000


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("compile", [MODEL, "--dim=N=²"], "expected a positive number in '--dim=N=²'"),
        ("compile", [MODEL, f"--dim=N={DIGITS}"], "expected a positive number in"),
        ("compile", [MODEL, "--iree-flags='"], "cannot read '--iree-flags': no closing quotation"),
        ("compile", [MODEL, "--memory-limit=²G"], "expected a size such as"),
        ("run", [MODEL, "--input=²"], "expected '@FILE.npz'"),
        ("run", [MODEL, f"--input={DIGITS}x2"], "expected '@FILE.npz'"),
        ("opt", ["--run-reproducer", "{reproducer}"], "no closing quotation"),
        ("opt", [b"\xff.mlir"], "cannot open input file"),
    ],
)
def test_odd_words(tool: str, arguments: list[str | bytes], message: str, tmp_path: Path) -> None:
    reproducer = tmp_path / "r.mlir"
    reproducer.write_text("// RUN: hipgraft-opt %s --pass-pipeline='builtin.module\nmodule {}\n")
    given = [reproducer if one == "{reproducer}" else one for one in arguments]
    done = run(tool, *given)
    assert done.returncode == 1
    assert message in done.stderr


def test_null_byte_in_a_path() -> None:
    from hipgraft.tools import hipgraft_opt

    assert hipgraft_opt.main(["a\0b.mlir"]) == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [["opt", MODEL], ["opt", "--list-passes"], ["opt", "--help"]])
def test_full_standard_output(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode == 1
    assert "cannot write standard output: No space left on device" in done.stderr


@pytest.mark.slow
def test_closed_streams() -> None:
    tool = str(BIN / "hipgraft-opt")
    for words, status in (
        (f"'{tool}' '{MODEL}' >&-", 0),
        (f"'{tool}' <&-", 0),
        (f"'{tool}' nothing 2>&-", 1),
    ):
        done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
        assert done.returncode == status
        assert "Traceback" not in done.stderr


@pytest.mark.sampled(6)
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_no_worker_and_no_folder(number: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [
        str(BIN / "hipgraft-compile"),
        MODEL,
        "--no-cache",
        "-q",
        "-o",
        str(tmp_path / "o.mlir"),
    ]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while not list(tmp_path.glob("hipgraft-worker-*")):
        assert time.monotonic() < until
        time.sleep(0.02)
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"Traceback" not in said
    assert not list(tmp_path.iterdir())
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


_SIGNAL_IN_START = """
import os, signal, sys, tempfile
from hipgraft.service.processes import ProcessWorkers

create = tempfile.mkdtemp

def create_and_signal(*arguments, **names):
    folder = create(*arguments, **names)
    os.kill(os.getpid(), signal.SIGTERM)
    return folder

signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
tempfile.mkdtemp = create_and_signal
workers = ProcessWorkers(1)
try:
    workers.prepare()
finally:
    workers.close()
"""


@pytest.mark.slow
def test_a_signal_while_a_worker_starts_leaves_no_folder(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", _SIGNAL_IN_START]
    assert subprocess.run(command, env=environment, check=False).returncode == 7
    assert not list(tmp_path.iterdir())


_SIGNAL_IN_IMPORT = """
import enum, os, signal, sys

create = enum.EnumType._create_

def create_and_signal(cls, *arguments, **names):
    if "iree.compiler._mlir_libs" in sys.modules:
        os.kill(os.getpid(), signal.SIGTERM)
    return create(cls, *arguments, **names)

enum.EnumType._create_ = create_and_signal
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
import hipgraft.ir.bindings
sys.exit(0)
"""


def test_a_signal_while_the_bindings_load_does_not_abort() -> None:
    """The bindings make enumerations in C++, through which no exception can pass."""
    assert subprocess.run([sys.executable, "-c", _SIGNAL_IN_IMPORT], check=False).returncode == 7


_SIGNAL_IN_NUMPY = """
import importlib.abc, os, signal, sys

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "numpy._core.multiarray":
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Finder())
from hipgraft.tools import hipgraft_run
sys.exit(hipgraft_run.main(["no-such.mlir", "--device=cpu"]))
"""


def test_a_signal_while_numpy_loads_ends_a_tool_without_a_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SIGNAL_IN_NUMPY], capture_output=True, text=True, check=False
    )
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert done.stderr == ""


def test_a_plug_in_that_cannot_be_imported_does_not_hide_the_others(tmp_path: Path) -> None:
    metadata = tmp_path / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    points = "[hipgraft.passes]\nbroken-pass = broken_passes:BrokenPass\n"
    (metadata / "entry_points.txt").write_text(points)
    (tmp_path / "broken_passes.py").write_text("raise OSError('no licence')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = run("opt", "--help", env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0
    said = done.stdout.decode()
    assert "--hipdnn-outline" in said
    assert "cannot be imported from broken: OSError: no licence" in said


@pytest.mark.slow
def test_example_of_the_help_works(tmp_path: Path) -> None:
    help_text = run("opt", "--help").stdout.decode()
    (example,) = re.findall(r"^  hipgraft-opt (.*)$", help_text, re.MULTILINE)
    (tmp_path / "ops.mlir").write_text(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        '  %0 = "hipdnn.pointwise"(%x) {mode = "abs"} : (tensor<4xf32>) -> tensor<4xf32>\n'
        "  return %0 : tensor<4xf32>\n}\n"
    )
    done = run("opt", *shlex.split(example), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"hipdnn.graph" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_a_library_takes_for_an_error_is_one(number: signal.Signals) -> None:
    text = f"""
import os, sys
from hipgraft.tools.running import run_tool
def body():
    try:
        os.kill(os.getpid(), {number:d})
    except BaseException:
        raise ImportError("numpy was interrupted") from None
sys.exit(run_tool(body))
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (128 + number, "")
