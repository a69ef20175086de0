"""hipgraft outlines hipDNN graphs, compiles them with IREE and grafts the binaries back.

program = hipgraft.compile("model.onnx", target="gfx942")
program.save("model.mlir")
outputs = program.run(inputs, device="cpu")
program.save_bundle("model.hgb")
outputs = hipgraft.load("model.hgb").run(inputs, device="hip")
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as `typing` has it, which the command-line tools need not wait for
if TYPE_CHECKING:
    from typing import Any

    from hipgraft.compiler.program import Program, compile
    from hipgraft.ir.diagnostics import HipgraftError
    from hipgraft.runtime.bundle import Bundle, load

    __version__: str

__all__ = ["Bundle", "HipgraftError", "Program", "__version__", "compile", "load"]

_HOMES = {
    "Bundle": "runtime.bundle",
    "HipgraftError": "ir.diagnostics",
    "Program": "compiler.program",
    "compile": "compiler.program",
    "load": "runtime.bundle",
}

# A checkout without symbolic links has text files in their place.
if os.path.isfile(os.path.join(os.path.dirname(__file__), "dialects")):
    raise ImportError(
        "hipgraft's checkout lacks its symbolic links; allow them (on Windows, by developer mode) "
        "and run `git config core.symlinks true` and `git checkout -- src`"
    )


def __getattr__(name: str) -> Any:
    # The command-line tools import this package too, and start faster without the compiler's API.
    if name == "__version__":
        return _version()
    if name not in _HOMES and name != "torch":
        raise AttributeError(f"module 'hipgraft' has no attribute '{name}'")
    from importlib import import_module

    if name == "torch":
        return import_module("hipgraft.torch")
    return getattr(import_module(f"hipgraft.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("hipgraft")
    except PackageNotFoundError:
        # A checkout on PYTHONPATH has no metadata.
        raise AttributeError("hipgraft is not installed, so it has no '__version__'") from None
