"""Runs ONNX's node suite and reports the outcome of each case.

    python -m hipgraft.onnx_backend --suite node [-j 2] [--filter REGEX] [--sample N] [--json FILE]
                                    [--again FILE] [--kinds wrong,abort] [--device emulator:gfx942]
                                    [--element f16]
    python -m hipgraft.onnx_backend --device onnxruntime

A case passes, is rejected with a one-line error, is wrong, aborts the process, ends in a
traceback, or takes too long. `--json` stores outcomes; `--again` repeats an earlier run's
cases with an outcome in `--kinds`. The status is 1 if a case neither passes nor is rejected.
`--element` replaces f32 by another type; results are compared with those of ONNX's reference
implementation in f32, for rounded inputs.
With `--device onnxruntime`, sessions of ONNX Runtime run the cases by hipgraft's provider, and by
ONNX Runtime's own where that takes no node.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from onnx import numpy_helper

from hipgraft.ir.command_line import Parser
from hipgraft.onnx_backend.cases import OUTCOMES, Case, Outcome, check, run_contained
from hipgraft.onnx_backend.narrowed import ELEMENTS, narrowed
from hipgraft.onnx_backend.sessions import TAKEN, check_session

_NEEDED = (
    "codegen.provider",
    "compiler.program",
    "frontends.onnx.variants",
    "passes.convert_torch_to_hipdnn",
    "passes.hipdnn_compile",
    "runtime.devices.cpu",
    "runtime.recorder",
)

_SESSIONS = "onnxruntime"

# Results of these are random, so any value is right.
_ANY_VALUE = re.compile(r"test_(bernoulli|random|multinomial)")

# NumPy computes expected values by an f32 FFT, whose errors scale with the largest numbers.
_TRANSFORMS = re.compile(r"test_i?(dft|stft)")
_ROUNDINGS = 4 * 2.0**-24


def node_cases() -> list[Case]:
    """Returns all cases of the suite in the installed version of ONNX."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_case(one) for one in collect_testcases()]


def _case(test: Any) -> Case:
    (data,) = test.data_sets
    inputs: list[Any]
    wanted: list[Any]
    inputs, wanted = ([_array(value) for value in values] for values in data)
    if _ANY_VALUE.match(test.name):
        wanted = [None] * len(wanted)
    atol = test.atol
    if _TRANSFORMS.match(test.name):
        atol = max(atol, _ROUNDINGS * max(float(np.abs(one).max(initial=0)) for one in wanted))
    return Case(test.name, test.model, inputs, wanted, test.rtol, atol)


def _array(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(cast(Any, value)) if isinstance(value, np.generic) else value


def main() -> int:
    """Runs the cases that the command line selects, and returns the exit status."""
    options = _options()
    cases = {case.name: case for case in node_cases()}
    former: dict[str, list[str]] = {}
    if options.again:
        former = json.loads(Path(options.again).read_text())
    chosen = [case for case in cases.values() if _is_chosen(case.name, options, former)]
    if options.element:
        chosen = [one for case in chosen if (one := narrowed(case, options.element)) is not None]
    if options.sample:
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    _warm_up(options.device)
    outcomes: dict[str, Outcome] = {}
    jobs = ((case.name, _job(case, options)) for case in chosen)
    for name, outcome in run_contained(jobs, workers=options.j, timeout=options.timeout):
        outcomes[name] = outcome
        if options.verbose or outcome.kind != "pass":
            print(
                f"{outcome.kind:9} {outcome.seconds:5.1f} s  {name}: {outcome.detail}", flush=True
            )
    if options.json:
        rows = {name: [one.kind, one.detail] for name, one in sorted(outcomes.items())}
        Path(options.json).write_text(json.dumps(former | rows, indent=0))
    if options.device == _SESSIONS:
        told = Counter(outcome.detail for outcome in outcomes.values() if outcome.kind == "pass")
        print(", ".join(f"{told[one]} {one}" for one in TAKEN))
    return _summary(outcomes)


def _job(case: Case, options: argparse.Namespace) -> Callable[[], Outcome]:
    if options.device == _SESSIONS:
        return partial(check_session, case)
    return partial(check, case, options.stage, options.device)


def _options() -> argparse.Namespace:
    parser = Parser("python -m hipgraft.onnx_backend", description="runs ONNX's node suite")
    parser.add_argument("--suite", default="node", choices=["node"], help="suite of ONNX's tests")
    parser.add_argument("-j", type=int, default=1, help="cases at a time")
    parser.add_argument("--filter", default="", help="only cases whose name matches")
    parser.add_argument(
        "--sample", type=int, default=0, help="number of cases to draw by --seed; by default all"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one case")
    parser.add_argument("--json", default="", help="file to write the outcomes to")
    parser.add_argument("--again", default="", help="file with the outcomes of an earlier run")
    parser.add_argument("--kinds", default="refused,wrong,abort,traceback,timeout")
    parser.add_argument("--device", default="cpu", help="or emulator:ARCHITECTURE, onnxruntime")
    parser.add_argument("--element", choices=ELEMENTS, help="type to give to f32 tensors")
    parser.add_argument("--stage", default="", help="compile as far as this stage only")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def _is_chosen(name: str, options: argparse.Namespace, former: dict[str, list[str]]) -> bool:
    if former and former.get(name, ["pass"])[0] not in options.kinds.split(","):
        return False
    return re.search(options.filter, name) is not None


def _warm_up(device: str) -> None:
    """Loads the modules that each case needs before any fork; it must not start threads."""
    if device == _SESSIONS:
        import_module("onnxruntime")
        return
    for name in _NEEDED:
        import_module(f"hipgraft.{name}")


def _summary(outcomes: dict[str, Outcome]) -> int:
    counts = Counter(outcome.kind for outcome in outcomes.values())
    print(", ".join(f"{counts[kind]} {kind}" for kind in OUTCOMES))
    return int(any(counts[kind] for kind in OUTCOMES[2:]))


if __name__ == "__main__":
    sys.exit(main())
