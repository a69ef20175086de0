"""The key of a kernel in the cache: a digest of everything that decides what it is."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
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
        *map(flag_identity, flags),
        "",
        compiler_version(),
        generator_version(),
        host_identity() if target.kind is TargetKind.CPU else "",
    ]
    return digest(*parts)


def digest(*parts: str) -> str:
    """Returns the SHA-256 of texts that hold no zero bytes."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def compiler_version() -> str:
    """Returns the version of IREE's compiler."""
    return version("iree-base-compiler")


@cache
def generator_version() -> str:
    """Returns a digest of the sources of hipgraft's own code generator."""
    return _digest_of_sources(_GENERATORS)


@cache
def package_version() -> str:
    """Returns a digest of all of hipgraft's sources, and the versions of what lowers models."""
    sources = _digest_of_sources((".", "dialects", "passes", "pipelines"))
    return digest(sources, compiler_version(), version("torch-mlir"), version("onnx"))


@cache
def host_identity() -> str:
    """Returns what `--iree-llvmcpu-target-cpu=host` stands for on this machine."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    names = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(names)}))


def _digest_of_sources(folders: Sequence[str]) -> str:
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted((_PACKAGE / folder).rglob("*.py")):
            found.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
            found.update(path.read_bytes() + b"\0")
    return found.hexdigest()


def flag_identity(flag: str) -> str:
    """Returns a flag with the content of the file that it names, if it names one."""
    name, _, value = flag.partition("=")
    path = Path(value)
    if not value or len(value) > 4096 or not path.is_file():
        return flag
    return f"{name}=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
