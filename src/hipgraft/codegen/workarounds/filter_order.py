"""Filters that store their dims in another order than the convolution reads them.

What IREE does wrong: it folds the transposition of a filter into the convolution, and turns that
into a matrix product whose K dim is [channels, window] in the image's order. If the filter is
stored in a third order, its elements are multiplied by the wrong elements of the image; no error is
reported.

Where: IREE 3.13.0, where the product uses matrix instructions: f32 and f16 on gfx942, f16 on
gfx1100.

How it was found: random strides of filters, compared with NumPy on emulated GPU code.

What avoids it: such a filter is transposed in a dispatch of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind


def is_misordered(w: Tensor, order: Sequence[int], target: Target) -> bool:
    """Whether IREE would read a filter wrongly.

    Args:
        w: filter [K, C, window...], as it is stored.
        order: the order in which the convolution reads its dims.
        target: target of the kernel.
    """
    if target.kind is TargetKind.CPU:
        return False
    stored = [dim for dim in w.dims if dim > 0 and w.shape[dim] > 1]
    taken = [dim for dim in order if dim in stored]
    return stored not in (taken, sorted(stored))
