"""Gradients of convolutions, normalisations and activations in training graphs.

Where torch's op takes the forward result and hipDNN's mode its operand (sigmoid, tanh), the
gradient is written as arithmetic on the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.tensor_builder import Tensor, counted_dims
from hipgraft.transforms.tensor_reductions import reduce, wide_type
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp
from hipgraft.transforms.torch_to_hipdnn.norms import channel_shape, parameter, parameter_shape

_Results = Sequence[Tensor | None]


def _convolution_backward(converter: Converter, op: TorchOp) -> _Results:
    """`convolution_backward(dy, x, w, bias_sizes, stride, padding, dilation, transposed, ...)`.

    A transposed convolution is a data gradient, so its own data gradient is a forward convolution.
    In the gradient of the filter, x and dy swap roles.
    """
    dy, x, w = (op.float_tensor(i) for i in range(3))
    rank = len(x.shape) - 2
    window = {
        "pre_padding": op.per_dim(5, rank),
        "post_padding": op.per_dim(5, rank),
        "stride": op.per_dim(4, rank),
        "dilation": op.per_dim(6, rank),
    }
    transposed = op.constant(7)
    data = hipdnn.conv_fprop if transposed else hipdnn.conv_dgrad
    pair = (dy, x) if transposed else (x, dy)
    results: list[Tensor | None] = [None, None, None]
    if op.is_used(0):
        results[0] = _conv(converter, op, 0, data, (dy, w), window)
    if op.is_used(1):
        results[1] = _conv(converter, op, 1, hipdnn.conv_wgrad, pair, window)
    if op.is_used(2):
        results[2] = _per_channel(converter, op, 2, dy)
    return results


def _conv(
    converter: Converter,
    op: TorchOp,
    index: int,
    build: Any,
    tensors: Sequence[Tensor],
    window: dict[str, list[int]],
) -> Tensor:
    kind = ir.RankedTensorType.get(op.result_shape(index), op.result_element(index))
    operands = [converter.materialize(tensor) for tensor in tensors]
    return converter.whole(build(*operands, result_type=kind, loc=converter.location, **window))


def _batch_norm_backward(converter: Converter, op: TorchOp) -> _Results:
    """`native_batch_norm_backward(dy, x, weight, mean, var, save_mean, save_invstd, ...)`."""
    if not op.constant(7):
        raise Declined("inference-mode", "hipDNN's gradient is of the training form")
    dy, x = op.float_tensor(0), op.float_tensor(1)
    shape = channel_shape(x)
    mean, deviation = (op.float_tensor(i).reshape(shape) for i in (5, 6))
    gradients = hipdnn.BatchnormBackwardOp.build(
        converter.materialize(dy),
        converter.materialize(x),
        parameter(converter, op.optional_tensor(2), 1.0, shape, x),
        converter.materialize(mean),
        converter.materialize(deviation),
        results=_gradient_types(op, x, shape),
        loc=converter.location,
    )
    return _reshaped(converter, op, gradients.operation.results)


def _layer_norm_backward(converter: Converter, op: TorchOp) -> _Results:
    """`native_layer_norm_backward(dy, x, shape, mean, rstd, weight, bias, mask)`."""
    dy, x = op.float_tensor(0), op.float_tensor(1)
    count = len(op.integers(2))
    shape = parameter_shape(x, count)
    statistics = (*x.shape[: len(x.shape) - count], *[1] * count)
    mean, deviation = (op.float_tensor(i).reshape(statistics) for i in (3, 4))
    gradients = hipdnn.LayernormBackwardOp.build(
        converter.materialize(dy),
        converter.materialize(x),
        parameter(converter, op.optional_tensor(5), 1.0, shape, x),
        converter.materialize(mean),
        converter.materialize(deviation),
        normalized_dim_count=count,
        results=_gradient_types(op, x, shape),
        loc=converter.location,
    )
    return _reshaped(converter, op, gradients.operation.results)


def _group_norm_backward(converter: Converter, op: TorchOp) -> _Results:
    """`native_group_norm_backward(dy, x, mean, rstd, weight, N, C, HxW, group, mask)`.

    Once dy is scaled by its channel's weight, the gradient of x is that of a layer norm with one
    row per group.
    """
    dy, x, weight = op.float_tensor(0), op.float_tensor(1), op.optional_tensor(4)
    groups = (x.shape[0], op.constant(8))
    results: list[Tensor | None] = [None, None, None]
    if op.is_used(0):
        scaled = dy
        if weight is not None:
            factors = [dy, weight.reshape(channel_shape(x))]
            scaled = converter.pointwise("mul", factors, wide_type(x))
        results[0] = _rows_backward(converter, op, scaled, x, groups)
    if op.is_used(1):
        product = converter.pointwise(
            "mul", [dy, _normalized(converter, op, x, groups)], wide_type(x)
        )
        results[1] = _per_channel(converter, op, 1, product)
    if op.is_used(2):
        results[2] = _per_channel(converter, op, 2, dy)
    return results


def _rows_backward(
    converter: Converter, op: TorchOp, dy: Tensor, x: Tensor, groups: tuple[int, int]
) -> Tensor:
    """The gradient of x, normalised in rows of a group each, without a weight."""
    row = (1, 1, math.prod(x.shape) // math.prod(groups))
    rows = (*groups, row[2])
    gradients = hipdnn.LayernormBackwardOp.build(
        converter.materialize(dy.reshape(rows)),
        converter.materialize(x.reshape(rows)),
        converter.splat(1.0, row, x.element_type),
        *(converter.materialize(op.float_tensor(i).reshape((*groups, 1))) for i in (2, 3)),
        normalized_dim_count=1,
        results={
            name: ir.RankedTensorType.get(shape, _element(op, 0, x))
            for name, shape in (("dx", rows), ("dscale", row), ("dbias", row))
        },
        loc=converter.location,
    )
    return converter.whole(gradients.dx).reshape(op.result_shape(0))


def _normalized(converter: Converter, op: TorchOp, x: Tensor, groups: tuple[int, int]) -> Tensor:
    """`(x - mean) · rstd`, by groups."""
    rows = x.reshape((*groups, math.prod(x.shape) // math.prod(groups)))
    mean, deviation = (op.float_tensor(i).reshape((*groups, 1)) for i in (2, 3))
    centred = converter.pointwise("sub", [rows, mean], wide_type(x))
    return converter.pointwise("mul", [centred, deviation], wide_type(x)).reshape(x.shape)


def _per_channel(converter: Converter, op: TorchOp, index: int, value: Tensor) -> Tensor:
    """The sum over all but the channels."""
    dims = [dim for dim in range(len(value.shape)) if dim != 1]
    total = reduce(converter, "ADD", value, dims, op.result_element(index))
    return total.reshape(op.result_shape(index))


def _gradient_types(op: TorchOp, x: Tensor, shape: Sequence[int]) -> dict[str, ir.Type]:
    shapes = {"dx": x.shape, "dscale": shape, "dbias": shape}
    return {
        name: ir.RankedTensorType.get(extents, _element(op, index, x))
        for index, (name, extents) in enumerate(shapes.items())
    }


def _element(op: TorchOp, index: int, x: Tensor) -> ir.Type:
    """Element type of a gradient; that of x where the program leaves the gradient out."""
    return op.result_element(index) if op.is_used(index) else x.element_type


def _reshaped(converter: Converter, op: TorchOp, gradients: Sequence[ir.Value]) -> _Results:
    return [
        converter.whole(value).reshape(op.result_shape(index)) if op.is_used(index) else None
        for index, value in enumerate(gradients)
    ]


def _activation(
    mode: str, converter: Converter, op: TorchOp, **attributes: float | None
) -> list[Tensor]:
    """Converts to a mode that reads `dy` and the forward op's operand."""
    operands = [op.float_tensor(0), op.float_tensor(1)]
    return [converter.pointwise(mode, operands, op.result_element(), **attributes)]


