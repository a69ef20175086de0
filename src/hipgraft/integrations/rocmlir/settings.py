"""Reads the prototype's environment variables, each of which is also an option of the passes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import read_yaml

RENAMED = {
    "--iree-flow-enable-aggressive-fusion": "--iree-dispatch-creation-enable-aggressive-fusion",
    "--iree-global-opt-enable-fuse-horizontal-contractions": (
        "--iree-dispatch-creation-enable-fuse-horizontal-contractions"
    ),
    "--iree-flow-enable-fuse-padding-into-linalg-consumer-ops": (
        "--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops"
    ),
    "--iree-flow-enable-fuse-padding-into-linalg-producer-ops": (
        "--iree-dispatch-creation-enable-fuse-padding-into-linalg-producer-ops"
    ),
    "--iree-flow-element-wise-fuse-multi-reduction": (
        "--iree-dispatch-creation-element-wise-fuse-multi-reduction"
    ),
    "--iree-flow-fuse-multi-use": "--iree-dispatch-creation-fuse-multi-use",
}
_REMOVED = frozenset(
    {
        "--iree-llvmgpu-enable-prefetch",
        "--iree-codegen-gpu-native-math-precision",
        "--iree-rocm-target-chip",
    }
)


@dataclass(frozen=True)
class Settings:
    """The settings for building kernels.

    Attributes:
        disabled: whether the passes do nothing.
        debug: 0 prints only warnings, 1 failures, 2 also commands and their output.
        bin: folder with an `iree-compile` to use; None for the compiler in this process.
        flags: further flags for the compiler; in today's spelling for the one in this process.
    """

    disabled: bool = False
    debug: int = 0
    bin: Path | None = None
    flags: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        *,
        iree_bin: str = "",
        iree_debug: int = -1,
        iree_config: str = "",
        iree_disable: bool = False,
        compiles: bool = True,
        environment: Mapping[str, str] = os.environ,
    ) -> Settings:
        """Reads the environment; options take precedence over it.

        Args:
            iree_bin: folder of a compiler; empty for the environment's.
            iree_debug: level; -1 for the environment's.
            iree_config: file of flags; empty for the environment's.
            iree_disable: whether to do nothing, regardless of the environment.
            compiles: whether flags are used; if not, their file is not read.
            environment: environment variables.

        Raises:
            HipgraftError: `IREE_DEBUG` or `IREE_DISABLE` is not a number, or the file that
                `IREE_CONFIG` names is not a list of flags.
        """
        debug = iree_debug if iree_debug >= 0 else _number(environment, "IREE_DEBUG")
        folder = iree_bin or environment.get("IREE_BIN", "")
        config = iree_config or environment.get("IREE_CONFIG", "")
        disabled = iree_disable or _number(environment, "IREE_DISABLE") != 0
        flags: list[str] = []
        if config and compiles and not disabled:
            flags = _read_flags(Path(config))
        if not folder:
            flags = [found for flag in flags if (found := _translated(flag, config))]
        return cls(disabled, debug, Path(folder) if folder else None, tuple(flags))

    def tell(self, level: int, message: str) -> None:
        """Prints a line for developers to standard error if `debug` is at least `level`."""
        if self.debug >= level:
            sys.stderr.write(f"{message}\n")


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "") or "0"
    try:
        return int(text)
    except ValueError:
        raise HipgraftError(f"expected a number in '{name}', found '{text}'") from None


def _read_flags(path: Path) -> list[str]:
    kind = cast("type[list[str] | None]", list[str] | None)  # an empty file contains null
    return read_yaml(path, kind, "list of flags") or []


def _translated(flag: str, path: str) -> str:
    """Returns the flag as today's compiler spells it; empty if it no longer exists."""
    name, equals, value = flag.partition("=")
    if name in _REMOVED:
        sys.stderr.write(f"{path}: warning: flag '{name}' no longer exists and is ignored\n")
        return ""
    return f"{RENAMED.get(name, name)}{equals}{value}"
