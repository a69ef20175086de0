"""Defines the targets that read files of other kinds: entries of the cache, arrays, settings."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import test_hostile_cache
import test_hostile_data

from fuzz.engine import Target
from fuzz.mutations import change_any, change_json, changed_bytes
from hipgraft.integrations.rocmlir.settings import Settings
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.comparison import compare
from hipgraft.runtime.parameter_files import ParameterFile
from hipgraft.service import read_overrides
from hipgraft.service.entry import DamagedEntryError, Entry
from hipgraft.service.flag_tuning import read_candidates
from hipgraft.service.tuning.database import Tuned, read_database
from hipgraft.tools import arrays


@cache
def _entries() -> tuple[bytes, ...]:
    from test_service_cache import entry, key

    return (entry(key(1)).to_bytes(),)


def _change_entry(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    try:
        return test_hostile_cache.changed_entry(data, generator)
    except Exception:  # a changed entry may not parse: change it again
        return changed_bytes(data, generator)


def run_entry(path: Path) -> None:
    """Reads an entry of the cache, which may be damaged."""
    from test_service_cache import key

    with suppress(DamagedEntryError):
        Entry.from_bytes(path.read_bytes(), key(1))


def _change_npz(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes a member, so that the archive's checksums are right, or the archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = generator.choice(sorted(members))
        members[name] = changed_bytes(members[name], generator)
    except Exception:
        return changed_bytes(data, generator)
    if generator.random() < 0.3:
        return changed_bytes(data, generator)
    return test_hostile_data.npz(
        **{name.removesuffix(".npy"): member for name, member in members.items()}
    )


@cache
def _parameters() -> tuple[bytes, ...]:
    import tempfile

    from test_parameters import parameters

    from hipgraft.runtime.parameter_files import write_parameters

    with tempfile.TemporaryDirectory() as folder:
        found: list[bytes] = []
        for name in ("x.safetensors", "x.irpa"):
            write_parameters(Path(folder) / name, parameters())
            found.append((Path(folder) / name).read_bytes())
        return tuple(found)


def run_parameters(path: Path) -> None:
    """Reads a parameter file of either kind."""
    for suffix in (".safetensors", ".irpa"):
        named = path.rename(path.with_suffix(suffix))
        try:
            with suppress(HipgraftError):
                file = ParameterFile(named)
                for name in ("weights", "bytes", "half"):
                    for nbytes in (4, 5, 24):
                        with suppress(HipgraftError):
                            assert len(file.read(name, nbytes)) == nbytes
        finally:
            named.rename(path)


_SETTINGS: tuple[Any, ...] = (
    {
        "format": 1,
        "entries": [
            asdict(
                Tuned("0" * 64, "gfx942", "3.13.0", "one", "default", "static", {"default": 1.0})
            )
        ],
    },
    [{"graph": "a*", "target": "gfx942", "flags": ["--iree-opt-level=O1"]}],
    [{"name": "a", "flags": ["--b"]}],
    ["--iree-opt-level=O1", "--c"],
)


def run_settings(path: Path) -> None:
    """Reads a file as each kind of configuration."""
    readers: tuple[Callable[[Path], Any], ...] = (
        read_database,
        read_overrides,
        read_candidates,
        lambda each: Settings.read(environment={"IREE_CONFIG": str(each)}),
    )
    for read in readers:
        with suppress(HipgraftError):
            read(path)


def run_arrays(path: Path) -> None:
    """Reads arrays and compares them."""
    for array in arrays.read_arrays(f"@{path}", "in").values():
        compare(array, array, 0.0, 0.0)


def _npz() -> tuple[bytes, ...]:
    return (test_hostile_data.KINDS["arrays"][2],)


TARGETS = (
    Target("cache-entry", ".zip", _entries, _change_entry, run_entry),
    Target("npz", ".npz", _npz, _change_npz, run_arrays),
    Target("parameters", ".bin", _parameters, change_any, run_parameters),
    Target(
        "settings",
        ".yaml",
        lambda: tuple(json.dumps(each).encode() for each in _SETTINGS),
        change_json,
        run_settings,
    ),
)
