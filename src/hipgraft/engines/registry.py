"""Finds engines by name, hipgraft's and those of other packages, or by the path of a file.

A package adds engines through the entry point group `hipgraft.engines`: the entry's name is the
engine's name, and its value is `module:NAME`, where `NAME` holds the path of the engine's file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import cast

from hipgraft.engines.engine import Engine
from hipgraft.engines.fields import EngineFields
from hipgraft.engines.source import Source, read_engine
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import malformed
from hipgraft.ir.registration import plugins

IREE = "iree"
"""The engine of hipgraft itself, with IREE's code generator."""

_GROUP = "hipgraft.engines"
_ENDINGS = (".yaml", ".yml")
DATA = Path(__file__).parent / "data"

BUILT_IN = {
    IREE: "iree.yaml",
    "ASM_SDPA_ENGINE": "asm_sdpa.yaml",
    "FUSILLI_ENGINE": "fusilli.yaml",
    "HIPBLASLT_ENGINE": "hipblaslt.yaml",
    "HIP_MLOPS_ENGINE": "hip_mlops.yaml",
    "MIOPEN_ENGINE": "miopen.yaml",
    "hipkernel:Gfx950ConvFwd": "gfx950_conv_fwd.yaml",
}
"""The files of hipgraft's own engines, by name."""

COMPILED = DATA.with_name("built_in.json")
"""The content of these files. Parsing their YAML would take a tenth of `hipgraft-opt`'s time."""


def engine_names() -> list[str]:
    """Returns the names of all registered engines."""
    return [*BUILT_IN, *sorted(point.name for point in plugins(_GROUP))]


def find_engine(name: str) -> Engine:
    """Returns an engine by its name, or by the path of its file.

    Args:
        name: a name, or a path that ends in `.yaml` or `.yml`.

    Raises:
        HipgraftError: there is no such engine, or its file is malformed; located.
    """
    if name.endswith(_ENDINGS):
        return _read(name)
    if name in BUILT_IN:
        return _built_in(name)
    for point in plugins(_GROUP):
        if point.name == name:
            with malformed("entry point of an engine", f"{point.module}:{point.attr}"):
                path = os.fspath(cast("Path", point.load()))
            return _named(_read(path), name)
    raise HipgraftError(_unknown(name))


def check_names(names: Sequence[str]) -> None:
    """Checks that `find_engine` knows names; a path's file may still be missing.

    Raises:
        ValueError: a name is unknown; the message lists the known ones.
    """
    for name in names:
        if not (name.endswith(_ENDINGS) or name in BUILT_IN or name in engine_names()):
            raise ValueError(_unknown(name))


def _unknown(name: str) -> str:
    return f"unknown engine '{name}': expected {', '.join(engine_names())}, or the path of a file"


def _named(engine: Engine, name: str) -> Engine:
    if engine.name != name:
        message = f"expected the engine '{name}' of the entry point, but found '{engine.name}'"
        raise HipgraftError(message, location=engine.path)
    return engine


@cache
def _built_in(name: str) -> Engine:
    import msgspec

    fields = msgspec.json.decode(COMPILED.read_bytes(), type=dict[str, msgspec.Raw])[name]
    source = Source(str(DATA / BUILT_IN[name]), "")
    return Engine(msgspec.json.decode(fields, type=EngineFields), source)


def _read(path: str) -> Engine:
    return _cached(path, os.stat(path).st_mtime_ns) if os.path.exists(path) else _load(path)


@cache
def _cached(path: str, _time: int) -> Engine:
    return _load(path)


def _load(path: str) -> Engine:
    source, fields = read_engine(path)
    return Engine(fields, source)
