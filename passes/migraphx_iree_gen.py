"""Compiles migraphx kernel functions with IREE and stores the result in the module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.bindings import ir
from hipgraft.diagnostics import HipgraftError, PassFailure
from hipgraft.migraphx_to_hipdnn import is_kernel
from hipgraft.naming import symbol_of
from hipgraft.nested_modules import modules_in, symbols_of
from hipgraft.pass_base import Pass, PassState, option
from hipgraft.rock import export
from hipgraft.rock.arch import Architecture, architecture_of
from hipgraft.rock.compilation import compile_function, isolated
from hipgraft.rock.export import Exported
from hipgraft.rock.settings import Settings


def _kernels(module: ir.Operation) -> list[ir.Operation]:
    if export.NAME in module.attributes:
        return []
    return [op for op in symbols_of(module) if is_kernel(op)]


def _result(
    function: ir.Operation, architecture: Architecture, settings: Settings, state: PassState
) -> Exported | str:
    """The compiled function, or why it could not be compiled."""
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

    A whole function is compiled at once, so that IREE decides where it is cut into kernels; it
    takes memory as tensors of one dimension, as rocMLIR's kernels do. The functions stay. One
    kernel function with one launch has the form of the iree-rocMLIR prototype; several functions
    make a dictionary by name, and several launches add `steps` and `workspace_size` (see the
    recipe for MIGraphX). A function that does not compile has the text `[iree-error]: <reason>`.

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
        `iree.export` is there if there are kernel functions. Nothing else changes, and nothing
        at all with `IREE_DISABLE=1` or where the attribute is there already. A function that
        does not compile is a missed remark that names the reason.

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
        """What all kernels of a module are for."""
        first, *others = [architecture_of(op, self.arch, self.features) for op in functions]
        for function, architecture in zip(functions[1:], others, strict=True):
            if architecture != first:
                raise PassFailure(
                    f"'func.func' op is for '{architecture.chip}', but another kernel of the "
                    f"module is for '{first.chip}'",
                    function,
                )
        return first
