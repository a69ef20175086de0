"""Defines the validity that a smaller module must keep: that of the original module."""

from __future__ import annotations

from collections.abc import Callable

from hipgraft.ir.bindings import ir
from hipgraft.passmanager import contracts
from hipgraft.passmanager.verification import dialect_errors


class Validity:
    """The rules that the original module fulfils and that smaller modules must therefore fulfil.

    The module to reduce may break a rule of its dialect on purpose, so rules that the original
    module breaks are not required.

    Attributes:
        stages: names of the stages whose contracts the module fulfils.
    """

    def __init__(self, module: ir.Module, *, any_stage: bool = False):
        names = [] if any_stage else list(contracts.CONTRACTS)
        self.stages = tuple(name for name in names if _holds(module, _contract(name)))
        self._rules = [_contract(name) for name in self.stages]
        if _holds(module, _dialects):
            self._rules.append(_dialects)

    def keeps(self, module: ir.Module) -> bool:
        """Returns whether a module is valid to MLIR and fulfils the rules."""
        return _holds(module, _mlir) and all(_holds(module, rule) for rule in self._rules)


_Rule = Callable[[ir.Module], bool]


def _holds(module: ir.Module, rule: _Rule) -> bool:
    try:
        return rule(module)
    except Exception:  # the module may trigger a bug in a rule
        return False


def _mlir(module: ir.Module) -> bool:
    return module.operation.verify()


def _dialects(module: ir.Module) -> bool:
    return not dialect_errors(module)


def _contract(name: str) -> _Rule:
    return lambda module: not contracts.check(module, name, "")
