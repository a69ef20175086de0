"""Writes normalisations and their gradients as ATen ops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.hipdnn_to_torch.expressions import Number, Torch

# hipDNN's gradient of batch normalisation has no attribute for epsilon.
_EPSILON = 1e-5


def batchnorm_inference(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes `(x - mean) · inverse · scale + bias`."""
    assert isinstance(op, hipdnn.BatchnormInferenceOp | hipdnn.BatchnormInferenceVarianceExtOp)
    if isinstance(op, hipdnn.BatchnormInferenceOp):
        inverse = t.read(op.inv_variance)
    else:
        inverse = t.inverse_root(t.read(op.variance), t.number(op.epsilon))
    centred = t.sub(t.read(op.x), t.read(op.mean))
    return [_affine(t, t.mul(centred, inverse), op.scale, op.bias)]


def batchnorm(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Normalises by the batch's statistics; the running variance is unbiased."""
    assert isinstance(op, hipdnn.BatchnormOp)
    _refuse_peers(op)
    x = t.read(op.x)
    y, mean, inverse, variance = _normalized(t, op, _all_but_channels(x, t))
    values = {"y": y, "mean": mean, "inv_variance": inverse}
    if op.momentum is not None:
        count = prod(t.shape(x)) // t.shape(x)[1]
        unbiased = t.product(variance, [count / max(count - 1, 1)])
        momentum = t.number(op.momentum)
        for name, previous, current in (
            ("next_running_mean", op.prev_running_mean, mean),
            ("next_running_variance", op.prev_running_variance, unbiased),
        ):
            values[name] = _blended(t, previous, current, momentum)
    return present(op, values)


def layernorm(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Normalises over trailing dimensions."""
    assert isinstance(op, hipdnn.LayernormOp)
    y, mean, inverse, _ = _normalized(t, op, op.dims)
    return present(op, {"y": y, "mean": mean, "inv_variance": inverse})


def rmsnorm(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Normalises by the root of the mean square."""
    assert isinstance(op, hipdnn.RmsnormOp)
    x = t.read(op.x)
    inverse = t.inverse_root(t.mean(t.mul(x, x), op.dims), t.number(op.epsilon))
    y = _affine(t, t.mul(x, inverse), op.scale, op.bias)
    return present(op, {"y": y, "inv_rms": inverse})


def batchnorm_backward(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes the gradients per channel."""
    assert isinstance(op, hipdnn.BatchnormBackwardOp)
    _refuse_peers(op)
    return _centred_gradients(t, op, _all_but_channels(t.read(op.x), t), _EPSILON)


def layernorm_backward(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes the gradients over trailing dimensions."""
    assert isinstance(op, hipdnn.LayernormBackwardOp)
    return _centred_gradients(t, op, op.dims, t.number(op.epsilon, _EPSILON))


def rmsnorm_backward(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes `dx = inverse · (g - z · mean(g · z))`; `z = x · inverse`, `g = dy · scale`."""
    assert isinstance(op, hipdnn.RmsnormBackwardOp)
    dy, inverse = t.read(op.dy), t.read(op.inv_rms)
    z, g = t.mul(t.read(op.x), inverse), t.mul(dy, t.read(op.scale))
    dx = t.mul(inverse, t.sub(g, t.mul(z, t.mean(t.mul(g, z), op.dims))))
    return _gradients(t, op, dx, dy, z)


_Statistics = hipdnn.BatchnormOp | hipdnn.LayernormOp
_Centred = hipdnn.BatchnormBackwardOp | hipdnn.LayernormBackwardOp


def _normalized(
    t: Torch, op: _Statistics, dims: Sequence[int]
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """Returns y, the mean, the inverse deviation and the variance over `dims`."""
    x = t.read(op.x)
    mean = t.mean(x, dims)
    centred = t.sub(x, mean)
    variance = t.mean(t.mul(centred, centred), dims)
    inverse = t.inverse_root(variance, t.number(op.epsilon))
    return _affine(t, t.mul(centred, inverse), op.scale, op.bias), mean, inverse, variance


def _centred_gradients(
    t: Torch, op: _Centred, dims: Sequence[int], epsilon: Number
) -> list[ir.Value]:
    """Writes `dx = inverse · (g - mean(g) - z · mean(g · z))` with given statistics or x's own."""
    x, dy = t.read(op.x), t.read(op.dy)
    mean = t.mean(x, dims) if op.mean is None else t.read(op.mean)
    centred = t.sub(x, mean)
    if op.inv_variance is None:
        inverse = t.inverse_root(t.mean(t.mul(centred, centred), dims), epsilon)
    else:
        inverse = t.read(op.inv_variance)
    z, g = t.mul(centred, inverse), t.mul(dy, t.read(op.scale))
    along = t.mul(z, t.mean(t.mul(g, z), dims))
    dx = t.mul(inverse, t.sub(t.sub(g, t.mean(g, dims)), along))
    return _gradients(t, op, dx, dy, z)


def _gradients(
    t: Torch, op: hipdnn.HipdnnOp, dx: ir.Value, dy: ir.Value, z: ir.Value
) -> list[ir.Value]:
    shape = shape_of(op.operation.results[1])
    dscale = t.summed_to(t.mul(dy, z), shape)
    return present(op, {"dx": dx, "dscale": dscale, "dbias": t.summed_to(dy, shape)})


def _affine(t: Torch, x: ir.Value, scale: ir.Value, bias: ir.Value | None) -> ir.Value:
    scaled = t.mul(x, t.read(scale))
    return scaled if bias is None else t.add(scaled, t.read(bias))


def _blended(t: Torch, previous: ir.Value | None, current: ir.Value, momentum: Number) -> ir.Value:
    """Writes `(1 - momentum) · previous + momentum · current`."""
    assert previous is not None
    kept = 1 - momentum if isinstance(momentum, float) else t.sub(1.0, momentum)
    return t.add(t.mul(t.read(previous), kept), t.mul(current, momentum))


def _all_but_channels(x: ir.Value, t: Torch) -> list[int]:
    return [dim for dim in range(len(t.shape(x))) if dim != 1]


def _refuse_peers(op: hipdnn.BatchnormOp | hipdnn.BatchnormBackwardOp) -> None:
    if op.peer_stats:
        raise Declined("peer-statistics", "torch-mlir has no statistics of other devices")


def present(op: hipdnn.HipdnnOp, values: dict[str, ir.Value]) -> list[ir.Value]:
    """Returns the values of the results that the op has."""
    return [values[field.name] for field in op.result_fields if op.result_values(field)]
