"""Has a contract and does nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.passmanager.base import Pass, PassState


@dataclass(frozen=True)
class TestCheckStagePass(Pass):
    """Requires a module at stage `hipdnn-ops` and claims to leave one at `hipdnn-graphs`.

    Before:
        any module.

    After:
        the same module.

    Requires:
        stage `hipdnn-ops`.

    Ensures:
        stage `hipdnn-graphs`, which is true only of modules without compute ops.

    Errors:
        none.

    Source:
        own.
    """

    name: ClassVar[str] = "test-check-stage"
    requires: ClassVar[str | None] = "hipdnn-ops"
    ensures: ClassVar[str | None] = "hipdnn-graphs"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Does nothing."""
