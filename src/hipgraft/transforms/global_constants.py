"""Stores constants of a module as `memref.global`, each once."""

from __future__ import annotations

from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.symbols import symbol_of, symbols_of


class GlobalConstants:
    """Names the globals of one pass run by their elements."""

    def __init__(self, module: ir.Operation):
        self._names: dict[ir.Attribute, str] = {}
        self._taken = _symbols(module)

    def name(self, value: ir.Attribute, before: ir.Operation, loc: ir.Location) -> str:
        """Returns the global that holds `value`; a new one is created before `before`."""
        if value not in self._names:
            self._names[value] = self._fresh_name()
            with ir.InsertionPoint(before):
                builders.global_constant(self._names[value], value, loc)
        return self._names[value]

    def _fresh_name(self) -> str:
        number = len(self._names)
        while f"constant_{number}" in self._taken:
            number += 1
        self._taken.add(f"constant_{number}")
        return f"constant_{number}"


def _symbols(module: ir.Operation) -> set[str]:
    named = [op for op in symbols_of(module) if "sym_name" in op.attributes]
    return {symbol_of(op) for op in named}
