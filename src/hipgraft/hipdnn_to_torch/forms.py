"""hipDNN's nodes as ATen ops."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.bindings import ir
from hipgraft.dialects import hipdnn
from hipgraft.hipdnn_to_torch.pointwise import pointwise
from hipgraft.hipdnn_to_torch.writer import Form, NoForm, Writer, scalar_of, shape_of


def _matmul(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    assert isinstance(op, hipdnn.MatmulOp)
    return [w.op("aten.matmul", [w.read(op.a), w.read(op.b)], shape_of(op.c))]


def _reduction(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Over several dimensions; `prod` takes one at a time."""
    assert isinstance(op, hipdnn.ReductionOp)
    x, shape, axes, mode = w.read(op.in_), shape_of(op.out), op.axes, str(op.mode)
    before = shape_of(op.in_)
    if mode in ("NORM1", "AMAX"):
        x = w.op("aten.abs", [x], before)
    if mode == "NORM2":
        x = w.op("aten.mul.Tensor", [x, x], before)
    match mode:
        case "ADD" | "NORM1" | "NORM2":
            total = w.op("aten.sum.dim_IntList", [x, axes, True, None], shape)
            return [w.op("aten.sqrt", [total], shape) if mode == "NORM2" else total]
        case "AVG":
            return [w.op("aten.mean.dim", [x, axes, True, None], shape)]
        case "MAX" | "AMAX":
            return [w.op("aten.amax", [x, axes, True], shape)]
        case "MIN":
            return [w.op("aten.amin", [x, axes, True], shape)]
        case "MUL":
            for axis in axes:
                before[axis] = 1
                x = w.op("aten.prod.dim_int", [x, axis, True, None], before)
            return [x]
        case _:
            raise NoForm(f"torch has no reduction of mode '{mode}'")


