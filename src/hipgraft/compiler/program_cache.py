"""Caches whole programs along with kernels, so that an unchanged model is not even read again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hipgraft.compiler.report import Report
from hipgraft.compiler.report_json import report_from_json, report_to_json
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.bytecode import parse_bytecode, to_bytecode
from hipgraft.ir.diagnostics import HipgraftError, diagnostics_to
from hipgraft.ir.foreign_data import malformed
from hipgraft.pipelines import HipgraftConfig
from hipgraft.service.entry import Entry
from hipgraft.service.job import Outcome
from hipgraft.service.keys import cpu_identity, digest, flag_identity, package_version
from hipgraft.service.service import CompileService

# The limit of a program's size: with more weights, compiling again is faster than reading twice.
_MOST_BYTES = 64 << 20

# ONNX marks tensors in other files, which may change without the model, by this text.
_EXTERNAL = b"location"


@dataclass(frozen=True)
class CachedProgram:
    """The stored parts of a compilation; see `hipgraft.compiler.program.Program`."""

    module: ir.Module
    outlined: ir.Module | None
    report: Report


def program_key(
    model: Path,
    config: HipgraftConfig,
    extents: str,
    service: CompileService,
) -> str | None:
    """Returns the key of a compilation, or None if the compilation must not be cached.

    Args:
        model: the model's file.
        config: options of the compilation.
        extents: extents of its symbolic dimensions.
        service: service that compiles its graphs.
    """
    if service.cache is None or config.save_temps:
        return None
    if model.suffix in (".json", ".fb"):
        # Reading it is quick, and its warnings must appear each time.
        return None
    try:
        if model.stat().st_size > _MOST_BYTES:
            return None
        data = model.read_bytes()
        calibration = Path(config.calibration).read_bytes() if config.calibration else b""
    except OSError:
        # The next reader of the model reports the error better.
        return None
    if model.suffix == ".onnx" and _EXTERNAL in data:
        return None
    return digest(
        hashlib.sha256(data).hexdigest(),
        # Messages contain the path.
        str(model),
        *config.target,
        config.compile_to,
        config.gpu,
        hashlib.sha256(calibration).hexdigest(),
        *map(flag_identity, config.extra_flags),
        extents,
        *(f"{each.graph} {each.target}" for each in service.overrides),
        *(flag_identity(flag) for each in service.overrides for flag in each.flags),
        "" if service.search is None else service.search.identity,
        "" if service.verifier is None else "verified",
        package_version(),
        cpu_identity() if "cpu" in config.target else "",
    )


def find_program(key: str, service: CompileService) -> CachedProgram | None:
    """Returns the program of a key, in its own context; None if it is not in the cache."""
    if service.cache is None:
        return None
    entry = service.cache.get(key)
    if entry is None:
        return None
    try:
        found = _parse(entry.outcome.artifacts)
    except HipgraftError as error:
        service.cache.drop(key, error.message)
        return None
    rows = found.report.executables
    service.statistics.hits += sum(max(len(row.launches), 1) for row in rows)
    return found


def _parse(files: Mapping[str, bytes]) -> CachedProgram:
    context, outlined = make_context(), files.get("outlined.mlirbc")
    with malformed("program", ""), diagnostics_to(context, lambda _: None):
        return CachedProgram(
            module=parse_bytecode(files["program.mlirbc"], context),
            outlined=None if outlined is None else parse_bytecode(outlined, context),
            report=report_from_json(files["report.json"]),
        )


def keep_program(key: str, name: str, program: CachedProgram, service: CompileService) -> None:
    """Stores a program in the cache, unless it is large."""
    files = {"program.mlirbc": to_bytecode(program.module)}
    if program.outlined is not None:
        files["outlined.mlirbc"] = to_bytecode(program.outlined)
    files["report.json"] = report_to_json(program.report)
    if service.cache is None or sum(map(len, files.values())) > _MOST_BYTES:
        return
    seconds = sum(program.report.seconds.values())
    metadata = {"name": name, "target": "a program", "seconds": seconds}
    service.cache.put(Entry(key, metadata, Outcome(artifacts=files)))
