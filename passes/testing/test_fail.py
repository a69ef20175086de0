"""Fails at an op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.io import collect
from hipgraft.passmanager.base import Pass, PassState, option


@dataclass(frozen=True)
class TestFailPass(Pass):
    """Fails at the first op of a name.

    Before:
        any module.

    After:
        the same module.

    Requires:
        nothing.

    Ensures:
        there is no op of that name.

    Errors:
        the first op of that name.

    Source:
        own.
    """

    name: ClassVar[str] = "test-fail"

    op: str = option("func.func", "Name of the op at which to fail")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Raises if there is such an op."""
        for op in collect(module, [self.op]):
            raise PassFailure(f"'{op.name}' op is not wanted", op, notes=("the test says so",))
