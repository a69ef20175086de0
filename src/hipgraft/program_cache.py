"""Whole programs in the cache of kernels: an unchanged model is not even read again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from hipgraft.bindings import ir, make_context
from hipgraft.bytecode import parse_bytecode, to_bytecode
from hipgraft.diagnostics import diagnostics_to
from hipgraft.pipelines.hipgraft_torch import HipgraftTorchConfig
from hipgraft.report import Report
from hipgraft.report_json import report_from_json, report_to_json
from hipgraft.service.entry import Entry
from hipgraft.service.keys import digest, flag_identity, host_identity, package_version
from hipgraft.service.service import CompileService
from hipgraft.service.unit import Outcome

# Of the program: a model that carries its weights is quicker compiled again than read twice.
_MOST_BYTES = 64 << 20

# How ONNX says that tensors are in other files, which may change while the model does not.
_EXTERNAL = b"location"


@dataclass(frozen=True)
class CachedProgram:
    """What is kept of a compilation; see `hipgraft.program.Program`."""

    module: ir.Module
    outlined: ir.Module | None
    report: Report


def program_key(
    model: Path,
    config: HipgraftTorchConfig,
    extents: str,
    service: CompileService,
) -> str | None:
    """Returns the key of a compilation, None for one that is not to be cached.

    Args:
        model: its file.
        config: how it is compiled.
        extents: what its symbolic dimensions are given.
        service: what compiles its graphs.
    """
    if service.cache is None or config.save_temps:
        return None
    if model.suffix in (".json", ".fb"):
        # Quickly read, and what is warned of is to be told each time.
        return None
    try:
        if model.stat().st_size > _MOST_BYTES:
            return None
        data = model.read_bytes()
    except OSError:
        # Who reads the model next says it better.
        return None
    if model.suffix == ".onnx" and _EXTERNAL in data:
        return None
    return digest(
        hashlib.sha256(data).hexdigest(),
        # Messages name it.
        str(model),
        *config.target,
        config.compile_to,
        *map(flag_identity, config.extra_flags),
        extents,
        *(f"{each.graph} {each.target}" for each in service.overrides),
        *(flag_identity(flag) for each in service.overrides for flag in each.flags),
        "" if service.search is None else service.search.identity,
        package_version(),
        host_identity() if "cpu" in config.target else "",
    )


def find_program(key: str, service: CompileService) -> CachedProgram | None:
    """Returns the program of a key, in a context of its own; None if it is not to be read."""
    entry = None if service.cache is None else service.cache.get(key)
    if entry is None:
        return None
    files = entry.outcome.artifacts
    context = make_context()
    outlined = files.get("outlined.mlirbc")
    report = report_from_json(files["report.json"])
    try:
        with diagnostics_to(context, lambda _: None):
            found = CachedProgram(
                module=parse_bytecode(files["program.mlirbc"], context),
                outlined=None if outlined is None else parse_bytecode(outlined, context),
                report=report,
            )
    except ir.MLIRError:
        # A source's resources may ask for more alignment than a page has.
        return None
    service.statistics.hits += sum(max(len(row.launches), 1) for row in report.executables)
    return found


def keep_program(key: str, name: str, program: CachedProgram, service: CompileService) -> None:
    """Puts a program into the cache, unless it is large."""
    files = {"program.mlirbc": to_bytecode(program.module)}
    if program.outlined is not None:
        files["outlined.mlirbc"] = to_bytecode(program.outlined)
    files["report.json"] = report_to_json(program.report)
    if service.cache is None or sum(map(len, files.values())) > _MOST_BYTES:
        return
    seconds = sum(program.report.seconds.values())
    facts = {"name": name, "target": "a program", "seconds": seconds}
    service.cache.put(Entry(key, facts, Outcome(artifacts=files)))
