"""Emits an error without failing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.io import collect
from hipgraft.passmanager.base import Pass, PassState


@dataclass(frozen=True)
class TestEmitErrorPass(Pass):
    """Emits an error at each function and returns as if nothing had happened.

    Shows that the runner takes an emitted error for a failure.

    Before:
        any module.

    After:
        the same module.

    Requires:
        nothing.

    Ensures:
        nothing.

    Errors:
        `test error` at each `func.func`.

    Source:
        own.
    """

    name: ClassVar[str] = "test-emit-error"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Emits the errors."""
        for function in collect(module, ["func.func"]):
            function.location.emit_error("test error")
