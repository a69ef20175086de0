"""Converts elementwise operations and quantisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from hipgraft.dialects.migraphx import (
    BatchNormInferenceOp,
    ConvertOp,
    DequantizeLinearOp,
    MigraphxOp,
)
from hipgraft.dialects.migraphx.types import ShapedType
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.migraphx_to_hipdnn.converter import Conversion, Converter, element_type
from hipgraft.transforms.tensor_builder import Tensor

_UNARY = {
    "abs": "abs",
    "ceil": "ceil",
    "erf": "erf",
    "exp": "exp",
    "floor": "floor",
    "log": "log",
    "neg": "neg",
    "recip": "reciprocal",
    "relu": "relu_fwd",
    "rsqrt": "rsqrt",
    "sigmoid": "sigmoid_fwd",
    "sqrt": "sqrt",
    "tanh": "tanh_fwd",
}
_BINARY = {"add": "add", "div": "div", "max": "max_op", "mul": "mul", "pow": "pow", "sub": "sub"}
_COMPARISONS = {"equal": "cmp_eq", "greater": "cmp_gt", "greater_or_equal": "cmp_ge"}

# These give the same bits for signed and unsigned numbers.
_SIGN_FREE = frozenset({"add", "equal", "mul", "sub"})


def _inputs(converter: Converter, op: MigraphxOp) -> list[Tensor]:
    return [converter.tensor(value) for value in op.operation.operands]


def _check_signs(op: MigraphxOp) -> None:
    kinds = [*(op.type_of(value) for value in op.operation.operands), op.output_type()]
    if op.mnemonic not in _SIGN_FREE and any(kind.is_unsigned for kind in kinds):
        raise Declined("unsigned", "hipDNN has no unsigned arithmetic")


def in_shape(converter: Converter, tensor: Tensor, kind: ShapedType) -> Tensor:
    """Returns `tensor` in the shape of a result, which differs at most by unit dimensions."""
    if tensor.shape == kind.extents:
        return tensor
    try:
        return tensor.reshape(kind.extents)
    except Declined:
        return converter.copied(tensor).reshape(kind.extents)


def _pointwise(mode: str, converter: Converter, op: MigraphxOp) -> Sequence[Tensor]:
    _check_signs(op)
    result = converter.pointwise(mode, _inputs(converter, op), element_type(op.output_type()))
    return [in_shape(converter, result, op.output_type())]


def _comparison(mode: str, converter: Converter, op: MigraphxOp) -> Sequence[Tensor]:
    """Converts a comparison: the dialect has 0 and 1 in the operands' type instead of booleans."""
    _check_signs(op)
    truth = converter.pointwise(mode, _inputs(converter, op), ir.IntegerType.get_signless(1))
    result = converter.cast(truth, element_type(op.output_type()))
    return [in_shape(converter, result, op.output_type())]


def _clip(converter: Converter, op: MigraphxOp) -> Sequence[Tensor]:
    _check_signs(op)
    x, low, high = _inputs(converter, op)
    element = element_type(op.output_type())
    above = converter.pointwise("max_op", [x, low], element)
    result = converter.pointwise("min_op", [above, high], element)
    return [in_shape(converter, result, op.output_type())]


def _where(converter: Converter, op: MigraphxOp) -> Sequence[Tensor]:
    element = element_type(op.output_type())
    result = converter.pointwise("binary_select", _inputs(converter, op), element)
    return [in_shape(converter, result, op.output_type())]


def _convert(converter: Converter, op: ConvertOp) -> Sequence[Tensor]:
    (tensor,) = _inputs(converter, op)
    source = op.input_type()
    if op.zeroExtend:
        source = replace(source, element=f"ui{source.bits}")
    return [converter.convert_signed(tensor, source, op.output_type())]


def _dequantize(converter: Converter, op: DequantizeLinearOp) -> Sequence[Tensor]:
    """`(input - bias) · scale`, with both differences in floating point."""
    kind, wide = op.output_type(), ir.F32Type.get()
    x = _as_float(converter, op, op.input)
    if op.bias is not None:
        x = converter.pointwise("sub", [x, _as_float(converter, op, op.bias)], wide)
    scale = converter.tensor(op.scale)
    result = converter.pointwise("mul", [x, scale], element_type(kind))
    return [in_shape(converter, result, kind)]


def _as_float(converter: Converter, op: MigraphxOp, value: ir.Value) -> Tensor:
    """Returns an operand's numbers as floats; only unsigned numbers need an extra op."""
    tensor, kind = converter.tensor(value), op.type_of(value)
    if not kind.is_unsigned:
        return tensor
    wide = ShapedType(kind.shape, kind.strides, "f32")
    return converter.convert_signed(tensor, kind, wide)


def _batch_norm(converter: Converter, op: BatchNormInferenceOp) -> Sequence[Tensor]:
    x, *parameters = _inputs(converter, op)
    wide = ir.F32Type.get()
    # Older modules may also have one parameter for each element of a channel.
    count = math.prod(parameters[0].shape)
    spatial = x.shape[2:] if count == math.prod(x.shape[1:]) else [1] * (len(x.shape) - 2)
    scale, bias, mean, variance = (
        tensor.reshape((1, x.shape[1], *spatial)) for tensor in parameters
    )
    epsilon = converter.scalar(op.epsilon, variance)
    deviation = converter.pointwise("add", [variance, epsilon], wide)
    inverse = converter.pointwise("rsqrt", [deviation], wide)
    centred = converter.pointwise("sub", [x, mean], wide)
    normal = converter.pointwise("mul", [centred, inverse], wide)
    scaled = converter.pointwise("mul", [normal, scale], wide)
    return [converter.pointwise("add", [scaled, bias], element_type(op.output_type()))]


ELEMENTWISE: dict[str, Conversion] = {
    **{name: partial(_pointwise, mode) for name, mode in (_UNARY | _BINARY).items()},
    **{name: partial(_comparison, mode) for name, mode in _COMPARISONS.items()},
    "batch_norm_inference": _batch_norm,
    "clip": _clip,
    "convert": _convert,
    "dequantizelinear": _dequantize,
    "where": _where,
}
"""The conversions by mnemonic."""
