"""hipgraft outlines hipDNN graphs, compiles them with IREE and grafts the binaries back.

program = hipgraft.compile("model.onnx", target="gfx942")
program.save("model.mlir")
outputs = program.run(inputs, device="cpu")
program.save_bundle("model.hgb")
outputs = hipgraft.load("model.hgb").run(inputs, device="hip")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hipgraft.diagnostics import HipgraftError
    from hipgraft.program import Program, compile
    from hipgraft.runtime.bundle import Bundle, load

__all__ = ["Bundle", "HipgraftError", "Program", "compile", "load"]

_HOMES = {
    "Bundle": "runtime.bundle",
    "HipgraftError": "diagnostics",
    "Program": "program",
    "compile": "program",
    "load": "runtime.bundle",
}


def __getattr__(name: str) -> Any:
    # The command-line tools import this package too, and start faster without the compiler's API.
    if name not in _HOMES:
        raise AttributeError(f"module 'hipgraft' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"hipgraft.{_HOMES[name]}"), name)
