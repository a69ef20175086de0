"""Compares random ONNX models with onnxruntime on a GPU of another machine.

    python benchmarks/differential_gpu.py prepare DIR [--rounds 1000] [--seed 0] [--ops REGEX]
                                          [--long] [--element {f16,bf16}] [--target sm_80] [-j 2]
    python benchmarks/differential_gpu.py run DIR [--device cuda] [-j 8]

`prepare` draws the models of `differential.py`, compiles each for the GPU, and stores it in DIR
with inputs and expected results. `run` needs no compiler, only NumPy, ml_dtypes, the runtime of
bundles, and this source. It runs each model three times in a process of its own, because races may
show in one run only. The status is 1 if a model is wrong, crashes or hangs.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraft.onnx_backend.cases import Case, Outcome

RUNS = 3
WRONG = 3
"""The status of the process that runs one model, if a result is wrong."""
MOST_RESULTS = 1 << 17
"""The most elements in the results of a model, which are copied to the other machine."""
SECONDS = 60
"""The longest time for the runs of one model."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script; returns 1 if a model fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("action", choices=("prepare", "run"))
    parser.add_argument("path", type=Path, help="directory, or a bundle of it to run")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ops", default="", help="only operators whose name matches")
    parser.add_argument("--long", action="store_true", help="lengthen extents")
    parser.add_argument("--element", choices=("f16", "bf16"), default="")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("-j", type=int, default=2, help="models at a time")
    flags = parser.parse_args(arguments)
    if flags.path.is_file():
        return run(flags.path, flags.device)
    counts: Counter[str] = Counter()
    for name, kind, detail in (prepare_all if flags.action == "prepare" else run_all)(flags):
        counts[kind] += 1
        if kind not in ("pass", "refused"):
            print(f"{kind}: {name}: {detail}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return int(any(kind not in ("pass", "refused") for kind in counts))


def prepare_all(flags: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """Yields the name, outcome and reason of each model that is drawn and compiled."""
    import onnxruntime
    from differential import Draw, rounds

    from hipgraft.compiler import program  # noqa: F401  # loaded once, not by each job
    from hipgraft.onnx_backend.cases import run_contained

    onnxruntime.set_default_logger_severity(4)
    flags.path.mkdir(parents=True, exist_ok=True)
    draw = Draw(flags.seed, flags.ops, long=flags.long, element=flags.element)

    def jobs() -> Iterator[tuple[str, Callable[[], Outcome]]]:
        for _, case in rounds(flags.rounds, draw):
            if sum(one.size for one in case.wanted) > MOST_RESULTS:
                continue
            yield case.name, partial(prepare, case, flags.path / case.name, flags.target)

    for name, outcome in run_contained(jobs(), workers=flags.j):
        yield name, outcome.kind, outcome.detail


def prepare(case: Case, path: Path, target: str) -> Outcome:
    """Compiles a case into a bundle, and stores its expected results."""
    import hipgraft
    from hipgraft.onnx_backend.cases import Outcome
    from hipgraft.service import CompileService, InProcess, use_service

    model = path.with_suffix(".onnx")
    model.write_bytes(case.model.SerializeToString())
    try:
        with CompileService(InProcess()) as service, use_service(service):
            hipgraft.compile(model, target).save_bundle(path.with_suffix(".hgb"))
    except hipgraft.HipgraftError as error:
        return Outcome("refused", error.message)
    finally:
        model.unlink()
    stored = (case.inputs, case.wanted, case.rtol, case.atol)
    path.with_suffix(".pickle").write_bytes(pickle.dumps(stored))
    return Outcome("pass")


def run_all(flags: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """Yields the name, outcome and reason of each model of a directory."""
    paths = sorted(flags.path.glob("*.hgb"))
    with ThreadPoolExecutor(flags.j) as pool:
        outcomes = pool.map(partial(run_apart, device=flags.device), paths)
        for path, (kind, detail) in zip(paths, outcomes, strict=True):
            yield path.stem, kind, detail


def run_apart(path: Path, device: str) -> tuple[str, str]:
    """Returns the outcome and reason of a model that runs in another process."""
    command = [sys.executable, __file__, "run", path, f"--device={device}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "timeout", f"more than {SECONDS} s"
    lines = (done.stderr + done.stdout).strip().splitlines()
    kind = {0: "pass", WRONG: "wrong"}.get(done.returncode, "abort")
    return kind, lines[-1] if lines else ""


def run(path: Path, device: str) -> int:
    """Runs a model; prints the reason and returns `WRONG` if a result is wrong."""
    from hipgraft.runtime import comparison
    from hipgraft.runtime.bundle import Bundle
    from hipgraft.runtime.devices import open_device
    from hipgraft.runtime.session import Session

    inputs, wanted, rtol, atol = pickle.loads(path.with_suffix(".pickle").read_bytes())
    opened = open_device(device)
    recording = Bundle(path).recording(opened.architecture)
    with Session(recording, opened, replay=False) as session:
        for index in range(RUNS):
            for number, (got, want) in enumerate(zip(session.run(inputs), wanted, strict=True)):
                bound = max(rtol, comparison.tolerance(want.dtype))
                found = comparison.compare(got, want, bound, atol)
                if got.dtype != want.dtype or not found.ok:
                    print(f"run {index}, result {number}: {got.dtype}, {found}")
                    return WRONG
    return 0


if __name__ == "__main__":
    sys.exit(main())
