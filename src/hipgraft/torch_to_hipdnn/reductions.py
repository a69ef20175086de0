"""Sums, means, extrema and softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from hipgraft.bindings import ir
from hipgraft.dialects import hipdnn
from hipgraft.torch_to_hipdnn.converter import (
    Conversion,
    Converter,
    NoMatch,
    Tensor,
    TorchOp,
    with_trailing,
)


def reduce(
    converter: Converter, mode: str, tensor: Tensor, dims: Sequence[int], element: ir.Type
) -> Tensor:
    """Emits `hipdnn.reduction` over `dims`, which stay as unit dimensions."""
    kept = [1 if dim in dims else extent for dim, extent in enumerate(tensor.shape)]
    rank = len(tensor.shape)
    if sorted(dims) == list(range(rank - len(dims), rank)):
        tensor, count = with_trailing(tensor, len(dims))
        rank = len(tensor.shape)
        dims = range(rank - count, rank)
    shape = [1 if dim in dims else extent for dim, extent in enumerate(tensor.shape)]
    out = hipdnn.reduction(
        converter.materialize(tensor),
        mode=mode,
        result_type=ir.RankedTensorType.get(shape, element),
        loc=converter.location,
    )
    return converter.whole(out).reshape(kept)


def _dims(given: int | Sequence[int] | None, rank: int) -> list[int]:
    """The reduced dimensions, counted from the front; none or an empty list means all."""
    if given is None or given == []:
        return list(range(rank))
    listed = [given] if isinstance(given, int) else list(given)
    return [dim + rank if dim < 0 else dim for dim in listed]


def _reduction(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`op(x, dims, keepdim, ...)` and `op(x)`."""
    tensor = op.float_tensor(0)
    has_dims = len(op) > 1 and not op.operation.name.endswith((".sum", ".mean"))
    dims = _dims(op.constant(1) if has_dims else None, len(tensor.shape))
    if math.prod(tensor.shape[dim] for dim in dims) == 1:
        return [_cast(converter, tensor, op).reshape(op.result_shape())]
    return [reduce(converter, mode, tensor, dims, op.result_element()).reshape(op.result_shape())]


def _cast(converter: Converter, tensor: Tensor, op: TorchOp) -> Tensor:
    if tensor.element_type == op.result_element():
        return tensor
    return converter.pointwise("identity", [tensor], op.result_element())


def _extremum_with_index(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    if op.is_used(1):
        raise NoMatch("index-used", "hipDNN's reductions give no index")
    return [*_reduction(mode, converter, op), None]


def softmax(converter: Converter, tensor: Tensor, dim: int, element: ir.Type) -> Tensor:
    """`exp(x - max) / sum(exp(x - max))` along `dim`, in f32 (f64 for f64)."""
    wide = _wide(tensor)
    exponential, total = _exponentials(converter, tensor, dim, wide)[1:]
    return converter.pointwise("div", [exponential, total], element)


def _exponentials(
    converter: Converter, tensor: Tensor, dim: int, wide: ir.Type
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns x - max, its exponential, and the sum of those."""
    largest = reduce(converter, "MAX", tensor, [dim], wide)
    shifted = converter.pointwise("sub", [tensor, largest], wide)
    exponential = converter.pointwise("exp", [shifted], wide)
    return shifted, exponential, reduce(converter, "ADD", exponential, [dim], wide)


def _wide(tensor: Tensor) -> ir.Type:
    f64 = ir.F64Type.get()
    return f64 if tensor.element_type == f64 else ir.F32Type.get()


def _softmax(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.float_tensor(0)
    dim = _dims(op.constant(1), len(tensor.shape))[0]
    return [softmax(converter, tensor, dim, op.result_element())]


def _log_softmax(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor, wide = op.float_tensor(0), _wide(op.float_tensor(0))
    dim = _dims(op.constant(1), len(tensor.shape))[0]
    shifted, _, total = _exponentials(converter, tensor, dim, wide)
    log = converter.pointwise("log", [total], wide)
    return [converter.pointwise("sub", [shifted, log], op.result_element())]


REDUCTIONS: dict[str, Conversion] = {
    "torch.aten.sum": partial(_reduction, "ADD"),
    "torch.aten.sum.dim_IntList": partial(_reduction, "ADD"),
    "torch.aten.mean": partial(_reduction, "AVG"),
    "torch.aten.mean.dim": partial(_reduction, "AVG"),
    "torch.aten.amax": partial(_reduction, "MAX"),
    "torch.aten.amin": partial(_reduction, "MIN"),
    "torch.aten.max.dim": partial(_extremum_with_index, "MAX"),
    "torch.aten.min.dim": partial(_extremum_with_index, "MIN"),
    "torch.aten._softmax": _softmax,
    "torch.aten.softmax.int": _softmax,
    "torch.aten._log_softmax": _log_softmax,
    "torch.aten.log_softmax.int": _log_softmax,
}
"""Conversions by torch op name."""
