"""Replaces rocMLIR's kernels by IREE's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.integrations.rocmlir import export
from hipgraft.integrations.rocmlir.merging import Merger
from hipgraft.integrations.rocmlir.settings import Settings
from hipgraft.ir.bindings import ir
from hipgraft.ir.symbols import modules_in
from hipgraft.passmanager.base import Pass, PassState, option


def _merge(module: ir.Operation, settings: Settings, state: PassState) -> None:
    """Merges the results of one module, and leaves the reasons of failures in it."""
    if export.NAME not in module.attributes:
        return
    attribute = module.attributes[export.NAME]
    for reason in export.failures(attribute):
        settings.tell(1, f"Error[iree-merge]: {reason}")
        state.missed(module, "no-result", f"a kernel has no result: {reason}")
    results = export.read(attribute)
    if results:
        Merger(module, results, export.architecture(attribute), state).run()
        settings.tell(2, "[iree-merge]: success")
    rest = export.without_kernels(attribute)
    if rest is None:
        del module.attributes[export.NAME]
    else:
        module.attributes[export.NAME] = rest


@dataclass(frozen=True)
class RockIreeMergePass(Pass):
    """Replaces rocMLIR's kernels by those in `iree.export`.

    If `iree.export` has results for the kernels of a `gpu.binary`, the binary gets IREE's code
    object, with the launch sizes in its metadata. If it has several such kernels, each kernel after
    the first gets a separate binary. A binary that also has other kernels stays, for the launches
    of those. Each launch gets IREE's grid, block and kernel, and its arguments in the order of
    IREE's kernel, without the arguments that this kernel does not read. Shared memory is static in
    IREE's kernels, so launches pass none; kernels of older releases that need dynamic shared memory
    still get it. A result with several launches becomes a chain of launches, on the original
    launch's stream if it has one, with transients in a `gpu.alloc`. In a module without binaries,
    each kernel function becomes a host function that launches its kernels; it takes
    one-dimensional memory, results last. Nested modules (several modules in one file) are
    processed separately.

    Before:
        ```mlir
        module attributes {gpu.container_module, iree.export = #gpu.object<...>} {
          gpu.binary @m [#gpu.object<#rocdl.target<chip = "gfx942">, kernels = <[
            #gpu.kernel_metadata<"mlir_sub", ...>]>, bin = "...">]
          func.func @host(%a: memref<64xf32>, %unused: memref<64xf32>, %out: memref<64xf32>) {
            gpu.launch_func @m::@mlir_sub blocks in (%c12, %c1, %c1) threads in (%c256, %c1, %c1)
                dynamic_shared_memory_size %c1024 args(%a : memref<64xf32>,
                %unused : memref<64xf32>, %out : memref<64xf32>)
            func.return
          }
        }
        ```

    After:
        ```mlir
        module attributes {gpu.container_module} {
          gpu.binary @m [#gpu.object<#rocdl.target<chip = "gfx942">, kernels = <[
            #gpu.kernel_metadata<"main_dispatch_0", ..., metadata = {block_size = 64 : i32,
              grid_size = 1 : i32, lds_size = 0 : i64, original_func = @mlir_sub,
              workgroup_count = array<i64: 1, 1, 1>, workgroup_sizes = array<i64: 64, 1, 1>}>
            ]>, bin = "...">]
          func.func @host(%a: memref<64xf32>, %unused: memref<64xf32>, %out: memref<64xf32>) {
            gpu.launch_func @m::@main_dispatch_0 blocks in (%c1, %c1, %c1)
                threads in (%c64, %c1, %c1) args(%a : memref<64xf32>, %out : memref<64xf32>)
            func.return
          }
        }
        ```

    Requires:
        A module after `gpu-module-to-binary`, or one after `migraphx-iree-gen`. Launches pass the
        function's arguments, then its results.

    Ensures:
        `iree.export` keeps only the reasons of failures. The following stay unchanged, each with a
        missed remark that names the reason: kernels without a result, binaries whose object (the
        one that the handler selects) is for another processor, kernels whose launches pass other
        arguments than the function has, and, with `IREE_DISABLE=1`, everything.
        `block_size` and `grid_size` are integers for launches with one dimension, as
        `mlirGetKernelAttrs` requires, and arrays for launches with more.

    Errors:
        None.

    Source:
        own; as in fabianmcg/rocMLIR, IREEMerge.cpp, which passes arguments in the function's
        order and static shared memory as dynamic.
    """

    name: ClassVar[str] = "rock-iree-merge"

    iree_debug: int = option(-1, "0, 1 or 2: how much to tell; by default IREE_DEBUG's")
    iree_disable: bool = option(False, "do nothing; IREE_DISABLE=1 does the same")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Merges all results."""
        settings = Settings.read(
            iree_debug=self.iree_debug, iree_disable=self.iree_disable, compiles=False
        )
        if not settings.disabled:
            for inner in list(modules_in(module.operation)):
                _merge(inner, settings, state)
