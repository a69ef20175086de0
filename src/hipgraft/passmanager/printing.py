"""Prints IR before and after passes as MLIR's pass manager does.

MLIR prints native passes itself, so that a pass on functions prints functions. Our own passes run
on the module and print it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from hipgraft.ir.bindings import ir, passmanager
from hipgraft.ir.outputs import output_errors
from hipgraft.passmanager.pipeline import NativeStep, Step, step_node
from hipgraft.passmanager.runner import Instrument

_TREE_FOLDER = "builtin_module_no-symbol-name"


class AsmFlags(TypedDict, total=False):
    """Printing flags, with the names of `ir.Operation.get_asm`."""

    large_elements_limit: int | None
    large_resource_limit: int | None
    enable_debug_info: bool
    print_generic_op_form: bool
    use_local_scope: bool


@dataclass(frozen=True)
class PrintWhen:
    """The points at which IR is printed.

    Attributes:
        before: names of the passes to print before.
        after: names of the passes to print after.
        before_all: whether to print before each pass.
        after_all: whether to print after each pass.
        only_changes: whether to print only after passes that changed the IR.
        only_failures: whether to print only after failed passes.
    """

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before_all: bool = False
    after_all: bool = False
    only_changes: bool = False
    only_failures: bool = False

    def any(self) -> bool:
        """Returns whether anything can be printed at all."""
        return self != PrintWhen()

    def is_before(self, name: str) -> bool:
        """Returns whether to print before the pass `name`."""
        return self.before_all or name in self.before

    def is_after(self, name: str) -> bool:
        """Returns whether to print after the pass `name`, if it succeeds."""
        if self.only_failures:
            return False
        # A filter without names applies to all passes.
        everything = self.after_all or (self.only_changes and not self.after)
        return everything or name in self.after


@dataclass
class IrPrinter(Instrument):
    """Prints IR around passes, to standard error or into a folder.

    Attributes:
        when: points at which IR is printed.
        asm: printing flags.
        module_scope: whether to print the whole module for passes on smaller ops, too.
        tree_dir: folder for numbered files to write instead.
    """

    when: PrintWhen
    asm: AsmFlags = field(default_factory=AsmFlags)
    module_scope: bool = False
    tree_dir: Path | None = None
    _files: int = 0
    _before: ir.Operation | None = None

    def before(self, step: Step, module: ir.Module) -> None:
        """Prints IR before one of our passes."""
        if self.when.only_changes:
            self._before = module.operation.clone(ip=False)
        if self._is_ours(step) and self.when.is_before(step.name):
            self._print("Before", step, module)

    def after(self, step: Step, module: ir.Module) -> None:
        """Prints IR after one of our passes that succeeded."""
        if not self._is_ours(step) or not self.when.is_after(step.name):
            return
        if self._before is not None and module.operation.is_structurally_equivalent(self._before):
            return
        self._print("After", step, module)

    def failed(self, step: Step, module: ir.Module) -> None:
        """Prints IR after one of our passes that failed."""
        if self._is_ours(step) and (self.when.only_failures or self.when.is_after(step.name)):
            self._print("After", step, module, failed=True)

    def configure(self, manager: passmanager.PassManager, step: NativeStep) -> None:
        """Lets MLIR print around a native pass."""
        if self.tree_dir is not None:
            return
        manager.enable_ir_printing(
            print_before_all=self.when.is_before(step.name),
            print_after_all=self.when.is_after(step.name),
            print_module_scope=self.module_scope,
            print_after_change=self.when.only_changes,
            print_after_failure=self.when.only_failures,
            large_elements_limit=self.asm.get("large_elements_limit"),
            large_resource_limit=self.asm.get("large_resource_limit"),
            enable_debug_info=self.asm.get("enable_debug_info", False),
            print_generic_op_form=self.asm.get("print_generic_op_form", False),
        )

    def _is_ours(self, step: Step) -> bool:
        """Returns whether this class prints a step; it prints native steps only to files."""
        return self.tree_dir is not None or not isinstance(step, NativeStep)

    def _print(self, when: str, step: Step, module: ir.Module, *, failed: bool = False) -> None:
        kind = step.name if isinstance(step, NativeStep) else type(step).__name__
        state = " Failed" if failed else ""
        text = (
            f"// -----// IR Dump {when} {kind}{state}: {step_node(step)} //----- //\n"
            f"{module.operation.get_asm(**self.asm)}\n"
        )
        if self.tree_dir is None:
            sys.stderr.write(text)
            sys.stderr.flush()
            return
        path = self.tree_dir / _TREE_FOLDER / f"{self._files}_{step.name}.mlir"
        with output_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self._files += 1
