"""Devices that fail at each call of each kind, with each way to run a program."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from recordings import FailingDevice

from hipgraft.compiler.program import Program, compile
from hipgraft.host.jit import Jit
from hipgraft.runtime.bundle import Bundle
from hipgraft.runtime.devices import open_device
from hipgraft.runtime.devices.protocols import Device
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.session import Session
from hipgraft.tools import hipgraft_run

MODEL = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir"
KINDS = (
    "allocate",
    "copy_to_device",
    "copy_to_host",
    "load_code_object",
    "get_kernel",
    "launch",
    "synchronize",
)


@cache
def program() -> Program:
    return compile(MODEL, "gfx942")


def inputs() -> list[np.ndarray]:
    return [np.zeros(one.shape, np.float16) for one in program().recording("gfx942").inputs]


def run_session(device: Device, directory: Path) -> None:
    with Session(program().recording("gfx942"), device) as session:
        session.run(inputs())
        session.run(inputs())


def run_program(device: Device, directory: Path) -> None:
    with compile(MODEL, "gfx942") as fresh:
        fresh.run(inputs(), device)


def run_interpreter(device: Device, directory: Path) -> None:
    with Executor(program().module, device) as executor:
        executor.run(inputs())


def run_jit(device: Device, directory: Path) -> None:
    with Jit(program().module, device) as jit:
        jit.run(inputs())


def run_bundle(device: Device, directory: Path) -> None:
    path = directory / "model.hgb"
    if not path.exists():
        program().save_bundle(path)
    with Bundle(path) as bundle:
        bundle.run(inputs(), device)


@pytest.mark.slow
@pytest.mark.sampled(16)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("run", [run_session, run_program, run_interpreter, run_jit, run_bundle])
def test_every_call_may_fail(
    tmp_path: Path, run: Callable[[Device, Path], None], kind: str
) -> None:
    whole = FailingDevice(kind, 0)
    run(whole, tmp_path)
    calls = -whole.left
    assert calls > 0
    for nth in range(1, calls + 1):
        device = FailingDevice(kind, nth)
        with pytest.raises(OSError, match="bus error"):
            run(device, tmp_path)
        gc.collect()
        assert not device._allocations, f"call {nth} of {calls}"
        run(device, tmp_path)
        assert not device._allocations


FAILING_DEVICE = """
from recordings import FailingDevice

def open_failing():
    return FailingDevice({kind!r}, 1)

def open_none():
    raise OSError("no driver")
"""


@pytest.mark.parametrize("kind", [*KINDS, "free", "close"])
def test_the_tool_tells_what_a_device_of_others_raises(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program().save_bundle(tmp_path / "model.hgb")
    (tmp_path / "device.py").write_text(FAILING_DEVICE.format(kind=kind))
    for factory, message in (
        ("open_failing", f"error: the device failed in '{kind}': OSError: bus error\n"),
        ("open_none", ":open_none' cannot be opened: OSError: no driver\n"),
    ):
        device = f"--device={tmp_path / 'device.py'}:{factory}"
        assert hipgraft_run.main([str(tmp_path / "model.hgb"), device]) == 1
        assert capsys.readouterr().err.endswith(message)


def test_device_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_device.py").write_text(
        "from hipgraft.runtime.devices.host_memory import NullDevice\n\n\n"
        "def open_mine(architecture: str = 'gfx942') -> NullDevice:\n"
        "    return NullDevice(architecture)\n"
    )
    metadata = tmp_path / "my_device-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-device\nVersion: 1.0\n")
    points = "[hipgraft.devices]\nmine = my_device:open_mine\n"
    (metadata / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    assert open_device("mine").architecture == "gfx942"
    assert open_device("mine:gfx1100").architecture == "gfx1100"
    run_session(open_device("mine"), tmp_path)
