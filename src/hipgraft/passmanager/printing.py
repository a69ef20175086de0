"""IR before and after passes, printed as MLIR's pass manager prints it.

Native passes are printed by MLIR itself, so that a pass on functions shows functions. Our own
passes run on the module and show it.
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
    """When IR is printed.

    Attributes:
        before: names of passes.
        after: names of passes.
        before_all: before each pass.
        after_all: after each pass.
        only_changes: not after passes that changed nothing.
        only_failures: after failed passes, and after no other.
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
        # A filter that stands alone filters all passes.
        everything = self.after_all or (self.only_changes and not self.after)
        return everything or name in self.after


@dataclass
class IrPrinter(Instrument):
    """Prints IR around passes, to standard error or into a folder.

    Attributes:
        when: before and after which passes.
        asm: how the IR is printed.
        module_scope: print the whole module also for passes on smaller ops.
        tree_dir: write numbered files below this folder instead.
    """

    when: PrintWhen
    asm: AsmFlags = field(default_factory=AsmFlags)
    module_scope: bool = False
    tree_dir: Path | None = None
    _files: int = 0
    _before: ir.Operation | None = None

    def before(self, step: Step, module: ir.Module) -> None:
        """Prints before one of our passes."""
        if self.when.only_changes:
            self._before = module.operation.clone(ip=False)
        if self._is_ours(step) and self.when.is_before(step.name):
            self._print("Before", step, module)

    def after(self, step: Step, module: ir.Module) -> None:
        """Prints after one of our passes that succeeded."""
        if not self._is_ours(step) or not self.when.is_after(step.name):
            return
        if self._before is not None and module.operation.is_structurally_equivalent(self._before):
            return
        self._print("After", step, module)

    def failed(self, step: Step, module: ir.Module) -> None:
        """Prints after one of our passes that failed."""
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
        """Returns whether this class prints the step; in files, it prints native ones too."""
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
