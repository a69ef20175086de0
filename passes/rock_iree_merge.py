"""Puts IREE's kernels in the place of rocMLIR's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.bindings import ir
from hipgraft.nested_modules import modules_in
from hipgraft.pass_base import Pass, PassState, option
from hipgraft.rock import export
from hipgraft.rock.merging import Merger
from hipgraft.rock.settings import Settings


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

    A `gpu.binary` whose kernels have results gets IREE's code object, with the launch sizes in
    its metadata; of several kernels each further one gets a binary of its own, and a binary that
    holds others besides stays, with those for its launches. Each launch gets IREE's grid, block
    and kernel, and its arguments in the order of IREE's kernel, without those that it does not
    read. Shared memory is static in IREE's kernels, so none is passed, but to those of older
    releases where it is not. A result of several launches becomes a chain of them, on the launch's
    own stream if it has one, with its transients in a `gpu.alloc`. In a module without binaries,
    each kernel function becomes a host function on memory of one dimension, results last, that
    launches its kernels. Nested modules, as several of a file are, go by themselves.

    Before:
        ```mlir
        module attributes {gpu.container_module, iree.export = #gpu.object<...>} {
          gpu.binary @m [#gpu.object<#rocdl.target<chip = "gfx942">, kernels = <[
            #gpu.kernel_metadata<"mlir_sub", ...>]>, bin = "...">]
          func.func @host(%a: memref<64xf32>, %unused: memref<64xf32>, %out: memref<64xf32>) {
            gpu.launch_func @m::@mlir_sub blocks in (%c12, %c1, %c1) threads in (%c256, %c1, %c1)
                dynamic_shared_memory_size %c1024 args(%a : memref<64xf32>,
                %unused : memref<64xf32>, %out : memref<64xf32>)

    Return:
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
            return
          }
        }
        ```

    Requires:
        A module after `gpu-module-to-binary`, or one after `migraphx-iree-gen`. Launches pass the
        function's arguments, then its results.

    Ensures:
        Of `iree.export` the reasons of failures are left. What has no result stays as it was, as
        a missed remark that names the reason; so does a binary whose object (the one that its
        handler selects) is for another processor, a kernel whose launches pass other arguments
        than its function has, and everything with `IREE_DISABLE=1`.
        `block_size` and `grid_size` are integers where the launch has one dimension, which is
        what `mlirGetKernelAttrs` reads, and arrays where it has more.

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
