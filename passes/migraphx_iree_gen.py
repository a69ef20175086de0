"""Compiles migraphx kernel functions with IREE and stores the result in the module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.integrations.rocmlir import export
from hipgraft.integrations.rocmlir.arch import Architecture, architecture_of
from hipgraft.integrations.rocmlir.compilation import compile_function, isolated
from hipgraft.integrations.rocmlir.export import Exported
from hipgraft.integrations.rocmlir.settings import Settings
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, PassFailure
from hipgraft.ir.symbols import modules_in, symbol_of, symbols_of
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.migraphx_to_hipdnn import is_kernel


def _kernels(module: ir.Operation) -> list[ir.Operation]:
    if export.NAME in module.attributes:
        return []
    return [op for op in symbols_of(module) if is_kernel(op)]


def _result(
    function: ir.Operation, architecture: Architecture, settings: Settings, state: PassState
) -> Exported | str:
    """Returns the compiled function, or the reason why it does not compile."""
    try:
        exported = compile_function(function, architecture, settings, state)
    except HipgraftError as error:
        reason = error.message
        settings.tell(1, f"Error[iree-gen]: {symbol_of(function)}: {reason}")
        state.count("failures")
        state.missed(function, "not-compiled", f"'@{symbol_of(function)}' has no kernel: {reason}")
        return reason
    state.count("kernels")
    launches = len(exported.kernel.dispatches)
    state.passed(function, "compiled", f"'@{symbol_of(function)}' became {launches} launches")
    return exported


@dataclass(frozen=True)
class MigraphxIreeGenPass(Pass):
    """Compiles each migraphx kernel function with IREE into the module attribute `iree.export`.

    Each function is compiled as a whole, so IREE decides how to divide it into kernels. Like
    rocMLIR's kernels, it takes its memory as one-dimensional tensors. The functions stay. The
    attribute for one kernel function with one launch has the form of the iree-rocMLIR prototype.
    For several functions it is a dictionary by name, and several launches add `steps` and
    `workspace_size` (see the recipe for MIGraphX). For a function that does not compile it is the
    text `[iree-error]: <reason>`.

    Before:
        ```mlir
        module {
          func.func @mlir_relu(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1>
              attributes {rock.arch = "gfx942", rock.kernel = "mixr"} {
            %0 = migraphx.relu %x : <64xf32, 1> -> <64xf32, 1>
            return %0 : !migraphx.shaped<64xf32, 1>
          }
        }
        ```

    After:
        ```mlir
        module attributes {iree.export = #gpu.object<#rocdl.target<O = 3, chip = "gfx942">,
            properties = {arguments = array<i64: 0, 1>, function = "mlir_relu", inputs = 1 : i64,
              kernel = "main_dispatch_0_elementwise_64_f32", results = 1 : i64,
              workgroup_count = array<i64: 1, 1, 1>, workgroup_memory = 0 : i64,
              workgroup_sizes = array<i64: 64, 1, 1>}, bin = "...">} {
          ... the function as it was ...
        }
        ```

    Requires:
        Functions on shaped values.

    Ensures:
        The module has `iree.export` if it has kernel functions. Nothing else changes. With
        `IREE_DISABLE=1`, or if the module already has the attribute, nothing changes at all. A
        function that does not compile gets a missed remark that names the reason.

    Errors:
        A function without an architecture, or functions with several; at the function. A setting
        that cannot be read.

    Source:
        own; the attribute as in fabianmcg/rocMLIR, IREEGen.cpp.
    """

    name: ClassVar[str] = "migraphx-iree-gen"

    arch: str = option("", "architecture, as gfx90a:sramecc+:xnack-; by default the module's")
    features: str = option("", "features, as +sramecc,-xnack; by default the architecture's")
    iree_bin: str = option("", "folder of an iree-compile to use; by default IREE_BIN's, or ours")
    iree_debug: int = option(-1, "0, 1 or 2: how much to tell; by default IREE_DEBUG's")
    iree_config: str = option("", "YAML list of further compiler flags; by default IREE_CONFIG's")
    iree_disable: bool = option(False, "do nothing; IREE_DISABLE=1 does the same")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Compiles every kernel function."""
        settings = Settings.read(
            iree_bin=self.iree_bin,
            iree_debug=self.iree_debug,
            iree_config=self.iree_config,
            iree_disable=self.iree_disable,
        )
        if settings.disabled:
            return
        kernels = {inner: _kernels(inner) for inner in modules_in(module.operation)}
        work = [
            (inner, functions, self._architecture(functions))
            for inner, functions in kernels.items()
            if functions
        ]
        if not work:
            return
        with isolated():
            for inner, functions, architecture in work:
                results = {
                    symbol_of(function): _result(function, architecture, settings, state)
                    for function in functions
                }
                inner.attributes[export.NAME] = export.write(results, architecture)

    def _architecture(self, functions: Sequence[ir.Operation]) -> Architecture:
        """Returns the target that all kernels of a module share."""
        first, *others = [architecture_of(op, self.arch, self.features) for op in functions]
        for function, architecture in zip(functions[1:], others, strict=True):
            if architecture != first:
                raise PassFailure(
                    f"'func.func' op is for '{architecture.chip}', but another kernel of the "
                    f"module is for '{first.chip}'",
                    function,
                )
        return first
