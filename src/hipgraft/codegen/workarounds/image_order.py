"""Images that store their spatial dims in another order than the convolution reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import shape_of

IMAGE_ORDER = Workaround(
    name="image-order",
    fault="The transposition of an image stored as [N, W, C, H] is folded into the convolution, "
    "which becomes a product whose operand has invalid extents. The transposition of a "
    "result is folded, too, and the elements are wrong; this also happens if channels have "
    "several filters each and are stored last.",
    effect=Effect.WRONG,
    targets="AMDGPU: f32 and f16 on gfx942, f16 on gfx1100",
    remedy="Such an image or result is transposed in a dispatch of its own.",
)


@IMAGE_ORDER.avoids
def has_swapped_dims(x: Tensor, target: Target) -> bool:
    """Returns whether an image [N, C, spatial...] must be transposed first."""
    return target.kind is not TargetKind.CPU and _is_swapped(x.dims, x.shape)


@IMAGE_ORDER.avoids
def must_order_result(ops: Iterable[ir.Operation], layout: Layout, target: Target) -> bool:
    """Returns whether a container's result is transposed to `layout` in a dispatch of its own.

    Args:
        ops: the container's ops.
        layout: layout of the result.
        target: target of the kernel.
    """
    convolutions = [op for op in ops if op.name.startswith("hipdnn.conv_")]
    if target.kind is TargetKind.CPU or not convolutions:
        return False
    is_ordered = list(layout.order) == sorted(layout.order)
    is_multiplied = any(_multiplies_channels(op) for op in convolutions)
    return _is_swapped(layout.order, layout.shape) or (is_multiplied and not is_ordered)


def _multiplies_channels(op: ir.Operation) -> bool:
    """Whether each channel has several filters of its own."""
    if op.name != "hipdnn.conv_fprop":
        return False
    x, w = (shape_of(value) for value in op.operands[:2])
    return w[1] == 1 < x[1] < w[0]


def _is_swapped(dims: Sequence[int], shape: Sequence[int]) -> bool:
    spatial = [dim for dim in dims if dim > 1 and shape[dim] > 1]
    return spatial != sorted(spatial)
