"""Converts `any` and `all`, and ONNX's form of `any`, which ONNX lacks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.torch_dialect import aten_name
from hipgraft.transforms.tensor_builder import Tensor, counted_dims
from hipgraft.transforms.tensor_reductions import reduce
from hipgraft.transforms.torch_to_hipdnn.converter import Converter, TorchOp


def reduced_dims(given: int | Sequence[int] | None, rank: int) -> list[int]:
    """Returns the reduced dimensions, counted from the front; None or an empty list means all."""
    if given is None or given == []:
        return list(range(rank))
    listed = [given] if isinstance(given, int) else list(given)
    return counted_dims(listed, rank)


def any_of(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`any(x, dim, keepdim)`."""
    tensor, dims = _reduced(op)
    return [_any(converter, _is_true(converter, tensor), dims).reshape(op.result_shape())]


def all_of(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`all(x, dim, keepdim)`: whether not any is false."""
    tensor, dims = _reduced(op)
    false = _not(converter, _is_true(converter, tensor))
    return [_not(converter, _any(converter, false, dims)).reshape(op.result_shape())]


def _reduced(op: TorchOp) -> tuple[Tensor, list[int]]:
    tensor = op.tensor(0)
    return tensor, reduced_dims(op.constant(1) if len(op) > 1 else None, len(tensor.shape))


def any_as_maximum(converter: Converter, op: TorchOp) -> Tensor | None:
    """Converts a cast to booleans of the maximum of booleans as integers; None for other casts."""
    source = op.operation.operands[0]
    while _made_by(source, "aten.max.dim"):
        source = ir.OpResult(source).owner.operands[0]
    is_total = source != op.operation.operands[0] and math.prod(op.result_shape()) == 1
    if not is_total or not _made_by(source, "aten.to.dtype"):
        return None
    booleans = TorchOp(converter, ir.OpResult(source).owner.operation).tensor(0)
    if booleans.element_type != _boolean():
        return None
    return _any(converter, booleans, range(len(booleans.shape))).reshape(op.result_shape())


def _made_by(value: ir.Value, name: str) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and aten_name(owner.operation) == name


def _boolean() -> ir.Type:
    return ir.IntegerType.get_signless(1)


def _any(converter: Converter, booleans: Tensor, dims: Sequence[int]) -> Tensor:
    # Unlike a maximum, a sum needs no check for NaN, so it takes a fraction of the instructions.
    if math.prod(booleans.shape[dim] for dim in dims) == 1:
        return booleans
    single = ir.F32Type.get()
    numbers = converter.pointwise("identity", [booleans], single)
    return _is_true(converter, reduce(converter, "ADD", numbers, dims, single))


def _not(converter: Converter, booleans: Tensor) -> Tensor:
    return converter.pointwise("logical_not", [booleans], _boolean())


def _is_true(converter: Converter, tensor: Tensor) -> Tensor:
    if tensor.element_type == _boolean():
        return tensor
    if not tensor.is_float:
        raise Declined("integer-arithmetic", "operand 0 has integer elements")
    return converter.pointwise("cmp_neq", [tensor, converter.scalar(0.0, tensor)], _boolean())
