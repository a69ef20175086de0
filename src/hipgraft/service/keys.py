"""The key of a kernel in the cache: a digest of everything that decides what it is."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from hipgraft.codegen.target import Target, TargetKind

_PACKAGE = Path(__file__).resolve().parent.parent

# What a container's kernel is made by. Their source is their version: an edit makes other keys,
# and nobody has to remember to raise a number.
_GENERATORS = ("codegen", "dialects/hipdnn")


def cache_key(container: str, target: Target, flags: Sequence[str]) -> str:
    """Returns the key of a container's kernel.

    Args:
        container: its canonical text (`container_text`), in which names are folded.
        target: what it is compiled for.
        flags: the compiler's flags besides those that select the target. Of a file that a flag
            names, the content counts and the path does not.
    """
    parts = [
        container,
        *target.device_flags,
        "",
        *map(_flag_identity, flags),
        "",
        compiler_version(),
        generator_version(),
        host_identity() if target.kind is TargetKind.CPU else "",
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def compiler_version() -> str:
    """Returns the version of IREE's compiler."""
    return version("iree-base-compiler")


@cache
def generator_version() -> str:
    """Returns a digest of the sources of hipgraft's own code generator."""
    digest = hashlib.sha256()
    for path in _generator_sources():
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def host_identity() -> str:
    """Returns what `--iree-llvmcpu-target-cpu=host` stands for on this machine."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    names = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(names)}))


def _generator_sources() -> Iterator[Path]:
    for folder in _GENERATORS:
        yield from sorted((_PACKAGE / folder).rglob("*.py"))


def _flag_identity(flag: str) -> str:
    name, _, value = flag.partition("=")
    path = Path(value)
    if not value or len(value) > 4096 or not path.is_file():
        return flag
    return f"{name}=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
