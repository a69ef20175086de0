"""Threads: those that share a program, and those with a program of their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recordings import FailingDevice, copying_program
from test_jit import HOST, X, parse

from hipgraft.compiler.program import compile
from hipgraft.host.jit import Jit
from hipgraft.runtime.bundle import Bundle, write_bundle
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.session import Session

MODEL = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir"


def in_threads(use: Callable[[int], None], tasks: int = 16) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(tasks)))


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["session", "bundle", "interpreter", "jit"])
def test_a_shared_program_gives_each_thread_its_results(kind: str, tmp_path: Path) -> None:
    device = NullDevice("gfx942")
    with ExitStack() as resources:
        if kind == "bundle":
            write_bundle(tmp_path / "program.hgb", [copying_program()])
            bundle = resources.enter_context(Bundle(tmp_path / "program.hgb"))
            run: Callable[..., list[Any]] = partial(bundle.run, device=device)
        else:
            opened = {
                "session": lambda: Session(copying_program(), device),
                "interpreter": lambda: Executor(parse(HOST), device),
                "jit": lambda: Jit(parse(HOST), device),
            }[kind]()
            run = resources.enter_context(opened).run

        def use(number: int) -> None:
            for _ in range(100):
                np.testing.assert_array_equal(run([X + number])[0], X + number)

        in_threads(use)
    assert not device._allocations


def test_a_shared_program_on_the_cpu() -> None:
    with compile(MODEL, "cpu") as program:
        shapes = [one.shape for one in program.recording("cpu").inputs]
        given = [[np.full(one, number / 16, np.float16) for one in shapes] for number in range(8)]
        expected = [program.run(inputs)[0] for inputs in given]

        def use(number: int) -> None:
            for _ in range(30):
                np.testing.assert_array_equal(program.run(given[number])[0], expected[number])

        in_threads(use, len(given))


@pytest.mark.slow
def test_many_compiled_programs_in_threads() -> None:
    """Each program has its own runtime functions, under the same names in each engine."""

    def use(number: int) -> None:
        device = NullDevice("gfx942")
        with Jit(parse(HOST), device) as program:
            for step in range(3):
                np.testing.assert_array_equal(program.run([X + step])[0], X + step)
        assert not device._allocations

    in_threads(use, 50)


class SlowDevice(FailingDevice):
    """Lets other threads on while a program is run."""

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        time.sleep(0.001)
        super().fill(address, pattern, nbytes)


@pytest.mark.slow
def test_a_failure_is_that_of_one_thread() -> None:
    """If several threads run one program, only the run whose call failed raises the error."""
    device = SlowDevice("fill", 50)
    failed: list[int] = []
    with Jit(parse(HOST), device) as program:

        def use(number: int) -> None:
            for _ in range(20):
                try:
                    found = program.run([X + number])
                except OSError:
                    failed.append(number)
                else:
                    np.testing.assert_array_equal(found[0], X + number)
                    np.testing.assert_array_equal(found[2], np.full(6, -7, np.int16))

        in_threads(use)
        assert len(failed) == 1
    assert not device._allocations
