"""hipgraft-host-to-llvm: the host program in the LLVM dialect, for one architecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, OpError, PassFailure
from hipgraft.ir.entry_points import entry_targets
from hipgraft.passmanager.base import Pass, PassState, option


def _only_target(module: ir.Module) -> str:
    targets = entry_targets(module)
    if len(targets) != 1:
        raise PassFailure(
            f"expected a target, as the program is for {', '.join(targets) or 'no architecture'}",
            module.operation,
        )
    return targets[0]


def _replace_body(module: ir.Module, lowered: str) -> None:
    """Parses a module and moves its ops into `module`."""
    for op in [op.operation for op in module.body.operations]:
        op.erase()
    parsed = ir.Module.parse(lowered, module.context)
    for op in [op.operation for op in parsed.body.operations]:
        op.detach_from_parent()
        module.body.append(op)


@dataclass(frozen=True)
class HipgraftHostToLlvmPass(Pass):
    """Lowers the host program to the LLVM dialect, with calls of MLIR's GPU runtime (`mgpu*`).

    Before:
        ```mlir
        gpu.binary @f [#gpu.object<#rocdl.target<chip = "gfx942">, bin = "...">]
        memref.global "private" constant @w : memref<64xf16> = dense_resource<w>
        func.func @main(%x: memref<64xf16>, %y: memref<64xf16>)
            attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942"]} {
          %w = memref.get_global @w : memref<64xf16>
          %t0 = gpu.wait async
          %t1 = gpu.launch_func async [%t0] @f::@kernel ... args(%x, %w, %y : ...)
          gpu.wait [%t1]
          func.return
        }
        ```

    After:
        ```mlir
        gpu.binary @f [#gpu.object<#rocdl.target<chip = "gfx942">, bin = "...">]
        llvm.func @main(...) attributes {hipgraft.constants = ["w"], llvm.emit_c_interface} {
          %s = llvm.call @mgpuStreamCreate() : () -> !llvm.ptr
          gpu.launch_func <%s : !llvm.ptr> @f::@kernel ... args(...)
          llvm.call @mgpuStreamSynchronize(%s) : (!llvm.ptr) -> ()
          llvm.call @mgpuStreamDestroy(%s) : (!llvm.ptr) -> ()
          llvm.return
        }
        llvm.func @_mlir_ciface_main(!llvm.ptr, !llvm.ptr, !llvm.ptr)
        ```

    Requires:
        Stage `host`.

    Ensures:
        Functions and objects of other architectures are gone. Each constant is an argument in
        front of the results, in the order of `hipgraft.constants`, because upstream's lowering
        would leave it in host memory. Upstream's passes lower all other ops (those of torch-mlir's
        wheel, because IREE's has no `gpu-to-llvm`). `gpu.binary` and `gpu.launch_func` become LLVM
        when the module is translated.

    Errors:
        No target is given and the program has several; the program has no function for the given
        target; upstream's passes fail.

    Source:
        own
    """

    name: ClassVar[str] = "hipgraft-host-to-llvm"
    requires: ClassVar[str | None] = "host"

    target: str = option("", "architecture; may be left out if the program is for one only")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Lowers the module in place."""
        if not any(op.operation.name == "func.func" for op in module.body.operations):
            return  # the module is already lowered
        # Imported here because torch-mlir's wheel takes a while to load.
        from hipgraft.host.lowering import lower_host

        try:
            lowered = lower_host(module, self.target or _only_target(module))
        except OpError:
            raise
        except HipgraftError as error:
            raise PassFailure(error.message, module.operation) from None
        _replace_body(module, lowered.text)
        state.count("constants-made-arguments", len(lowered.constants))
