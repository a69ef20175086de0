"""Renames functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.io import collect
from hipgraft.ir.symbols import symbol_of
from hipgraft.passmanager.base import Pass, PassState, option


@dataclass(frozen=True)
class TestRenameFunctionsPass(Pass):
    """Puts a prefix before the names of functions; has an option of each type.

    Before:
        ```mlir
        func.func @f()
        ```

    After:
        ```mlir
        func.func @new_f()
        ```

    Requires:
        nothing.

    Ensures:
        all functions but the kept ones have the prefix.

    Errors:
        none.

    Source:
        own.
    """

    name: ClassVar[str] = "test-rename-functions"

    prefix: str = option("new_", "What to put before names")
    keep: tuple[str, ...] = option((), "Functions to leave alone")
    suffix_numbers: tuple[int, ...] = option((), "Numbers to put behind names")
    repeat: int = option(1, "How often to put the prefix")
    scale: float = option(1.0, "What to multiply the numbers with")
    private: bool = option(False, "Rename private functions too")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Renames each function that is to be renamed."""
        for op in collect(module, ["func.func"]):
            try:
                self._rename(op, state)
                state.count("functions")
            except Declined as declined:
                state.missed(op, declined.name, declined.reason)

    def _rename(self, op: ir.Operation, state: PassState) -> None:
        name = symbol_of(op)
        self._check(op, name)
        numbers = "".join(f"_{int(number * self.scale)}" for number in self.suffix_numbers)
        new_name = f"{self.prefix * self.repeat}{name}{numbers}"
        state.log(f"rename {name} to {new_name}")
        state.passed(op, "renamed", f"renamed '{name}'", to=new_name)
        op.attributes["sym_name"] = ir.StringAttr.get(new_name)

    def _check(self, op: ir.Operation, name: str) -> None:
        if name in self.keep:
            raise Declined("kept", f"'{name}' is to be kept")
        if name.startswith(self.prefix):
            raise Declined("has-prefix", f"'{name}' has the prefix")
        if "sym_visibility" in op.attributes and not self.private:
            raise Declined("private", f"'{name}' is private")
