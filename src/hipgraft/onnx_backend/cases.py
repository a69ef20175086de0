"""Runs ONNX models in separate processes and reports how each ended.

Each job is a forked child: if it aborts, hangs or runs out of memory, that is its outcome.
"""

from __future__ import annotations

import os
import pickle
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Each job has one core; this must be set before NumPy and the runtime start their threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import ml_dtypes
import numpy as np
import onnx

OUTCOMES = ("pass", "refused", "wrong", "abort", "traceback", "timeout")

_EPSILONS = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
"""The relative error of one rounding, by element type."""


@dataclass(frozen=True)
class Case:
    """A model with inputs and expected results.

    Attributes:
        name: name of the case.
        model: the model.
        inputs: arrays in the order of the model's inputs.
        wanted: expected arrays in the order of its outputs; None where any value is right.
        rtol: relative tolerance.
        atol: absolute tolerance.
    """

    name: str
    model: onnx.ModelProto
    inputs: Sequence[Any]
    wanted: Sequence[Any]
    rtol: float = 1e-3
    atol: float = 1e-7


@dataclass(frozen=True)
class Outcome:
    """How a case ended: one of `OUTCOMES`, and the reason in one line."""

    kind: str
    detail: str = ""
    seconds: float = field(default=0.0, compare=False)


def check(case: Case, stage: str = "", device: str = "cpu") -> Outcome:
    """Compiles and runs a case in this process.

    Args:
        case: case to compile.
        stage: stage at which to stop; if it is given, the case does not run.
        device: `cpu`, or `emulator:` and an architecture; a finding of the emulator's checks
            (races, divergent barriers, uninitialised values) counts as wrong.
    """
    from hipgraft.compiler.program import compile as compile_model
    from hipgraft.emulator import Check, EmulatorDevice, EmulatorError
    from hipgraft.ir.diagnostics import HipgraftError
    from hipgraft.service import CompileService, InProcess, use_service

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(case.model.SerializeToString())
        try:
            with CompileService(InProcess()) as service, use_service(service):
                emulator, _, target = device.rpartition(":")
                program = compile_model(path, target, compile_to=stage)
                opened = EmulatorDevice(target, check=Check.ALL) if emulator else device
                got = None if stage else program.run(case.inputs, opened)
        except EmulatorError as error:  # the compiled code faults
            return Outcome("wrong", str(error))
        except HipgraftError as error:
            message = f"{error.location}: {error.message}" if error.location else error.message
            return Outcome("refused", message.replace(str(path), path.name))
        except Exception as error:  # any other exception is a bug
            frame = traceback.extract_tb(error.__traceback__)[-1]
            reason = (str(error).strip().splitlines() or [""])[0]
            place = f"{Path(frame.filename).name}:{frame.lineno}"
            return Outcome("traceback", f"{type(error).__name__}: {reason} ({place})")
    reason = None if got is None else mismatch(got, case)
    if reason is None and isinstance(opened, EmulatorDevice) and opened.findings:
        reason = str(opened.findings[0])
    return Outcome("pass") if reason is None else Outcome("wrong", reason)


def mismatch(got: Sequence[Any], case: Case) -> str | None:
    """Describes how results differ from the expected ones; None if they do not."""
    if len(got) != len(case.wanted):
        return f"{len(got)} results instead of {len(case.wanted)}"
    for index, (one, want) in enumerate(zip(got, case.wanted, strict=True)):
        reason = None if want is None else difference(one, np.asarray(want), case.rtol, case.atol)
        if reason is not None:
            return f"result {index}: {reason}"
    return None


def difference(got: np.ndarray, want: np.ndarray, rtol: float, atol: float) -> str | None:
    """Describes how an array differs from the expected one; None if it does not."""
    if got.shape != want.shape:
        return f"shape {list(got.shape)} instead of {list(want.shape)}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype} instead of {want.dtype}"
    if not got.size:
        return None
    wide = [_widened(one) for one in (got, want)]
    # Computing in another order may change the last bits.
    rtol = max(rtol, 4 * _EPSILONS.get(want.dtype.name, 0.0))
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.isclose(*wide, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return None
    first = tuple(int(i) for i in np.argwhere(~close)[0])
    far = f"{int((~close).sum())} of {close.size} differ"
    return f"{far}, first at {list(first)}: {got[first]} instead of {want[first]}"


def _widened(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "biu" or array.dtype.kind == "c":
        return array
    if array.dtype in (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)):
        return array.astype(np.int32)
    return array.astype(np.float64)


@dataclass
class _Job:
    key: Any
    pid: int
    pipe: int
    errors: Any
    started: float
    data: bytes = b""


def run_contained(
    jobs: Iterator[tuple[Any, Callable[[], Outcome]]], *, workers: int = 1, timeout: float = 120
) -> Iterator[tuple[Any, Outcome]]:
    """Yields the key and the outcome of each job, as soon as it has ended."""
    running: list[_Job] = []
    exhausted = False
    while running or not exhausted:
        while len(running) < workers and not exhausted:
            found = next(jobs, None)
            if found is None:
                exhausted = True
            else:
                running.append(_start(*found))
        ready, _, _ = select.select([job.pipe for job in running], [], [], 0.5)
        for job in list(running):
            outcome = _progress(job, job.pipe in ready, timeout)
            if outcome is not None:
                running.remove(job)
                yield job.key, outcome


def _start(key: Any, job: Callable[[], Outcome]) -> _Job:
    read, write = os.pipe()
    errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the job has ended
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(write)
        return _Job(key, pid, read, errors, time.monotonic())
    try:
        os.setpgrp()
        os.close(read)
        os.dup2(errors.fileno(), 2)
        os.dup2(errors.fileno(), 1)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        data = pickle.dumps(job())
        while data:
            data = data[os.write(write, data) :]
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _progress(job: _Job, is_ready: bool, timeout: float) -> Outcome | None:
    seconds = time.monotonic() - job.started
    if is_ready:
        data = os.read(job.pipe, 1 << 16)
        job.data += data
        if data:
            return None
        return _ended(job, seconds)
    if seconds < timeout:
        return None
    os.killpg(job.pid, signal.SIGKILL)
    _ended(job, seconds)
    return Outcome("timeout", f"more than {timeout:.0f} s", seconds)


def _ended(job: _Job, seconds: float) -> Outcome:
    os.close(job.pipe)
    _, status = os.waitpid(job.pid, 0)
    job.errors.seek(0)
    lines = job.errors.read().decode(errors="replace").strip().splitlines()
    job.errors.close()
    if job.data and status == 0:
        outcome = pickle.loads(job.data)
        return Outcome(outcome.kind, outcome.detail, seconds)
    told = [line for line in lines if "ERROR" in line or "rror:" in line] or lines[-1:]
    end = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {status >> 8}"
    return Outcome("abort", f"{end}: {told[0] if told else ''}", seconds)
