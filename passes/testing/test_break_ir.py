"""Leaves invalid IR behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.io import collect
from hipgraft.passmanager.base import Pass, PassState


@dataclass(frozen=True)
class TestBreakIrPass(Pass):
    """Erases the terminators of functions, which makes the module invalid.

    Before:
        any module.

    After:
        functions without `func.return`.

    Requires:
        nothing.

    Ensures:
        nothing; the verifier is to find it.

    Errors:
        none.

    Source:
        own.
    """

    name: ClassVar[str] = "test-break-ir"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Erases the ops."""
        for op in collect(module, ["func.return"]):
            op.erase()
