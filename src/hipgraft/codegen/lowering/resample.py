"""Pooling: windows reduced to their maximum or their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.arithmetic import Arithmetic
from hipgraft.codegen.lowering.context import (
    Lowering,
    element_of,
    float_compute_type,
    lowers,
    shape_of,
)
from hipgraft.codegen.lowering.convolution import padded
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.diagnostics import CodegenError, location_text
from hipgraft.dialects.hipdnn import PaddingMode, ResampleFwdOp, ResampleMode

_POOLING = (
    ResampleMode.MAXPOOL,
    ResampleMode.AVGPOOL_INCLUDE_PADDING,
    ResampleMode.AVGPOOL_EXCLUDE_PADDING,
)


@lowers(ResampleFwdOp)
def lower_resample_fwd(op: ResampleFwdOp, lowering: Lowering) -> Sequence[Tensor]:
    """Reduces each window; a mean divides by the number of elements that count."""
    _check(op)
    emitter, x = lowering.emitter, lowering.tensor(op.x)
    compute = float_compute_type(op, x.element)
    pooled = _pool(emitter, op, emitter.logical(x), compute)
    if op.resample_mode is ResampleMode.MAXPOOL:
        return [emitter.cast(pooled, element_of(op.y))]
    return [_mean(emitter, op, pooled, x.shape, element_of(op.y))]


def _pool(emitter: Emitter, op: ResampleFwdOp, x: Tensor, compute: str) -> Tensor:
    is_max = op.resample_mode is ResampleMode.MAXPOOL
    outside = -math.inf if op.padding_mode is PaddingMode.NEG_INF_PAD else 0
    # Padding adds nothing to a sum, whether or not it counts.
    x = padded(emitter, x, op.pre_padding, op.post_padding, outside if is_max else 0)
    init = emitter.filled(Tensor.logical("", shape_of(op.y), compute), -math.inf if is_max else 0)
    # Only the extents of this operand matter: they bound the loops over the window.
    window = emitter.empty(Tensor.logical("", op.window, compute))

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, compute)
        value, total = scalars.cast(arguments[0], compute), arguments[2]
        return [m.maximum(total, value) if is_max else m.add(total, value)]

    maps, kinds = _window_loops(op.stride)
    return emitter.mapped("pool", [x, window], [init], body, maps, kinds)[0]


def _window_loops(stride: Sequence[int]) -> tuple[list[str], list[str]]:
    """Maps of loops (n, c, out..., window...) to x, the window and y; their kinds."""
    out = [f"o{dim}" for dim in range(len(stride))]
    window = [f"r{dim}" for dim in range(len(stride))]
    read = [f"{o} * {step} + {r}" for o, r, step in zip(out, window, stride, strict=True)]
    loops = ", ".join(["n", "c", *out, *window])
    results = (["n", "c", *read], window, ["n", "c", *out])
    maps = [f"affine_map<({loops}) -> ({', '.join(result)})>" for result in results]
    return maps, ["parallel"] * (2 + len(out)) + ["reduction"] * len(window)


def _mean(
    emitter: Emitter, op: ResampleFwdOp, total: Tensor, x: Sequence[int], element: str
) -> Tensor:
    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, total.element)
        if op.resample_mode is ResampleMode.AVGPOOL_INCLUDE_PADDING:
            count = m.constant(math.prod(op.window))
        else:
            count = scalars.cast(scalars.cast(_count(scalars, op, x), "i64"), m.type)
        return [scalars.cast(m.div(arguments[0], count), element)]

    return emitter.pointwise("mean", [total], total.shape, element, body)


def _count(scalars: ScalarEmitter, op: ResampleFwdOp, x: Sequence[int]) -> Scalar:
    """Emits the number of elements of the window at hand that are not padding."""
    count = scalars.constant(1, "index")
    zero = scalars.constant(0, "index")
    for dim, extent in enumerate(x[2:]):
        step = scalars.constant(op.stride[dim], "index")
        place = scalars.op("arith.muli", scalars.index(dim + 2), step)
        pad = scalars.constant(op.pre_padding[dim], "index")
        first = scalars.op("arith.subi", place, pad)
        last = scalars.op("arith.addi", first, scalars.constant(op.window[dim], "index"))
        end = scalars.op("arith.minsi", last, scalars.constant(extent, "index"))
        start = scalars.op("arith.maxsi", first, zero)
        count = scalars.op("arith.muli", count, scalars.op("arith.subi", end, start))
    return count


def _check(op: ResampleFwdOp) -> None:
    """Raises what has no lowering."""
    reason = None
    if op.resample_mode not in _POOLING:
        reason = f"in mode '{op.resample_mode}'"
    elif op.generate_index:
        reason = "with positions of the maxima"
    elif op.padding_mode is PaddingMode.EDGE_VAL_PAD:
        reason = f"with padding '{op.padding_mode}'"
    if reason is not None:
        where = location_text(op.operation.location)
        raise CodegenError(f"'{op.OP_NAME}' op {reason} has no lowering", location=where)
