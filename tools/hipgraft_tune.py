"""hipgraft-tune: tries compiler flags for each graph of a model and keeps the best."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hipgraft.ir.command_line import Parser
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.tools import cli, service_flags
from hipgraft.tools.progress import progress

if TYPE_CHECKING:
    from hipgraft.codegen.target import Target
    from hipgraft.service.flag_tuning import Ranking, Score
    from hipgraft.service.tuning.database import Database


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _run(flags))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="hipgraft-tune",
        description="Compiles each graph of a model in several ways, ranks them by the time that "
        "their kernels take or by resource usage, and writes overrides for hipgraft-compile "
        "--overrides; or, with --database, tries all lowerings and keeps the best for "
        "hipgraft-compile --tuning-db; or, with --calibration, takes the times of the graphs for "
        "hipgraft-compile --calibration.",
    )
    cli.add_model_arguments(parser)
    service_flags.add_worker_arguments(parser)
    add = parser.add_argument
    add("--target", default="gfx942", metavar="ARCH,...", help="architectures, or cpu")
    add("--graph", default="*", metavar="GLOB", help="names of the graphs to tune")
    add("--candidates", default="", metavar="FILE.yaml", help="a list of name, flags, tuning_spec")
    service_flags.add_cost_model_arguments(parser)
    parser.set_defaults(cost_models="")
    add("--database", default="", metavar="OUT.json", help="tuning database to write or add to")
    add(
        "--calibration",
        default="",
        metavar="OUT.json",
        help="calibration of graphs' estimates to write, from their kernels' times",
    )
    add(
        "--budget",
        type=cli.magnitude,
        default=600.0,
        metavar="SECONDS",
        help="time after which no new search starts, with --database",
    )
    add(
        "-o",
        "--output",
        default="-",
        metavar="OUT.yaml",
        help="file for the overrides; - is standard output",
    )
    add("--version", action=cli.VersionAction)
    return parser


def _run(flags: argparse.Namespace) -> int:
    flags.cost_models = flags.cost_models or _default_cost_models(flags)
    if flags.calibration:
        return _write_calibration(flags)
    return _write_database(flags) if flags.database else _write_overrides(flags)


def _default_cost_models(flags: argparse.Namespace) -> str:
    """Returns `timed` if a device is found that runs the kernels of all targets."""
    from hipgraft.service.tuning.timed import can_time

    is_timed = all(can_time(target, flags.timing_device) for target in _targets(flags))
    return "timed" if is_timed else "estimated" if flags.calibration else "static"


def _targets(flags: argparse.Namespace) -> list[Target]:
    from hipgraft.codegen.target import Target

    return [Target.parse(name) for name in flags.target.split(",")]


def _write_database(flags: argparse.Namespace) -> int:
    from pathlib import Path

    from hipgraft.compiler.program import compile
    from hipgraft.service import CompileService
    from hipgraft.service.tuning.database import Database, read_database

    known = read_database(flags.database) if Path(flags.database).exists() else Database()
    search = service_flags.open_search(flags, "full", flags.budget)
    workers = service_flags.open_workers(flags)
    try:
        with progress(flags.quiet), CompileService(workers, search=search) as service:
            compile(
                flags.model,
                flags.target,
                compile_to="hipdnn-executables",
                extra_flags=cli.split_flags(flags.iree_flags, "--iree-flags"),
                **cli.reading(flags),
                service=service,
            )
    except (HipgraftError, KeyboardInterrupt):
        if search.found.entries:  # the search may have taken hours
            _keep(flags.database, known, search.found)
        raise
    _keep(flags.database, known, search.found)
    return 0


def _keep(path: str, known: Database, found: Database) -> None:
    """Adds the new plans to a database, prints them, and writes the database."""
    from hipgraft.ir import io as ir_io

    known.merge(found.entries)
    for entry in found.entries:
        costs = ", ".join(f"{plan} {cost:.3g}" for plan, cost in entry.costs.items())
        text = f"{entry.name} takes {entry.plan} on {entry.target} ({entry.cost_model}: {costs})"
        print(text, file=sys.stderr)
    ir_io.write_output(path, known.to_json().encode())


def _write_calibration(flags: argparse.Namespace) -> int:
    from hipgraft.codegen.chips import find_gpu
    from hipgraft.compiler.program import compile
    from hipgraft.ir import io as ir_io
    from hipgraft.service import CompileService
    from hipgraft.service.tuning.calibrating import described, fitted, samples_of
    from hipgraft.service.tuning.search import open_cost_models
    from hipgraft.transforms.partition.calibration import calibration_text

    cost_model, *_ = open_cost_models(flags.cost_models.split(","), flags.timing_device)
    targets = _targets(flags)
    with progress(flags.quiet), CompileService(service_flags.open_workers(flags)) as service:
        model = compile(
            flags.model,
            flags.target,
            compile_to="hipdnn-graphs",
            **cli.reading(flags),
            service=service,
        )
        found = {
            target.name: fitted(
                samples_of(
                    model.module,
                    target,
                    find_gpu(model.config.gpu or target.name),
                    service,
                    cost_model,
                    flags.graph,
                )
            )
            for target in targets
        }
    for line in described(found):
        print(line, file=sys.stderr)
    ir_io.write_output(flags.calibration, calibration_text(found).encode())
    return 0


def _write_overrides(flags: argparse.Namespace) -> int:
    # Imported here because `--help` and wrong flags need no compiler.
    from hipgraft.codegen.target import TargetKind
    from hipgraft.compiler.program import compile
    from hipgraft.ir import io as ir_io
    from hipgraft.service import CompileService
    from hipgraft.service.flag_tuning import (
        default_candidates,
        overrides_yaml,
        read_candidates,
        tune,
    )
    from hipgraft.service.tuning.search import open_cost_models

    targets = _targets(flags)
    cost_model, *_ = open_cost_models(flags.cost_models.split(","), flags.timing_device)
    for target in targets:
        if cost_model.name == "static" and target.kind is not TargetKind.AMDGPU:
            raise HipgraftError(f"target '{target.name}' has no resource usage: expected an AMDGPU")
    given = read_candidates(flags.candidates) if flags.candidates else None
    workers = service_flags.open_workers(flags)
    with progress(flags.quiet), CompileService(workers) as service:
        outlined = compile(
            flags.model,
            targets[0].name,
            compile_to="hipdnn-graphs",
            **cli.reading(flags),
            service=service,
        )
        rankings = [
            ranking
            for target in targets
            for ranking in tune(
                outlined.module,
                target,
                given or default_candidates(target),
                service,
                pattern=flags.graph,
                extra_flags=cli.split_flags(flags.iree_flags, "--iree-flags"),
                cost_model=None if cost_model.name == "static" else cost_model,
            )
        ]
    for ranking in rankings:
        _print_ranking(ranking)
    ir_io.write_output(flags.output, overrides_yaml(rankings).encode())
    return 0


def _print_ranking(ranking: Ranking) -> None:
    print(f"{ranking.name} on {ranking.target} ({ranking.digest[:12]})", file=sys.stderr)
    for score in ranking.scores:
        print(f"  {score.candidate.name:20} {_describe(score)}", file=sys.stderr)


def _describe(score: Score) -> str:
    if score.error or score.resources is None:
        return score.error
    measured = {} if score.cost is None else score.cost.metrics
    counts = {"launches": score.launches, "matrix instructions": score.matrix, **score.resources}
    texts = [f"{name} {value:.4g}" for name, value in measured.items()]
    texts += [f"{name} {value}" for name, value in counts.items()] if score.resources else []
    return ", ".join(texts)


if __name__ == "__main__":
    sys.exit(main())
