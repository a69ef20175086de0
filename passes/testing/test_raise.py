"""Has a bug."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.passmanager.base import Pass, PassState


@dataclass(frozen=True)
class TestRaisePass(Pass):
    """Raises a plain Python exception, as a pass with a bug does.

    Before:
        any module.

    After:
        none.

    Requires:
        nothing.

    Ensures:
        nothing.

    Errors:
        none that is the user's.

    Source:
        own.
    """

    name: ClassVar[str] = "test-raise"

    def run(self, module: ir.Module, state: PassState) -> None:
        """Raises."""
        raise KeyError("a bug")