def _convolution(
    w: Writer, op: hipdnn.ConvFpropOp | hipdnn.ConvDgradOp, x: ir.Value, shape: list[int]
) -> ir.Value:
    """A forward convolution, or a transposed one, which is a data gradient."""
    if list(op.pre_padding) != list(op.post_padding):
        raise NoForm("torch pads both sides alike")
    if op.conv_mode is not hipdnn.ConvMode.CROSS_CORRELATION:
        raise NoForm("torch does not flip filters")
    filters = shape_of(op.w)
    transposed = isinstance(op, hipdnn.ConvDgradOp)
    channels = shape[1] if transposed else shape_of(op.x)[1]
    extra = _output_padding(op, shape_of(x_of(op)), shape) if transposed else [0] * len(op.stride)
    operands = [w.read(x), w.read(op.w), None, list(op.stride), list(op.pre_padding)]
    rest = [list(op.dilation), transposed, extra, channels // filters[1]]
    return w.op("aten.convolution", [*operands, *rest], shape)


def x_of(op: hipdnn.ConvFpropOp | hipdnn.ConvDgradOp) -> ir.Value:
    """The tensor that slides under the filter."""
    return op.dy if isinstance(op, hipdnn.ConvDgradOp) else op.x


def _output_padding(op: hipdnn.ConvDgradOp, dy: Sequence[int], dx: Sequence[int]) -> list[int]:
    """What the windows of dy do not reach at the end of dx."""
    window = shape_of(op.w)[2:]
    return [
        dx[dim + 2]
        - ((dy[dim + 2] - 1) * op.stride[dim] - 2 * op.pre_padding[dim])
        - op.dilation[dim] * (window[dim] - 1)
        - 1
        for dim in range(len(window))
    ]


def _conv_fprop(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    assert isinstance(op, hipdnn.ConvFpropOp)
    return [_convolution(w, op, op.x, shape_of(op.y))]


def _conv_dgrad(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    assert isinstance(op, hipdnn.ConvDgradOp)
    return [_convolution(w, op, op.dy, shape_of(op.dx))]


def _conv_wgrad(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """The convolution of x with dy, batch and channels swapped, stride and dilation too."""
    assert isinstance(op, hipdnn.ConvWgradOp)
    x, dy, dw = shape_of(op.x), shape_of(op.dy), shape_of(op.dw)
    if x[1] != dw[1] or list(op.pre_padding) != list(op.post_padding):
        raise NoForm("a gradient of groups of filters, or with uneven padding")
    swapped = [
        w.op("aten.transpose.int", [w.read(value), 0, 1], [shape[1], shape[0], *shape[2:]])
        for value, shape in ((op.x, x), (op.dy, dy))
    ]
    reached = [
        x[dim + 2] + 2 * op.pre_padding[dim] - op.stride[dim] * (dy[dim + 2] - 1)
        for dim in range(len(op.stride))
    ]
    if any(
        (extent - 1) // step + 1 != size
        for extent, step, size in zip(reached, op.dilation, dw[2:], strict=True)
    ):
        raise NoForm("windows that do not reach the end")
    options = [list(op.dilation), list(op.pre_padding), list(op.stride), False, [0] * len(reached)]
    turned = w.op("aten.convolution", [*swapped, None, *options, 1], [dw[1], dw[0], *dw[2:]])
    return [w.op("aten.transpose.int", [turned, 0, 1], dw)]


def _batchnorm_inference(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """`(x - mean) · inverse · scale + bias`."""
    assert isinstance(op, hipdnn.BatchnormInferenceOp | hipdnn.BatchnormInferenceVarianceExtOp)
    if isinstance(op, hipdnn.BatchnormInferenceOp):
        inverse = w.read(op.inv_variance)
    else:
        inverse = _inverse_root(w, w.read(op.variance), shape_of(op.variance), op.epsilon)
    return [_affine(w, op.x, w.read(op.mean), inverse, op.scale, op.bias)]


def _inverse_root(w: Writer, x: ir.Value, shape: list[int], epsilon: ir.Value) -> ir.Value:
    shifted = w.op("aten.add.Scalar", [x, scalar_of(epsilon, 0.0), 1], shape)
    return w.op("aten.rsqrt", [shifted], shape)


def _affine(
    w: Writer,
    x: ir.Value,
    mean: ir.Value | None,
    inverse: ir.Value,
    scale: ir.Value,
    bias: ir.Value | None,
) -> ir.Value:
    shape, value = shape_of(x), w.read(x)
    if mean is not None:
        value = w.op("aten.sub.Tensor", [value, mean, 1], shape)
    for factor in (inverse, w.read(scale)):
        value = w.op("aten.mul.Tensor", [value, factor], shape)
    if bias is None:
        return value
    return w.op("aten.add.Tensor", [value, w.read(bias), 1], shape)


def _batchnorm(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """By the statistics of the batch."""
    assert isinstance(op, hipdnn.BatchnormOp)
    if op.peer_stats or op.next_running_mean is not None or op.next_running_variance is not None:
        raise NoForm("torch-mlir has no statistics of peers, and no running ones")
    shape = shape_of(op.x)
    dims = [dim for dim in range(len(shape)) if dim != 1]
    y, mean, inverse = _normalized(w, op, dims)
    return _present(op, {"y": y, "mean": mean, "inv_variance": inverse})


def _normalized(
    w: Writer, op: hipdnn.BatchnormOp | hipdnn.LayernormOp, dims: Sequence[int]
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Returns y, the mean and the inverse deviation over `dims`."""
    shape, x = shape_of(op.x), w.read(op.x)
    mean = _mean(w, x, shape, dims)
    centred = w.op("aten.sub.Tensor", [x, mean, 1], shape)
    square = w.op("aten.mul.Tensor", [centred, centred], shape)
    rows = [1 if dim in dims else extent for dim, extent in enumerate(shape)]
    inverse = _inverse_root(w, _mean(w, square, shape, dims), rows, op.epsilon)
    return _affine(w, op.x, mean, inverse, op.scale, op.bias), mean, inverse


def _mean(w: Writer, x: ir.Value, shape: Sequence[int], dims: Sequence[int]) -> ir.Value:
    rows = [1 if dim in dims else extent for dim, extent in enumerate(shape)]
    return w.op("aten.mean.dim", [x, list(dims), True, None], rows)


def _layernorm(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    assert isinstance(op, hipdnn.LayernormOp)
    y, mean, inverse = _normalized(w, op, op.dims)
    return _present(op, {"y": y, "mean": mean, "inv_variance": inverse})


def _rmsnorm(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    assert isinstance(op, hipdnn.RmsnormOp)
    shape, x = shape_of(op.x), w.read(op.x)
    square = w.op("aten.mul.Tensor", [x, x], shape)
    rows = [1 if dim in op.dims else extent for dim, extent in enumerate(shape)]
    inverse = _inverse_root(w, _mean(w, square, shape, op.dims), rows, op.epsilon)
    y = _affine(w, op.x, None, inverse, op.scale, op.bias)
    return _present(op, {"y": y, "inv_rms": inverse})


def _present(op: hipdnn.HipdnnOp, values: dict[str, ir.Value]) -> list[ir.Value]:
    """The values of the results that the op has."""
    return [values[field.name] for field in op.result_fields if op.result_values(field)]


def _sdpa(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """`softmax(scale · q · kᵀ + mask) · v`, with groups of heads as repeated ones."""
    assert isinstance(op, hipdnn.SdpaOp)
    _check_plain(op)
    q, scores = shape_of(op.q), op.scores_shape
    k, v = (_repeated(w, value, q[1]) for value in (op.k, op.v))
    turned = [*q[:2], q[3], scores[3]]
    transposed = w.op("aten.transpose.int", [k, 2, 3], turned)
    x = w.op("aten.matmul", [w.read(op.q), transposed], scores)
    x = w.op("aten.mul.Scalar", [x, 1.0 if op.attn_scale_value is None else op.attn_scale_value],
             scores)  # fmt: skip
    if op.attn_mask is not None:
        x = w.op("aten.add.Tensor", [x, w.read(op.attn_mask), 1], scores)
    weights = w.op("aten.softmax.int", [x, 3, None], scores)
    return [w.op("aten.matmul", [weights, v], shape_of(op.o))]


def _check_plain(op: hipdnn.SdpaOp) -> None:
    plain = {"q", "k", "v", "attn_mask", "o"}
    fields = [f.name for f in op.operand_fields if op.operand_values(f)]
    fields += [f.name for f in op.result_fields if op.result_values(f)]
    bounds = [bound for bound in (op.left_bound, op.right_bound) if bound is not None]
    if set(fields) - plain or op.is_causal or op.alibi_mask or any(bound >= 0 for bound in bounds):
        raise NoForm("torch's attention has no such mask, statistics or scale")


def _repeated(w: Writer, value: ir.Value, heads: int) -> ir.Value:
    batch, own, rows, columns = shape_of(value)
    x = w.read(value)
    if own == heads:
        return x
    groups = [batch, own, heads // own, rows, columns]
    x = w.op("aten.expand", [w.view(x, [batch, own, 1, rows, columns]), groups, False], groups)
    return w.view(x, [batch, heads, rows, columns])


def _resample(w: Writer, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    assert isinstance(op, hipdnn.ResampleFwdOp)
    rank, mode = len(op.window), str(op.resample_mode)
    if list(op.pre_padding) != list(op.post_padding) or op.generate_index:
        raise NoForm("torch pads both sides alike")
    window = [w.read(op.x), list(op.window), list(op.stride), list(op.pre_padding)]
    if mode == "MAXPOOL" and op.padding_mode is hipdnn.PaddingMode.NEG_INF_PAD:
        return [w.op(f"aten.max_pool{rank}d", [*window, [1] * rank, False], shape_of(op.y))]
    if mode.startswith("AVGPOOL"):
        counts = mode == "AVGPOOL_INCLUDE_PADDING"
        options = [False, counts] if rank == 1 else [False, counts, None]
        return [w.op(f"aten.avg_pool{rank}d", [*window, *options], shape_of(op.y))]
    raise NoForm(f"torch has no pooling of mode '{mode}' with padding '{op.padding_mode}'")


FORMS: dict[str, Form] = {
    "hipdnn.pointwise": pointwise,
    "hipdnn.matmul": _matmul,
    "hipdnn.reduction": _reduction,
    "hipdnn.conv_fprop": _conv_fprop,
    "hipdnn.conv_dgrad": _conv_dgrad,
    "hipdnn.conv_wgrad": _conv_wgrad,
    "hipdnn.batchnorm": _batchnorm,
    "hipdnn.batchnorm_inference": _batchnorm_inference,
    "hipdnn.batchnorm_inference_variance_ext": _batchnorm_inference,
    "hipdnn.layernorm": _layernorm,
    "hipdnn.rmsnorm": _rmsnorm,
    "hipdnn.sdpa": _sdpa,
    "hipdnn.resample_fwd": _resample,
}
"""Torch forms by the name of the hipDNN op."""
