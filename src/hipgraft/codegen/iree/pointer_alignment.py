"""Sets the buffer alignment that kernels may assume.

IREE compiles for buffers aligned to 64 bytes, as its own runtime allocates them. Hosts promise
less: hipDNN's tensors are aligned to 16 bytes. GPU instructions need no more than 16 bytes: the
kernels of ResNet-50 and ViT-B/16 for gfx942 and gfx1100 are the same with either alignment.
"""

from __future__ import annotations

from hipgraft.ir.bindings import ir

POINTER_ALIGNMENT = 16
"""Alignment in bytes of each buffer that a host passes to a kernel."""


def relax_alignment(module: ir.Module) -> None:
    """Lets the kernels of a module assume no more than `POINTER_ALIGNMENT` of their buffers.

    Args:
        module: after the compiler's phase `executable-sources`.
    """
    with module.context:
        alignment = ir.IntegerAttr.get(ir.IndexType.get(), POINTER_ALIGNMENT)

    def relax(op: ir.Operation) -> ir.WalkResult:
        if op.name == "hal.interface.binding.subspan":
            op.attributes["alignment"] = alignment
        return ir.WalkResult.ADVANCE

    module.operation.walk(relax)
