"""Runs graphs through hipDNN's plugin on the emulated HIP, in a separate host process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from hipdnn_host import in_memory, span
from test_hipdnn_io_run import Run

from hipgraft import hipdnn_io
from hipgraft.hipdnn_io.wiring import wire
from hipgraft.native import plugin_path

BIN = Path(sys.executable).parent
HOST = Path(__file__).with_name("hipdnn_host.py")
COMMAND = (BIN / "hipgraft-emulate", "--", sys.executable, HOST)
DTYPES = {"float": np.float32, "half": np.float16}


def environment(home: Path, **others: str) -> dict[str, str]:
    given = {
        "XDG_RUNTIME_DIR": str(home / "run"),
        "HIPGRAFT_CACHE_DIR": str(home / "cache"),
        "HIPGRAFT_SERVE": str(BIN / "hipgraft-serve"),
    }
    return {**os.environ, **given, **others}


def play(home: Path, *requests: Mapping[str, Any], **others: str) -> Any:
    """Sends requests to the host; returns the answers."""
    job = {"plugin": str(plugin_path()), "requests": requests}
    done = subprocess.run(
        COMMAND,
        input=json.dumps(job),
        env=environment(home, **others),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert not said["errors"], said["errors"]
    return said["answers"]


class Prepared:
    """The files of a run: the graph, its inputs, and the output path."""

    def __init__(self, run: Run, folder: Path):
        self.run = run
        document = hipdnn_io.read_json(json.dumps(run.source))
        self.graph = folder / f"{run.name}.fb"
        self.graph.write_bytes(hipdnn_io.write_flatbuffer(document))
        wiring = wire(document)
        inputs = {
            str(one.uid): in_memory(np.asarray(values), one.strides)
            for one, values in zip(wiring.arguments, run.inputs, strict=True)
        }
        self.inputs = folder / f"{run.name}.in.npz"
        np.savez(self.inputs, allow_pickle=False, **inputs)
        (self.result,) = wiring.results
        default = run.source["io_data_type"]
        kind = self.result.data_type
        self.dtype = np.dtype(DTYPES[default if kind == "unset" else kind])
        self.elements = span(self.result.dims, self.result.strides)
        self.outputs = folder / f"{run.name}.out.npz"
        self.request = {
            "graph": str(self.graph),
            "inputs": str(self.inputs),
            "outputs": str(self.outputs),
            "by_value": [one.uid for one in wiring.arguments if one.is_runtime_pass_by_value],
            "sizes": {str(self.result.uid): self.elements * self.dtype.itemsize},
        }

    def check(self) -> None:
        with np.load(self.outputs) as found:
            memory = found[str(self.result.uid)].view(self.dtype)
        steps = [step * self.dtype.itemsize for step in self.result.strides]
        self.run.check([np.ndarray(self.result.dims, self.dtype, memory, 0, steps)])
        self.outputs.unlink()
