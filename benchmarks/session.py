"""Measures the cost of `Session.run` besides the driver's calls.

    python benchmarks/session.py [MODEL]...

Runs models compiled for gfx942 on a HIP stub that does nothing. The peer is a loop in C that makes
the driver calls of such a run: copies in, launches, copies out and a wait. `numpy` passes arrays of
the host, `outputs` also those for the results, `device` arrays on the device only.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import hipgraft
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.runtime.boundary import DeviceArray
from hipgraft.runtime.devices import open_device
from hipgraft.runtime.recording import Launch, Recording
from hipgraft.runtime.session import Session

ROOT = Path(__file__).resolve().parents[1]
_INPUTS = ROOT / "test" / "lit" / "tools" / "Inputs"
_MODELS = [str(_INPUTS / "conv_relu.mlir"), str(ROOT / "examples" / "resnet50_bn_tiny.onnx")]
_ROUNDS, _REPEATS = 100, 300


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=_MODELS)
    flags = parser.parse_args(arguments)
    columns = ("model", "launches", "arrays", "run", "bare", "over bare", "ratio")
    table = Table(*columns, box=None)
    with tempfile.TemporaryDirectory() as name:
        hip, loop = Path(name, "libnull_hip.so"), Path(name, "loop.so")
        for source, output, *more in (
            (ROOT / "test" / "unit" / "null_hip.c", hip),
            (ROOT / "benchmarks" / "session.c", loop, hip),
        ):
            command = ["cc", "-shared", "-fPIC", "-O2", source, "-o", output, *more]
            subprocess.run(command, check=True)
        os.environ["HIPGRAFT_LIBAMDHIP64"] = str(hip)
        bare = ctypes.CDLL(str(loop)).bare
        bare.restype = ctypes.c_double
        device = open_device("hip")
        for model in flags.models:
            with hipgraft.compile(model, "gfx942") as program:
                recording = program.recordings("gfx942")[0]
                for row in rows(recording, device, bare):
                    table.add_row(Path(model).stem, *row)
        device.close()
    Console(width=100).print(table)


def rows(recording: Recording, device: Any, bare: Any) -> list[list[str]]:
    launches = sum(isinstance(one, Launch) for one in recording.commands)
    inputs, outputs = (
        [np.zeros(one.shape, numpy_dtype(one.element_type)) for one in each]
        for each in (recording.inputs, recording.results)
    )
    found: list[list[str]] = []
    with Session(recording, device) as session:
        x = [session.upload(one) for one in inputs]
        y = [DeviceArray.allocate(device, one) for one in recording.results]
        runs: dict[str, tuple[Callable[[], Any], int]] = {
            "numpy": (lambda: session.run(inputs), 1),
            "outputs": (lambda: session.run(inputs, outputs), 1),
            "device": (lambda: session.run(x, y), 0),
        }
        arrays = [*inputs, *outputs]
        sizes = (ctypes.c_size_t * len(arrays))(*(one.nbytes for one in arrays))
        host = (ctypes.c_void_p * len(arrays))(*(one.ctypes.data for one in arrays))
        memory = (ctypes.c_void_p * len(arrays))(*(one.address for one in (*x, *y)))
        for kind, (run, copies) in runs.items():
            counts = (1, len(inputs) * copies, len(outputs) * copies)  # a graph is one launch
            peer = min(bare(_ROUNDS, *counts, sizes, host, memory) for _ in range(_REPEATS))
            own = timed(run)
            row = (f"{own:.1f} us", f"{peer:.2f} us", f"{own - peer:.1f} us", f"{own / peer:.0f}")
            found.append([str(launches), kind, *row])
    return found


def timed(run: Callable[[], Any]) -> float:
    """Returns the microseconds of a call: the minimum over some rounds."""
    for _ in range(100):
        run()
    times: list[float] = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for _ in range(_ROUNDS):
            run()
        times.append(1e6 * (time.perf_counter() - start) / _ROUNDS)
    return min(times)


if __name__ == "__main__":
    main()
