"""Generates the tuning database that comes with the package.

    python tools/dev/gen_tuning_database.py [--target gfx942 ...]
        [--models 'resnet50*'] [--full 'resnet50_f16'] [--budget 600] [--cache DIR]

It compiles the graphs of `benchmarks/models` for each architecture. Where the static cost model
calls the default plan pathological, it compiles all other plans and counts a sample of their
workgroups on the emulator. The database gets the best plan even if that is the default one, so that
users do not search again. `--full` names models in which it tries all plans of all graphs, starting
with the graphs that have the most operations, until the budget is spent. Models with
convolutions of 16-bit elements are compiled a second time, as `NAME_constant`, with constant
weights: their graphs then store other tensors channels last.

The new entries replace all entries of the same models and architectures, so that graphs that have
changed leave none behind. With `--cache` an interrupted run can be continued. A run takes hours;
one is needed after a change of the compiler, of outlining or of a lowering.
"""

from __future__ import annotations

import argparse
import lzma
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from hipgraft.compiler.program import compile
from hipgraft.ir.bindings import ir
from hipgraft.service import Cache, CompileService, ProcessWorkers
from hipgraft.service.tuning.database import Database, Tuned, read_database
from hipgraft.service.tuning.search import Mode, Search, open_cost_models

_ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT / "benchmarks"))
from constant_weights import with_weights  # noqa: E402

MODELS = _ROOT / "benchmarks" / "models"
CONSTANT = ("resnet50", "resnet50_f16")
"""Models that are also tuned with constant weights."""
DATABASE = _ROOT / "src" / "hipgraft" / "service" / "tuning" / "database.json"
ARCHITECTURES = ("gfx942", "gfx950", "gfx1100")

_SUFFIX = ".onnx.xz"
_CONSTANT = "_constant"


def main() -> None:
    """Replaces the entries of the models and architectures that the command line names."""
    flags = _parser().parse_args()
    known = read_database(DATABASE)
    names = [name for name in model_names() if fnmatch(name, flags.models)]
    for target in flags.target or ARCHITECTURES:
        for name in names:
            started = time.monotonic()
            full = fnmatch(name, flags.full)
            found = tune(name, target, known, full, flags)
            known = Database([*_others(known, name, target), *found])
            DATABASE.write_text(known.to_json())
            seconds = time.monotonic() - started
            print(f"{target} {name}: {len(found)} entries, {seconds:.0f} s", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    add = parser.add_argument
    add("--target", action="append", choices=ARCHITECTURES)
    add("--models", default="*", metavar="GLOB", help="models whose graphs to tune")
    add("--full", default="", metavar="GLOB", help="models whose graphs are all searched")
    add(
        "--budget",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="time after which no search of a further model starts",
    )
    add("--cache", default="", metavar="DIR", help="directory of the kernel cache")
    return parser


def model_names() -> list[str]:
    """Returns the models that there are."""
    stored = [path.name.removesuffix(_SUFFIX) for path in MODELS.glob(f"*{_SUFFIX}")]
    return sorted([*stored, *(f"{name}{_CONSTANT}" for name in CONSTANT)])


def read_model(name: str, directory: Path) -> Path:
    """Returns an `.onnx` file of a model, unpacked into a directory."""
    stored = name.removesuffix(_CONSTANT)
    path = directory / f"{name}.onnx"
    path.write_bytes(lzma.decompress((MODELS / f"{stored}{_SUFFIX}").read_bytes()))
    return path if stored == name else with_weights(path, directory)


def outlined(name: str, target: str) -> ir.Module:
    """Returns a model at stage `hipdnn-graphs`."""
    with tempfile.TemporaryDirectory() as directory:
        model = read_model(name, Path(directory))
        return compile(model, target, compile_to="hipdnn-graphs").module


def tune(
    name: str, target: str, known: Database, full: bool, flags: argparse.Namespace
) -> list[Tuned]:
    """Returns the entries of a model, without those that another model has."""
    found = _search(name, target, "full" if full else "default", flags).entries
    taken = {entry.key for entry in _others(known, name, target)}
    entries = [replace(entry, name=f"{name}/{entry.name}") for entry in found]
    return [_rounded(entry) for entry in entries if entry.key not in taken]


def _search(name: str, target: str, mode: Mode, flags: argparse.Namespace) -> Database:
    search = Search(mode, open_cost_models(["estimated", "static"]), Database(), flags.budget)
    cache = Cache(Path(flags.cache)) if flags.cache else None
    with CompileService(
        ProcessWorkers(os.cpu_count()), cache, search=search, verify=True
    ) as service:
        compile(outlined(name, target), target, compile_to="hipdnn-executables", service=service)
    return search.found


def _others(known: Database, name: str, target: str) -> Iterator[Tuned]:
    for entry in known.entries:
        if (entry.name.partition("/")[0], entry.target) != (name, target):
            yield entry


def _rounded(entry: Tuned) -> Tuned:
    costs = {plan: float(f"{cost:.4g}") for plan, cost in entry.costs.items()}
    return replace(entry, costs=costs)


if __name__ == "__main__":
    main()