def _threshold_backward(converter: Converter, op: TorchOp) -> _Results:
    """`threshold_backward(dy, x, threshold)`: dy where x is above the threshold."""
    return _activation("relu_bwd", converter, op, relu_lower_clip=float(op.constant(2)))


def _leaky_relu_backward(converter: Converter, op: TorchOp) -> _Results:
    """`leaky_relu_backward(dy, x, slope, self_is_result)`; a result has the sign of x."""
    slope = float(op.constant(2))
    if op.constant(3) and slope < 0:
        raise Declined("result-given", "the sign of the forward result is not that of its operand")
    return _activation("relu_bwd", converter, op, relu_lower_clip_slope=slope)


def _gelu_backward(converter: Converter, op: TorchOp) -> _Results:
    mode = "gelu_approx_tanh_bwd" if op.constant(2) == "tanh" else "gelu_bwd"
    return _activation(mode, converter, op)


def _silu_backward(converter: Converter, op: TorchOp) -> _Results:
    return _activation("swish_bwd", converter, op)


def _softplus_backward(converter: Converter, op: TorchOp) -> _Results:
    """`softplus_backward(dy, x, beta, threshold)`; above the threshold the gradient is 1 anyway."""
    return _activation("softplus_bwd", converter, op, softplus_beta=float(op.constant(2)))


