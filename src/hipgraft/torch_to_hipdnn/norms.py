"""Batch, layer and RMS normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

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


def _parameter(
    converter: Converter, given: Tensor | None, value: float, shape: Sequence[int], like: Tensor
) -> ir.Value:
    """A scale or bias as `shape`; a constant `value` where the program gives none."""
    if given is None:
        return converter.splat(value, shape, like.element_type)
    return converter.materialize(given.reshape(shape))


def _epsilon(converter: Converter, value: float, like: Tensor) -> ir.Value:
    return converter.materialize(converter.scalar(value, like))


def _batch_norm(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`batch_norm(x, weight, bias, mean, variance, training, momentum, eps, cudnn_enabled)`."""
    if op.constant(5):
        raise NoMatch("training-mode", "batch statistics in training mode")
    x = op.float_tensor(0)
    shape = (1, x.shape[1], *[1] * (len(x.shape) - 2))
    mean, variance = (op.float_tensor(i).reshape(shape) for i in (3, 4))
    y = hipdnn.batchnorm_inference_variance_ext(
        converter.materialize(x),
        converter.materialize(mean),
        converter.materialize(variance),
        _parameter(converter, op.optional_tensor(1), 1.0, shape, x),
        _parameter(converter, op.optional_tensor(2), 0.0, shape, x),
        _epsilon(converter, op.constant(7), x),
        result_type=ir.RankedTensorType.get(x.shape, op.result_element()),
        loc=converter.location,
    )
    return [converter.whole(y)]


def _native_layer_norm(converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    """`native_layer_norm(x, shape, weight, bias, eps)` to y, mean and 1/deviation."""
    if op.is_used(1) or op.is_used(2):
        raise NoMatch("training-mode", "the statistics are used")
    return [_normalized(converter, op), None, None]


def _layer_norm(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    return [_normalized(converter, op)]


def _normalized(converter: Converter, op: TorchOp) -> Tensor:
    x, count = with_trailing(op.float_tensor(0), len(op.constant(1)))
    shape = _parameter_shape(x, count)
    y = hipdnn.layernorm(
        converter.materialize(x),
        _parameter(converter, op.optional_tensor(2), 1.0, shape, x),
        _parameter(converter, op.optional_tensor(3), 0.0, shape, x),
        _epsilon(converter, op.constant(4), x),
        forward_phase="INFERENCE",
        normalized_dim_count=count,
        result_type=ir.RankedTensorType.get(x.shape, op.result_element()),
        loc=converter.location,
    )
    return converter.whole(y).reshape(op.result_shape())


def _parameter_shape(x: Tensor, count: int) -> tuple[int, ...]:
    """Shape of a scale or bias over the last `count` dimensions of x."""
    lead = len(x.shape) - count
    return (1,) * lead + x.shape[lead:]


def _rms_norm(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`rms_norm(x, shape, weight, eps)`."""
    epsilon = op.constant(3)
    if epsilon is None:
        raise NoMatch("default-epsilon", "the epsilon depends on the element type")
    if math.prod(op.constant(1)) == 1:
        raise NoMatch("unit-norm", "hipDNN cannot tell which unit dimensions are normalised")
    x, count = with_trailing(op.float_tensor(0), len(op.constant(1)))
    shape = _parameter_shape(x, count)
    y = hipdnn.rmsnorm(
        converter.materialize(x),
        _parameter(converter, op.optional_tensor(2), 1.0, shape, x),
        _epsilon(converter, epsilon, x),
        forward_phase="INFERENCE",
        result_type=ir.RankedTensorType.get(x.shape, op.result_element()),
        loc=converter.location,
    )
    return [converter.whole(y).reshape(op.result_shape())]


NORMS: dict[str, Conversion] = {
    "torch.aten.batch_norm": _batch_norm,
    "torch.aten.native_layer_norm": _native_layer_norm,
    "torch.aten.layer_norm": _layer_norm,
    "torch.aten.rms_norm": _rms_norm,
}
"""Conversions by torch op name."""
