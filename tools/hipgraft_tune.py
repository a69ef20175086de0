"""hipgraft-tune: tries compiler flags for each graph of a model and keeps the best."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hipgraft.diagnostics import HipgraftError
from hipgraft.tools import cli, service_flags
from hipgraft.tools.progress import progress

if TYPE_CHECKING:
    from hipgraft.service.tuning import Ranking, Score


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _run(flags))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hipgraft-tune",
        description="Compiles each graph of a model in several ways, ranks them by the time that "
        "their kernels take or by static figures, and writes overrides for hipgraft-compile "
        "--overrides; or, with --database, tries all lowerings and keeps the best for "
        "hipgraft-compile --tuning-db.",
        allow_abbrev=False,
    )
    cli.add_model_arguments(parser)
    service_flags.add_worker_arguments(parser)
    add = parser.add_argument
    add("--target", default="gfx942", metavar="ARCH", help="one architecture, or cpu")
    add("--graph", default="*", metavar="GLOB", help="names of the graphs to tune")
    add("--candidates", default="", metavar="FILE.yaml", help="a list of name, flags, tuning_spec")
    service_flags.add_judge_arguments(parser)
    parser.set_defaults(judges="")
    add("--database", default="", metavar="OUT.json", help="tuning database to write or add to")
    add("--budget", type=float, default=600.0, metavar="SECONDS", help="with --database, to begin")
    add("-o", "--output", default="-", metavar="OUT.yaml", help="overrides; - is standard output")
    add("--version", action="version", version=cli.version_text("hipgraft-tune"))
    return parser


def _run(flags: argparse.Namespace) -> int:
    flags.judges = flags.judges or _default_judges(flags)
    return _write_database(flags) if flags.database else _write_overrides(flags)


def _default_judges(flags: argparse.Namespace) -> str:
    """Returns `timed` where a device is found that runs the target's kernels."""
    from hipgraft.codegen.target import Target
    from hipgraft.tuning.timed import can_time

    return "timed" if can_time(Target.parse(flags.target), flags.judge_device) else "static"


def _write_database(flags: argparse.Namespace) -> int:
    from pathlib import Path

    from hipgraft import ir_io
    from hipgraft.program import compile
    from hipgraft.service import CompileService
    from hipgraft.tuning.database import Database, read_database

    known = read_database(flags.database) if Path(flags.database).exists() else Database()
    search = service_flags.open_search(flags, "full", flags.budget)
    workers = service_flags.open_workers(flags)
    with progress(flags.quiet), CompileService(workers, search=search) as service:
        compile(
            flags.model,
            flags.target,
            compile_to="hipdnn-executables",
            extra_flags=shlex.split(flags.iree_flags),
            **cli.extents(flags),
            service=service,
        )
    known.merge(search.found.entries)
    for entry in search.found.entries:
        costs = ", ".join(f"{plan} {cost:.3g}" for plan, cost in entry.figures.items())
        print(f"{entry.name} takes {entry.plan} ({entry.judge}: {costs})", file=sys.stderr)
    ir_io.write_output(flags.database, known.to_json().encode())
    return 0


def _write_overrides(flags: argparse.Namespace) -> int:
    # Only now: `--help` and wrong flags need no compiler.
    from hipgraft import ir_io
    from hipgraft.codegen.target import Target, TargetKind
    from hipgraft.program import compile
    from hipgraft.service import CompileService
    from hipgraft.service.tuning import default_candidates, overrides_yaml, read_candidates, tune
    from hipgraft.tuning.judges import make_judges

    target = Target.parse(flags.target)
    judge, *_ = make_judges(flags.judges.split(","), flags.judge_device)
    if judge.name == "static" and target.kind is not TargetKind.AMDGPU:
        raise HipgraftError(f"target '{target.name}' has no static figures: expected an AMDGPU")
    given = flags.candidates
    candidates = read_candidates(given) if given else default_candidates(target)
    workers = service_flags.open_workers(flags)
    with progress(flags.quiet), CompileService(workers) as service:
        outlined = compile(
            flags.model,
            target.name,
            compile_to="hipdnn-graphs",
            **cli.extents(flags),
            service=service,
        )
        rankings = tune(
            outlined.module,
            target,
            candidates,
            service,
            pattern=flags.graph,
            extra_flags=shlex.split(flags.iree_flags),
            judge=None if judge.name == "static" else judge,
        )
    for ranking in rankings:
        _print_ranking(ranking)
    ir_io.write_output(flags.output, overrides_yaml(rankings, target).encode())
    return 0


def _print_ranking(ranking: Ranking) -> None:
    print(f"{ranking.name} ({ranking.digest[:12]})", file=sys.stderr)
    for score in ranking.scores:
        print(f"  {score.candidate.name:20} {_describe(score)}", file=sys.stderr)


def _describe(score: Score) -> str:
    if score.error or score.figures is None:
        return score.error
    measured = {} if score.verdict is None else score.verdict.figures
    counts = {"launches": score.launches, "matrix instructions": score.matrix, **score.figures}
    texts = [f"{name} {value:.4g}" for name, value in measured.items()]
    texts += [f"{name} {value}" for name, value in counts.items()] if score.figures else []
    return ", ".join(texts)


if __name__ == "__main__":
    sys.exit(main())
