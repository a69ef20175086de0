"""Emits reductions and functions built from them as hipDNN ops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.transforms.tensor_builder import Tensor, TensorBuilder, with_trailing

_NORMS = ("AMAX", "NORM1", "NORM2")


def reduce(
    builder: TensorBuilder, mode: str, tensor: Tensor, dims: Sequence[int], element: ir.Type
) -> Tensor:
    """Emits `hipdnn.reduction` over `dims`, which stay as unit dimensions.

    hipDNN reduces at least two elements. The reduction of a single element is that element; norms
    take its magnitude.
    """
    if math.prod(tensor.shape[dim] for dim in dims) == 1:
        return _single(builder, mode, tensor, element)
    kept = [1 if dim in dims else extent for dim, extent in enumerate(tensor.shape)]
    rank = len(tensor.shape)
    if sorted(dims) == list(range(rank - len(dims), rank)):
        tensor, count = with_trailing(tensor, len(dims))
        rank = len(tensor.shape)
        dims = range(rank - count, rank)
    shape = [1 if dim in dims else extent for dim, extent in enumerate(tensor.shape)]
    out = hipdnn.reduction(
        builder.materialize(tensor),
        mode=mode,
        result_type=ir.RankedTensorType.get(shape, element),
        loc=builder.location,
    )
    return builder.whole(out).reshape(kept)


def _single(builder: TensorBuilder, mode: str, tensor: Tensor, element: ir.Type) -> Tensor:
    if mode in _NORMS:
        return builder.pointwise("abs", [tensor], element)
    if tensor.element_type == element:
        return tensor
    return builder.pointwise("identity", [tensor], element)


def softmax(builder: TensorBuilder, tensor: Tensor, dim: int, element: ir.Type) -> Tensor:
    """Emits `exp(x - max) / sum(exp(x - max))` along `dim`, in f32 (f64 for f64)."""
    wide = wide_type(tensor)
    exponential, total = exponentials(builder, tensor, dim, wide)[1:]
    return builder.pointwise("div", [exponential, total], element)


def exponentials(
    builder: TensorBuilder, tensor: Tensor, dim: int, wide: ir.Type
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns x - max along `dim`, its exponential, and the sum of those."""
    largest = reduce(builder, "MAX", tensor, [dim], wide)
    shifted = builder.pointwise("sub", [tensor, largest], wide)
    exponential = builder.pointwise("exp", [shifted], wide)
    return shifted, exponential, reduce(builder, "ADD", exponential, [dim], wide)


def wide_type(tensor: Tensor) -> ir.Type:
    """Returns the type to accumulate in: f32, or f64 for f64."""
    f64 = ir.F64Type.get()
    return f64 if tensor.element_type == f64 else ir.F32Type.get()
