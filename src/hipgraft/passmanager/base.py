"""Defines the base of passes: frozen dataclasses whose fields are their options."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hipgraft.ir.diagnostics import Remark, RemarkKind, location_text

if TYPE_CHECKING:
    from hipgraft.ir.bindings import ir


def option(default: Any, doc: str) -> Any:
    """Declares a pass option: its default and its line of documentation.

    Types: bool, int, float, str, and tuples of str or int (comma lists on the command line).
    """
    return dataclasses.field(default=default, metadata={"doc": doc})


@dataclass
class PassState:
    """The reports of one run of one pass.

    Attributes:
        pass_name: command-line name of the running pass.
        remarks: work done and work declined, in order.
        counters: statistics by name, for `--mlir-pass-statistics`.
        debug: whether `--debug-only` names this pass.
    """

    pass_name: str
    remarks: list[Remark] = field(default_factory=list[Remark])
    counters: Counter[str] = field(default_factory=Counter[str])
    debug: bool = False

    def count(self, name: str, by: int = 1) -> None:
        """Adds to the statistic `name` (kebab-case, a plural noun)."""
        self.counters[name] += by

    def log(self, message: str) -> None:
        """Prints a line for the developer if `--debug-only` names this pass."""
        if self.debug:
            sys.stderr.write(f"[{self.pass_name}] {message}\n")

    def passed(self, op: ir.Operation | ir.OpView, name: str, message: str, **args: Any) -> None:
        """Reports work done at `op`."""
        self._remark(RemarkKind.PASSED, op, name, message, args)

    def missed(self, op: ir.Operation | ir.OpView, name: str, message: str, **args: Any) -> None:
        """Reports why work was declined at `op`."""
        self._remark(RemarkKind.MISSED, op, name, message, args)

    def analysis(self, op: ir.Operation | ir.OpView, name: str, message: str, **args: Any) -> None:
        """Reports an observation about `op`."""
        self._remark(RemarkKind.ANALYSIS, op, name, message, args)

    def _remark(
        self,
        kind: RemarkKind,
        op: ir.Operation | ir.OpView,
        name: str,
        message: str,
        args: dict[str, Any],
    ) -> None:
        operation = op.operation
        remark = Remark(
            kind=kind,
            pass_name=self.pass_name,
            name=name,
            message=message,
            location=location_text(operation.location),
            function=_enclosing_function(operation),
            args={key: str(value) for key, value in args.items()},
            op=operation.name,
        )
        self.remarks.append(remark)
        self.log(f"{remark.location}: '{operation.name}' op {kind.value}: {message}")


class Pass:
    """The base of all hipgraft passes; each is a module pass.

    A subclass is a `@dataclass(frozen=True)` with a class-level `name` (the command-line name)
    and option fields declared by `option(...)`. Its docstring documents it: one line, Before,
    After, Requires, Ensures, Errors, Source. `requires` and `ensures` name the stage contracts
    (`hipgraft.passmanager.contracts`) that hold before and after.
    """

    name: ClassVar[str]
    requires: ClassVar[str | None] = None
    ensures: ClassVar[str | None] = None

    def run(self, module: ir.Module, state: PassState) -> None:
        """Transforms `module` in place.

        The runner enters the module's context and an unknown location. A pass must keep no handle
        across a mutation that may erase it.

        Raises:
            PassFailure: the module cannot be transformed; located.
        """
        raise NotImplementedError


def _enclosing_function(operation: ir.Operation) -> str:
    current: ir.Operation | None = operation
    while current is not None:
        if current.name == "func.func":
            name: Any = current.attributes["sym_name"]
            return name.value
        parent = current.parent
        current = None if parent is None else parent.operation
    return ""
