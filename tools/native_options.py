"""Sets options of the compiler's library: those that `iree-opt` has besides its passes."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hipgraft.ir.bindings import compiler_library, ir

_OPTION = re.compile(r"^  --?([\w-]+)(?:[=\[ ]|$)", re.MULTILINE)

LACKING = {
    "elide-resource-data-from-bytecode": "bytecode without its constants cannot be compiled",
    "emit-bytecode-producer": "the bindings always name MLIR",
    "irdl-file": "dialects are defined in Python",
    "load": "shared libraries of the compiler's C++ interface do not fit the bindings",
    "load-dialect-plugin": "likewise; Python packages provide dialects",
    "load-pass-plugin": "likewise; Python packages provide passes (`hipgraft.passes`)",
    "log-actions-to": "the bindings have no action tracing; `--mlir-print-ir-after-change` shows "
    "what passes did",
    "log-mlir-actions-filter": "likewise",
    "mlir-debug-counter": "release builds of MLIR have none",
    "mlir-diagnostic-verbosity-level": "`hipgraft-opt` prints all diagnostics",
    "mlir-enable-debugger-hook": "the bindings have no action tracing",
    "mlir-output-format": "`hipgraft-compile --stats-json` writes times as JSON",
    "mlir-print-debug-counter": "release builds of MLIR have none",
    "mlir-very-unsafe-disable-verifier-on-parsing": "input is always verified",
    "profile-actions-to": "the bindings have no action tracing; `--mlir-timing` tells times",
    "remark-format": "`--remarks` prints remarks, and `--remarks=FILE` writes YAML",
    "remark-policy": "likewise",
    "remarks-filter": "likewise",
    "remarks-filter-analyse": "likewise",
    "remarks-filter-failed": "likewise",
    "remarks-filter-missed": "likewise",
    "remarks-filter-passed": "likewise",
    "remarks-output-file": "likewise",
}
"""Options of `iree-opt` that `hipgraft-opt` lacks, with the reasons."""


def known_options() -> set[str]:
    """Returns the names of all options of `iree-opt`, without its passes.

    It asks `iree-opt` in a separate process, which takes a third of a second.
    """
    return set(_OPTION.findall(iree_opt("--help-hidden")))


def iree_opt(*arguments: str) -> str:
    """Returns the output of the `iree-opt` that belongs to the bindings."""
    tool = Path(ir.__file__).parent / "_mlir_libs" / "iree-opt"
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=True).stdout


def set_options(words: Sequence[str]) -> None:
    """Sets options of the compiler permanently in this process.

    Args:
        words: such as `--mlir-print-value-users`. The library ends the process if it does not
            know an option or its value.
    """
    if not words:
        return
    library = compiler_library()
    arguments = [b"hipgraft-opt", *(word.encode() for word in words)]
    array = (ctypes.c_char_p * len(arguments))(*arguments)
    library.ireeCompilerSetupGlobalCL(
        ctypes.c_int(len(arguments)), array, ctypes.c_char_p(None), ctypes.c_bool(False)
    )
