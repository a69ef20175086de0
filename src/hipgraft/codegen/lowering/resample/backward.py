"""Lowers the gradient of pooling and interpolation.

The gradient of each element of `x` is the sum over the windows that contain it: elements of `dy`
are spread to the distance of their windows, surrounded by zeros, and summed over a window that
slides by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.context import Lowering, float_compute_type, lowers, unsupported
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.emit.windows import Combine, Window, reduce_windows, spread
from hipgraft.codegen.lowering.resample.resample import add_up, mean, row_major_position, window_of
from hipgraft.dialects.hipdnn import PaddingMode, ResampleBwdOp, ResampleMode
from hipgraft.ir.tensors import element_of, shape_of


@lowers(ResampleBwdOp)
def lower_resample_bwd(op: ResampleBwdOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns the gradient of `x`."""
    _check_padding(op)
    emitter, shape = lowering.emitter, shape_of(op.dx)
    dy = emitter.logical(lowering.tensor(op.dy))
    compute = float_compute_type(op, dy.element)
    window = window_of(op)
    low, high = _surroundings(window, shape, dy.shape)
    if op.index is None:
        operands, combine = [mean(emitter, op, emitter.cast(dy, compute), shape, compute)], add_up
    else:
        index = emitter.cast(emitter.logical(lowering.tensor(op.index)), "i32")
        operands, combine = [dy, index], _add_maximum(shape)
    # An index of -1 matches no position.
    dilated = [
        spread(emitter, operand, op.stride, low, high, value)
        for operand, value in zip(operands, (0, -1), strict=False)
    ]
    ones = (1,) * len(window.size)
    init = emitter.filled(Tensor.logical("", shape, compute), 0)
    steps = replace(window, stride=ones)
    dx = reduce_windows(emitter, dilated, steps, [init], compute, combine)[0]
    return [emitter.cast(dx, element_of(op.dx))]


def _surroundings(
    window: Window, x: Sequence[int], dy: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Returns the padding before and after `dy` that gives each element of `x` one window of it."""
    dims = range(len(window.size))
    low = [window.size[dim] - 1 - window.before[dim] for dim in dims]
    spans = [(dy[dim + 2] - 1) * window.stride[dim] + 1 for dim in dims]
    return low, [x[dim + 2] + window.before[dim] - spans[dim] for dim in dims]


def _add_maximum(shape: Sequence[int]) -> Combine:
    """Returns a function that adds the gradient of a maximum if it was at the current position."""

    def combine(m: Arithmetic, totals: list[Scalar], values: list[Scalar]) -> list[Scalar]:
        scalars = m.scalars
        indices = [scalars.index(dim) for dim in range(2, len(shape))]
        position = row_major_position(scalars, indices, shape[2:])
        is_here = scalars.compare("eq", values[1], position)
        gradient = scalars.cast(values[0], m.type)
        return [m.add(totals[0], scalars.select(is_here, gradient, m.constant(0)))]

    return combine


def _check_padding(op: ResampleBwdOp) -> None:
    padded = any(op.pre_padding) or any(op.post_padding)
    counts = op.resample_mode not in (
        ResampleMode.MAXPOOL,
        ResampleMode.AVGPOOL_EXCLUDE_PADDING,
    )
    if padded and counts and op.padding_mode is PaddingMode.EDGE_VAL_PAD:
        raise unsupported(op, f"with padding '{op.padding_mode}'")
