"""Runs in a loop leak no memory of the host or the device, with each way to run."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hipgraft.compiler.program import compile
from hipgraft.host.jit import Jit
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.session import Session

MODEL = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir"
STATM = Path("/proc/self/statm")
PAGE = 4  # KiB
ALLOWED = 2048  # KiB: a fifth of a KiB in each of 10,000 runs

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not STATM.exists(), reason="no /proc")]


def resident() -> int:
    """KiB of this process's own memory."""
    gc.collect()
    _, pages, shared, *_ = map(int, STATM.read_text().split())
    return PAGE * (pages - shared)


def check_growth(run: Callable[[], Any], held: Callable[[], int], runs: int) -> None:
    for _ in range(runs // 20):
        run()
    live, before = held(), resident()
    for _ in range(runs):
        run()
    assert held() == live
    assert resident() - before < ALLOWED


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["session", "interpreter", "jit"])
def test_many_runs_do_not_grow(kind: str) -> None:
    program = compile(MODEL, "gfx942")
    recording = program.recording("gfx942")
    inputs = [np.zeros(one.shape, np.float16) for one in recording.inputs]
    device = NullDevice("gfx942")
    opened = {
        "session": lambda: Session(recording, device),
        "interpreter": lambda: Executor(program.module, device),
        "jit": lambda: Jit(program.module, device),
    }[kind]
    with opened() as loaded:
        check_growth(lambda: loaded.run(inputs), lambda: len(device._allocations), 10_000)
    assert not device._allocations


@pytest.mark.thorough
def test_many_runs_on_the_cpu_do_not_grow() -> None:
    with compile(MODEL, "cpu") as program:
        inputs = [np.ones(one.shape, np.float16) for one in program.recording("cpu").inputs]
        check_growth(lambda: program.run(inputs), lambda: 0, 10_000)
