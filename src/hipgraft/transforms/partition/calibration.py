"""Reads measured factors for the estimates of graphs from a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hipgraft.codegen.chips import Gpu
from hipgraft.ir.diagnostics import HipgraftError

VERSION = 1


@dataclass(frozen=True)
class Calibration:
    """The factors that were measured on one architecture.

    Attributes:
        launch_us: microseconds of each launch; None for the GPU's default.
        memory: measured time of memory accesses over the time by the GPU's bandwidth.
        compute: measured time of ops over the time by the GPU's peaks, by op name without the
            dialect; `*` is for all other ops.
    """

    launch_us: float | None = None
    memory: float = 1.0
    compute: Mapping[str, float] = field(default_factory=dict[str, float])


def calibration_text(calibrations: Mapping[str, Calibration]) -> str:
    """Returns the text of a file with the factors of some architectures."""
    architectures: dict[str, dict[str, Any]] = {}
    for name, one in sorted(calibrations.items()):
        own: dict[str, Any] = {} if one.launch_us is None else {"launch_us": one.launch_us}
        architectures[name] = own | {"memory": one.memory, "compute": dict(one.compute)}
    document = {"hipgraft_calibration": VERSION, "architectures": architectures}
    return json.dumps(document, indent=2) + "\n"


def read_calibration(path: str, gpu: Gpu) -> Calibration:
    """Returns the factors for a GPU's architecture from a file; the defaults if it has none.

    Raises:
        HipgraftError: the file cannot be read, or is not a calibration.
    """
    try:
        document: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise HipgraftError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise HipgraftError(f"{path}: expected JSON: {error}") from None
    fields = _fields(path, "the file", document, {"hipgraft_calibration", "architectures"})
    if fields.get("hipgraft_calibration") != VERSION:
        raise HipgraftError(f"{path}: expected 'hipgraft_calibration': {VERSION}")
    architectures = _fields(path, "'architectures'", fields.get("architectures", {}), None)
    if gpu.architecture not in architectures:
        return Calibration()
    where = f"'{gpu.architecture}'"
    known = {"launch_us", "memory", "compute"}
    own = _fields(path, where, architectures[gpu.architecture], known)
    compute = _fields(path, f"'compute' of {where}", own.get("compute", {}), None)
    return Calibration(
        _number(path, "launch_us", own["launch_us"]) if "launch_us" in own else None,
        _number(path, "memory", own.get("memory", 1.0)),
        {name: _number(path, name, value) for name, value in compute.items()},
    )


def _fields(path: str, what: str, value: Any, known: set[str] | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise HipgraftError(f"{path}: expected {what} to be an object")
    found = cast(dict[str, Any], value)
    unknown = [name for name in found if known is not None and name not in known]
    if unknown:
        raise HipgraftError(f"{path}: {what} has an unknown field '{unknown[0]}'")
    return found


def _number(path: str, name: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < float("inf"):
        raise HipgraftError(f"{path}: expected '{name}' to be a positive number, but found {value}")
    return float(value)