def _elu_backward(converter: Converter, op: TorchOp) -> _Results:
    """`elu_backward(dy, alpha, scale, input_scale, is_result, x)`."""
    if op.constant(4):
        raise Declined("result-given", "hipDNN's gradient of ELU takes the operand, not the result")
    if op.constant(2) != 1 or op.constant(3) != 1:
        raise Declined("elu-scale", "hipDNN's ELU has no output or input scale")
    operands = [op.float_tensor(0), op.float_tensor(5)]
    alpha = float(op.constant(1))
    return [converter.pointwise("elu_bwd", operands, op.result_element(), elu_alpha=alpha)]


def _hardtanh_backward(converter: Converter, op: TorchOp) -> _Results:
    """`hardtanh_backward(dy, x, min, max)`: dy strictly between the bounds."""
    dy, x = op.float_tensor(0), op.float_tensor(1)
    low, high = (converter.scalar(float(op.constant(i)), x) for i in (2, 3))
    boolean = ir.IntegerType.get_signless(1)
    above = converter.pointwise("cmp_gt", [x, low], boolean)
    below = converter.pointwise("cmp_lt", [x, high], boolean)
    inside = converter.pointwise("logical_and", [above, below], boolean)
    operands = [inside, dy, converter.scalar(0.0, x)]
    return [converter.pointwise("binary_select", operands, op.result_element())]


def _sigmoid_backward(converter: Converter, op: TorchOp) -> _Results:
    """`dy · (1 - y) · y`."""
    dy, y = op.float_tensor(0), op.float_tensor(1)
    rest = converter.pointwise("sub", [converter.scalar(1.0, y), y], wide_type(y))
    product = converter.pointwise("mul", [dy, rest], wide_type(y))
    return [converter.pointwise("mul", [product, y], op.result_element())]


def _tanh_backward(converter: Converter, op: TorchOp) -> _Results:
    """`dy · (1 - y²)`."""
    dy, y = op.float_tensor(0), op.float_tensor(1)
    square = converter.pointwise("mul", [y, y], wide_type(y))
    rest = converter.pointwise("sub", [converter.scalar(1.0, y), square], wide_type(y))
    return [converter.pointwise("mul", [dy, rest], op.result_element())]


def _softmax_backward(converter: Converter, op: TorchOp) -> _Results:
    """`_softmax_backward_data(dy, y, dim, dtype)`: `y · (dy - Σ dy · y)`."""
    dy, y = op.float_tensor(0), op.float_tensor(1)
    product = converter.pointwise("mul", [dy, y], wide_type(y))
    total = reduce(converter, "ADD", product, [_dim(op, y)], wide_type(y))
    rest = converter.pointwise("sub", [dy, total], wide_type(y))
    return [converter.pointwise("mul", [y, rest], op.result_element())]


def _log_softmax_backward(converter: Converter, op: TorchOp) -> _Results:
    """`_log_softmax_backward_data(dy, y, dim, dtype)`: `dy - exp(y) · Σ dy`."""
    dy, y = op.float_tensor(0), op.float_tensor(1)
    total = reduce(converter, "ADD", dy, [_dim(op, y)], wide_type(y))
    weights = converter.pointwise("exp", [y], wide_type(y))
    product = converter.pointwise("mul", [weights, total], wide_type(y))
    return [converter.pointwise("sub", [dy, product], op.result_element())]


def _dim(op: TorchOp, y: Tensor) -> int:
    (dim,) = counted_dims([op.constant(2)], len(y.shape))
    return dim


GRADIENTS: dict[str, Conversion] = {
    "torch.aten.convolution_backward": _convolution_backward,
    "torch.aten.native_batch_norm_backward": _batch_norm_backward,
    "torch.aten.native_layer_norm_backward": _layer_norm_backward,
    "torch.aten.native_group_norm_backward": _group_norm_backward,
    "torch.aten.threshold_backward": _threshold_backward,
    "torch.aten.leaky_relu_backward": _leaky_relu_backward,
    "torch.aten.gelu_backward": _gelu_backward,
    "torch.aten.silu_backward": _silu_backward,
    "torch.aten.softplus_backward": _softplus_backward,
    "torch.aten.elu_backward": _elu_backward,
    "torch.aten.hardtanh_backward": _hardtanh_backward,
    "torch.aten.sigmoid_backward": _sigmoid_backward,
    "torch.aten.tanh_backward": _tanh_backward,
    "torch.aten._softmax_backward_data": _softmax_backward,
    "torch.aten._log_softmax_backward_data": _log_softmax_backward,
}
"""Conversions by torch op name."""
