"""Batch, layer and RMS normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.tensor_builder import Tensor, with_trailing
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp


def parameter(
    converter: Converter, given: Tensor | None, value: float, shape: Sequence[int], like: Tensor
) -> ir.Value:
    """Returns a scale or bias as `shape`; a constant `value` where the program gives none."""
    if given is None:
        return converter.splat(value, shape, like.element_type)
    return converter.materialize(given.reshape(shape))


def _epsilon(converter: Converter, value: float, like: Tensor) -> ir.Value:
    return converter.materialize(converter.scalar(value, like))


def channel_shape(x: Tensor) -> tuple[int, ...]:
    """Shape of a value per channel of `x` [N, C, spatial...].

    Raises:
        Declined: `x` has no channels.
    """
    if len(x.shape) < 2:
        raise Declined("rank", f"a tensor of rank {len(x.shape)} has no channels")
    return (1, x.shape[1], *[1] * (len(x.shape) - 2))


def _batch_norm(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`batch_norm(x, weight, bias, mean, variance, training, momentum, eps, cudnn_enabled)`."""
    if op.constant(5):
        return _batch_statistics(converter, op, op.constant(7), statistics=False)
    return [_given_statistics(converter, op, op.constant(7))]


def _native_batch_norm(converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    """`native_batch_norm(x, weight, bias, mean, variance, training, momentum, eps)`.

    Yields y, and in training the mean and the inverse deviation of the batch; the functional form
    also yields the next running statistics.
    """
    count = len(op.operation.results)
    is_used = any(op.is_used(index) for index in range(1, count))
    if op.constant(5):
        found = _batch_statistics(converter, op, op.constant(7), statistics=is_used)
    elif is_used:
        raise Declined("saved-statistics", "inference has no statistics of the batch")
    else:
        found = [_given_statistics(converter, op, op.constant(7))]
    return [*found, *[None] * (count - len(found))]


def _given_statistics(converter: Converter, op: TorchOp, epsilon: float) -> Tensor:
    x = op.float_tensor(0)
    shape = channel_shape(x)
    mean, variance = (op.float_tensor(i).reshape(shape) for i in (3, 4))
    y = hipdnn.batchnorm_inference_variance_ext(
        converter.materialize(x),
        converter.materialize(mean),
        converter.materialize(variance),
        parameter(converter, op.optional_tensor(1), 1.0, shape, x),
        parameter(converter, op.optional_tensor(2), 0.0, shape, x),
        _epsilon(converter, epsilon, x),
        result_type=ir.RankedTensorType.get(x.shape, op.result_element()),
        loc=converter.location,
    )
    return converter.whole(y)


def _batch_statistics(
    converter: Converter, op: TorchOp, epsilon: float, *, statistics: bool
) -> list[Tensor]:
    """Training: y, then with `statistics` the batch's, then the running ones where given."""
    x = op.float_tensor(0)
    shape = channel_shape(x)
    running = _running(converter, op, shape, x) if len(op.operation.results) > 3 else []
    kinds = _batch_types(op, x, shape, running) if statistics else {}
    node = hipdnn.BatchnormOp.build(
        converter.materialize(x),
        parameter(converter, op.optional_tensor(1), 1.0, shape, x),
        parameter(converter, op.optional_tensor(2), 0.0, shape, x),
        _epsilon(converter, epsilon, x),
        *(running if statistics else []),
        results={"y": ir.RankedTensorType.get(x.shape, op.result_element()), **kinds},
        loc=converter.location,
    )
    return [
        converter.whole(value).reshape(op.result_shape(index))
        for index, value in enumerate(node.operation.results)
    ]


def _running(converter: Converter, op: TorchOp, shape: Sequence[int], x: Tensor) -> list[ir.Value]:
    mean, variance = (converter.materialize(op.float_tensor(i).reshape(shape)) for i in (3, 4))
    return [mean, variance, _epsilon(converter, op.constant(6), x)]


def _batch_types(
    op: TorchOp, x: Tensor, shape: Sequence[int], running: Sequence[ir.Value]
) -> dict[str, ir.Type]:
    wide = ir.F64Type.get() if x.element_type == ir.F64Type.get() else ir.F32Type.get()
    names = ["mean", "inv_variance"]
    kinds: dict[str, ir.Type] = {name: ir.RankedTensorType.get(shape, wide) for name in names}
    for name, index in (("next_running_mean", 3), ("next_running_variance", 4)):
        if running:
            kinds[name] = ir.RankedTensorType.get(shape, op.result_element(index))
    return kinds


def _native_layer_norm(converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    """`native_layer_norm(x, shape, weight, bias, eps)` to y, mean and 1/deviation."""
    return _normalized(converter, op, [index for index in (1, 2) if op.is_used(index)])


def _layer_norm(converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    return _normalized(converter, op, [])[:1]


def _normalized(
    converter: Converter, op: TorchOp, statistics: Sequence[int]
) -> Sequence[Tensor | None]:
    """Emits layernorm; its results 1 and 2 exist only if they are used."""
    x, count = with_trailing(op.float_tensor(0), len(op.integers(1)))
    shape = parameter_shape(x, count)
    rows = (*x.shape[: len(x.shape) - count], *[1] * count)
    kinds = {
        name: ir.RankedTensorType.get(rows, op.result_element(index))
        for name, index in (("mean", 1), ("inv_variance", 2))
        if index in statistics
    }
    node = hipdnn.LayernormOp.build(
        converter.materialize(x),
        parameter(converter, op.optional_tensor(2), 1.0, shape, x),
        parameter(converter, op.optional_tensor(3), 0.0, shape, x),
        _epsilon(converter, op.constant(4), x),
        forward_phase="TRAINING" if statistics else "INFERENCE",
        normalized_dim_count=count,
        results={"y": ir.RankedTensorType.get(x.shape, op.result_element()), **kinds},
        loc=converter.location,
    )
    found = {0: node.y, 1: node.mean, 2: node.inv_variance}
    return [
        None if value is None else converter.whole(value).reshape(op.result_shape(index))
        for index, value in found.items()
    ]


def parameter_shape(x: Tensor, count: int) -> tuple[int, ...]:
    """Shape of a scale or bias over the last `count` dimensions of x."""
    lead = len(x.shape) - count
    return (1,) * lead + x.shape[lead:]


def _rms_norm(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`rms_norm(x, shape, weight, eps)`."""
    epsilon = op.constant(3)
    if epsilon is None:
        raise Declined("default-epsilon", "the epsilon depends on the element type")
    if math.prod(op.integers(1)) == 1:
        raise Declined("unit-norm", "hipDNN cannot tell which unit dimensions are normalised")
    x, count = with_trailing(op.float_tensor(0), len(op.integers(1)))
    shape = parameter_shape(x, count)
    y = hipdnn.rmsnorm(
        converter.materialize(x),
        parameter(converter, op.optional_tensor(2), 1.0, shape, x),
        _epsilon(converter, epsilon, x),
        forward_phase="INFERENCE",
        result_type=ir.RankedTensorType.get(x.shape, op.result_element()),
        loc=converter.location,
    )
    return [converter.whole(y).reshape(op.result_shape())]


NORMS: dict[str, Conversion] = {
    "torch.aten.batch_norm": _batch_norm,
    "torch.aten.native_batch_norm": _native_batch_norm,
    "torch.aten._native_batch_norm_legit_functional": _native_batch_norm,
    "torch.aten.native_layer_norm": _native_layer_norm,
    "torch.aten.layer_norm": _layer_norm,
    "torch.aten.rms_norm": _rms_norm,
}
"""Conversions by torch op name."""
