"""Generates the tuning database that comes with the package.

    HIPGRAFT_EMULATOR=DIRECTORY python tools/dev/gen_tuning_database.py [--target gfx942 ...]
        [--models 'resnet50*'] [--full 'resnet50_f16'] [--budget 600] [--cache DIR]

For each architecture it compiles the graphs of `benchmarks/models`. Where the static judge calls
the usual lowering pathological, all others are tried and counted on the emulator, a sample of
workgroups each; what is best is kept, the usual one too, so that nobody searches again. Of models
that `--full` names all graphs are tried, those of most operations first, while the budget lasts.

Entries of the models and architectures named are replaced, so that none is left of graphs that
have changed. With `--cache` what was compiled is not compiled again after an interruption. It takes
hours; run it after a change of the compiler, of outlining or of a lowering.
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
from hipgraft.service.tuning.judges import make_judges
from hipgraft.service.tuning.search import Mode, Search

_ROOT = Path(__file__).resolve().parents[2]
MODELS = _ROOT / "benchmarks" / "models"
DATABASE = _ROOT / "src" / "hipgraft" / "tuning" / "database.json"
ARCHITECTURES = ("gfx942", "gfx950", "gfx1100")

_SUFFIX = ".onnx.xz"


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
    add("--models", default="*", metavar="GLOB", help="whose graphs to tune")
    add("--full", default="", metavar="GLOB", help="models of which all graphs are tried")
    add("--budget", type=float, default=600.0, metavar="SECONDS", help="to begin trials, per model")
    add("--cache", default="", metavar="DIR", help="kernels are kept there")
    return parser


def model_names() -> list[str]:
    """Returns the models that there are."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in MODELS.glob(f"*{_SUFFIX}"))


def read_model(name: str, directory: Path) -> Path:
    """Returns an `.onnx` file of a model, unpacked into a directory."""
    path = directory / f"{name}.onnx"
    path.write_bytes(lzma.decompress((MODELS / f"{name}{_SUFFIX}").read_bytes()))
    return path


def outlined(name: str) -> ir.Module:
    """Returns a model at stage `hipdnn-graphs`."""
    with tempfile.TemporaryDirectory() as directory:
        return compile(read_model(name, Path(directory)), compile_to="hipdnn-graphs").module


def tune(
    name: str, target: str, known: Database, full: bool, flags: argparse.Namespace
) -> list[Tuned]:
    """Returns the entries of a model, without those that another model has."""
    found = _search(name, target, "full" if full else "default", flags).entries
    taken = {entry.key for entry in _others(known, name, target)}
    entries = [replace(entry, name=f"{name}/{entry.name}") for entry in found]
    return [_rounded(entry) for entry in entries if entry.key not in taken]


def _search(name: str, target: str, mode: Mode, flags: argparse.Namespace) -> Database:
    search = Search(mode, make_judges(["counted", "static"]), Database(), flags.budget)
    cache = Cache(Path(flags.cache)) if flags.cache else None
    with CompileService(ProcessWorkers(os.cpu_count()), cache, search=search) as service:
        compile(outlined(name), target, compile_to="hipdnn-executables", service=service)
    return search.found


def _others(known: Database, name: str, target: str) -> Iterator[Tuned]:
    for entry in known.entries:
        if (entry.name.partition("/")[0], entry.target) != (name, target):
            yield entry


def _rounded(entry: Tuned) -> Tuned:
    figures = {plan: float(f"{cost:.4g}") for plan, cost in entry.figures.items()}
    return replace(entry, figures=figures)


if __name__ == "__main__":
    main()
