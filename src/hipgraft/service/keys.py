"""Cache keys: digests of all inputs that determine a kernel."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from hipgraft.codegen.target import HOST, Target, TargetKind, cpu_name
from hipgraft.ir.diagnostics import HipgraftError

# Python decodes bytes of a command line that are not UTF-8 to surrogates.
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_PACKAGE = Path(__file__).resolve().parent.parent

# The packages that generate a container's kernel. A digest of their sources serves as their
# version: every edit changes the keys, so no version number must be incremented.
_GENERATORS = ("codegen", "dialects/hipdnn", "ir")


def cache_key(container: str, target: Target, flags: Sequence[str]) -> str:
    """Returns the key of a container's kernel.

    Args:
        container: the container's canonical text (`container_text`), which is free of names.
        target: target of the kernel.
        flags: the compiler's flags besides those that select the target. If a flag names a file,
            the key depends on the file's content, not on its path.
    """
    parts = [
        container,
        *target.device_flags,
        "",
        *map(flag_identity, flags),
        "",
        compiler_version(),
        generator_version(),
        cpu_identity() if target.kind is TargetKind.CPU else "",
    ]
    return digest(*parts)


def digest(*parts: str) -> str:
    """Returns the SHA-256 of texts, which must not contain zero bytes."""
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
    """Returns a digest of all of hipgraft's sources and of the versions of the importers."""
    sources = _digest_of_sources((".", "dialects", "passes", "pipelines"))
    return digest(sources, compiler_version(), version("torch-mlir"), version("onnx"))


def cpu_identity() -> str:
    """Returns the processor that the target `cpu` compiles for."""
    name = cpu_name()
    return host_identity() if name == HOST else name


@cache
def host_identity() -> str:
    """Returns the processor that `--iree-llvmcpu-target-cpu=host` means on this machine."""
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


def check_flag(flag: str) -> None:
    """Checks that a flag can be passed to the compiler.

    Raises:
        HipgraftError: the flag is not UTF-8, or contains a zero byte.
    """
    if _NOT_TEXT.search(flag):
        raise HipgraftError(f"compiler flag {flag!a} is not UTF-8, or contains a zero byte")


def flag_identity(flag: str) -> str:
    """Returns a flag with the content of the file that it names, if it names one.

    Raises:
        HipgraftError: see `check_flag`.
    """
    check_flag(flag)
    name, _, value = flag.partition("=")
    path = Path(value)
    if not value or len(value) > 4096 or not path.is_file():
        return flag
    return f"{name}=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
