"""What a smaller module must keep: it parses, and it is as valid as the module that was given."""

from __future__ import annotations

from collections.abc import Callable

from hipgraft.ir.bindings import ir
from hipgraft.passmanager import contracts
from hipgraft.passmanager.verification import dialect_errors


class Validity:
    """The rules that a module keeps, and that smaller ones have to keep.

    A module whose ops break a rule of their dialect may be what somebody wants to reduce: a
    rule that the first module breaks is asked of none.

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
        """Returns whether a module is valid to MLIR and keeps the rules."""
        return _holds(module, _mlir) and all(_holds(module, rule) for rule in self._rules)


_Rule = Callable[[ir.Module], bool]


def _holds(module: ir.Module, rule: _Rule) -> bool:
    try:
        return rule(module)
    except Exception:  # what is reduced may be a defect of a rule
        return False


def _mlir(module: ir.Module) -> bool:
    return module.operation.verify()


def _dialects(module: ir.Module) -> bool:
    return not dialect_errors(module)


def _contract(name: str) -> _Rule:
    return lambda module: not contracts.check(module, name, "")
