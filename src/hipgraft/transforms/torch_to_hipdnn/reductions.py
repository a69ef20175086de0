"""Converts sums, means, extrema and softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.tensor_reductions import exponentials, reduce, softmax, wide_type
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp
from hipgraft.transforms.torch_to_hipdnn.truth import all_of, any_of, reduced_dims

_TOTAL = (".sum", ".mean", ".prod", ".max", ".min")
"""The ops whose name without a suffix reduces all dimensions."""


def _reduction(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`op(x, dims, keepdim, ...)` and `op(x)`."""
    tensor = op.float_tensor(0)
    has_dims = len(op) > 1 and not op.operation.name.endswith(_TOTAL)
    dims = reduced_dims(op.constant(1) if has_dims else None, len(tensor.shape))
    return [reduce(converter, mode, tensor, dims, op.result_element()).reshape(op.result_shape())]


def _extremum_with_index(mode: str, converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    if op.is_used(1):
        raise Declined("index-used", "hipDNN's reductions give no index")
    return [*_reduction(mode, converter, op), None]


def _softmax(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor = op.float_tensor(0)
    dim = reduced_dims(op.constant(1), len(tensor.shape))[0]
    return [softmax(converter, tensor, dim, op.result_element())]


def _log_softmax(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    tensor, wide = op.float_tensor(0), wide_type(op.float_tensor(0))
    dim = reduced_dims(op.constant(1), len(tensor.shape))[0]
    shifted, _, total = exponentials(converter, tensor, dim, wide)
    log = converter.pointwise("log", [total], wide)
    return [converter.pointwise("sub", [shifted, log], op.result_element())]


def _norm(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`norm(x, order, dims, keepdim, ...)` of order 1, 2 or infinity."""
    order = op.constant(1)
    mode = {1: "NORM1", 2: "NORM2", None: "NORM2", math.inf: "AMAX"}.get(order)
    if mode is None:
        raise Declined("norm-order", f"hipDNN has no norm of order {order}")
    return _reduced(converter, op, mode, op.constant(2) if len(op) > 2 else None)


def _frobenius(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`frobenius_norm(x, dims, keepdim)`."""
    return _reduced(converter, op, "NORM2", op.constant(1))


def _reduced(
    converter: Converter, op: TorchOp, mode: str, given: int | Sequence[int] | None
) -> Sequence[Tensor]:
    tensor = op.float_tensor(0)
    dims = reduced_dims(given, len(tensor.shape))
    return [reduce(converter, mode, tensor, dims, op.result_element()).reshape(op.result_shape())]


def _log_sum_exp(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`logsumexp(x, dims, keepdim)` of one dimension: `max + log(sum(exp(x - max)))`."""
    tensor, wide = op.float_tensor(0), wide_type(op.float_tensor(0))
    dims = reduced_dims(op.constant(1), len(tensor.shape))
    if len(dims) != 1:
        raise Declined("several-dimensions", "more than one dimension is reduced")
    largest = reduce(converter, "MAX", tensor, dims, wide)
    total = exponentials(converter, tensor, dims[0], wide)[2]
    log = converter.pointwise("log", [total], wide)
    return [
        converter.pointwise("add", [largest, log], op.result_element()).reshape(op.result_shape())
    ]


REDUCTIONS: dict[str, Conversion] = {
    "torch.aten.sum": partial(_reduction, "ADD"),
    "torch.aten.sum.dim_IntList": partial(_reduction, "ADD"),
    "torch.aten.mean": partial(_reduction, "AVG"),
    "torch.aten.mean.dim": partial(_reduction, "AVG"),
    "torch.aten.prod": partial(_reduction, "MUL"),
    "torch.aten.prod.dim_int": partial(_reduction, "MUL"),
    "torch.aten.max": partial(_reduction, "MAX"),
    "torch.aten.min": partial(_reduction, "MIN"),
    "torch.aten.linalg_vector_norm": _norm,
    "torch.aten.norm.Scalar": _norm,
    "torch.aten.norm.ScalarOpt_dim": _norm,
    "torch.aten.frobenius_norm.dim": _frobenius,
    "torch.aten.logsumexp": _log_sum_exp,
    "torch.aten.any": any_of,
    "torch.aten.any.dim": any_of,
    "torch.aten.any.dims": any_of,
    "torch.aten.all": all_of,
    "torch.aten.all.dim": all_of,
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
