"""Lowers pooling and interpolation: windows reduce to a maximum, a mean or middle elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import product

from hipgraft.codegen.lowering.context import Lowering, float_compute_type, lowers
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import padded
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.emit.windows import Combine, Window, extended, reduce_windows
from hipgraft.dialects.hipdnn import PaddingMode, ResampleBwdOp, ResampleFwdOp, ResampleMode
from hipgraft.ir.tensors import element_of, shape_of

# The number of middle elements of a window that count, per dim.
_INTERPOLATED = {ResampleMode.NEAREST: 1, ResampleMode.BILINEAR: 2}

# The most elements of a window that is unrolled; larger windows are loops.
_READS = 16

_PADDING = -1  # marks a position in the padding


@lowers(ResampleFwdOp)
def lower_resample_fwd(op: ResampleFwdOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns y, and the positions of the maxima if the op has them as a result."""
    emitter, window = lowering.emitter, window_of(op)
    if op.only_pads:
        x = emitter.cast(lowering.in_own_type(op.x), element_of(op.y))
        x = emitter.in_order(x, lowering.orders.get(op.y, range(x.rank)))
        return [padded(emitter, x, window.before, window.after)]
    x = emitter.logical(lowering.tensor(op.x))
    compute, shape = float_compute_type(op, x.element), shape_of(op.y)
    if _reads_at_edges(op, window):
        return [emitter.cast(_largest(emitter, x, window, shape, compute), element_of(op.y))]
    source = _with_padding(emitter, op, x, window)
    if op.resample_mode is not ResampleMode.MAXPOOL:
        init = emitter.filled(Tensor.logical("", shape, compute), 0)
        total = reduce_windows(emitter, [source], window, [init], compute, add_up)[0]
        return [mean(emitter, op, total, x.shape, element_of(op.y))]
    inits = [emitter.filled(Tensor.logical("", shape, compute), -math.inf)]
    combine = _larger
    if op.index is not None:
        inits.append(emitter.filled(Tensor.logical("", shape, "i32"), _PADDING))
        combine = _larger_and_its_position(window, x.shape)
    results = reduce_windows(emitter, [source], window, inits, compute, combine)
    types = [element_of(value) for value in (op.y, op.index) if value is not None]
    return [emitter.cast(value, type_) for value, type_ in zip(results, types, strict=True)]


def _reads_at_edges(op: ResampleFwdOp, window: Window) -> bool:
    """Whether an element at the edge may replace the padding next to it.

    This does not change a maximum if each window contains the element at the edge. A maximum that
    several ops read is a reduction instead, with which IREE fuses them.
    """
    pads = zip(window.before, window.after, window.size, strict=True)
    reached = all(max(before, after) < size for before, after, size in pads)
    is_padded = max(*window.before, *window.after) > 0
    is_plain = op.resample_mode is ResampleMode.MAXPOOL and op.index is None
    is_plain &= len(list(op.y.uses)) == 1
    lowest = op.padding_mode in (PaddingMode.NEG_INF_PAD, PaddingMode.EDGE_VAL_PAD)
    return is_plain and lowest and is_padded and reached and math.prod(window.size) <= _READS


def _largest(
    emitter: Emitter, x: Tensor, window: Window, shape: Sequence[int], compute: str
) -> Tensor:
    """Emits the maxima of windows; unrolled code reads each element of a window.

    IREE masks padding at each read, or copies the padded operand in a launch of its own; either
    costs three times as much.
    """

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, compute)
        along = [
            [_clamped(scalars, window, dim, step, extent) for step in range(window.size[dim])]
            for dim, extent in enumerate(x.shape[2:])
        ]
        image = (scalars.index(0), scalars.index(1))
        elements = (scalars.element(x, *image, *indices) for indices in product(*along))
        return [
            reduce(
                lambda a, b: m.pick("gt", a, b), (scalars.cast(each, compute) for each in elements)
            )
        ]

    init = emitter.empty(Tensor.logical("", shape, compute))
    return emitter.generic("pool", [], [init], body, shape=shape)[0]


def _clamped(scalars: ScalarEmitter, window: Window, dim: int, step: int, extent: int) -> Scalar:
    """Emits the index of one of the window's elements, clamped to the operand."""
    index = scalars.op("arith.addi", _index(scalars, window, dim), scalars.constant(step, "index"))
    if step < window.before[dim]:
        index = scalars.op("arith.maxsi", index, scalars.constant(0, "index"))
    if window.size[dim] - step <= window.after[dim]:
        index = scalars.op("arith.minsi", index, scalars.constant(extent - 1, "index"))
    return index


def window_of(op: ResampleFwdOp | ResampleBwdOp) -> Window:
    """Returns the window, reduced to the elements that count."""
    fields = (op.window, op.stride, op.pre_padding, op.post_padding)
    window = Window(*(tuple(values) for values in fields))
    widest = _INTERPOLATED.get(op.resample_mode)
    return window if widest is None else window.middle(widest)


def _with_padding(emitter: Emitter, op: ResampleFwdOp, x: Tensor, window: Window) -> Tensor:
    excluded = op.resample_mode is ResampleMode.AVGPOOL_EXCLUDE_PADDING
    if op.padding_mode is PaddingMode.EDGE_VAL_PAD and not excluded:
        return extended(emitter, x, window)
    lowest = op.padding_mode is PaddingMode.NEG_INF_PAD and not excluded
    return padded(emitter, x, window.before, window.after, -math.inf if lowest else 0)


def mean(
    emitter: Emitter,
    op: ResampleFwdOp | ResampleBwdOp,
    total: Tensor,
    x: Sequence[int],
    element: str,
) -> Tensor:
    """Divides by the number of counted elements in each window.

    Args:
        emitter: emitter that receives the ops.
        op: the op, whose mode decides which elements count.
        total: one element for each window.
        x: shape of the tensor that the windows slide over.
        element: type of the result.
    """
    window = window_of(op)

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, total.element)
        if op.resample_mode is ResampleMode.AVGPOOL_EXCLUDE_PADDING:
            count = scalars.cast(scalars.cast(_count(scalars, window, x), "i64"), m.type)
        else:
            count = m.constant(math.prod(window.size))
        return [scalars.cast(m.div(scalars.cast(arguments[0], m.type), count), element)]

    return emitter.pointwise("mean", [total], total.shape, element, body)


def _count(scalars: ScalarEmitter, window: Window, x: Sequence[int]) -> Scalar:
    """Emits the number of elements of the current window that are not padding."""
    count = scalars.constant(1, "index")
    zero = scalars.constant(0, "index")
    for dim, extent in enumerate(x[2:]):
        first = _index(scalars, window, dim)
        last = scalars.op("arith.addi", first, scalars.constant(window.size[dim], "index"))
        end = scalars.op("arith.minsi", last, scalars.constant(extent, "index"))
        start = scalars.op("arith.maxsi", first, zero)
        count = scalars.op("arith.muli", count, scalars.op("arith.subi", end, start))
    return count


def row_major_position(
    scalars: ScalarEmitter, indices: Sequence[Scalar], extents: Sequence[int]
) -> Scalar:
    """Emits the row-major position of an element, as `i32`, from its index in each dim."""
    position = scalars.constant(0, "index")
    for index, extent in zip(indices, extents, strict=True):
        position = scalars.op("arith.muli", position, scalars.constant(extent, "index"))
        position = scalars.op("arith.addi", position, index)
    return scalars.cast(position, "i32")


def _index(scalars: ScalarEmitter, window: Window, dim: int) -> Scalar:
    """Emits the index in the unpadded dim at which the current window starts."""
    step = scalars.constant(window.stride[dim], "index")
    index = scalars.op("arith.muli", scalars.index(dim + 2), step)
    return scalars.op("arith.subi", index, scalars.constant(window.before[dim], "index"))


def add_up(m: Arithmetic, totals: list[Scalar], values: list[Scalar]) -> list[Scalar]:
    """Emits the total with the element of the first operand."""
    return [m.add(totals[0], m.scalars.cast(values[0], m.type))]


def _larger(m: Arithmetic, totals: list[Scalar], values: list[Scalar]) -> list[Scalar]:
    return [m.pick("gt", totals[0], m.scalars.cast(values[0], m.type))]


def _larger_and_its_position(window: Window, shape: Sequence[int]) -> Combine:
    """Returns a function that finds the first maximum and prefers elements over padding."""

    def combine(m: Arithmetic, totals: list[Scalar], values: list[Scalar]) -> list[Scalar]:
        scalars, (largest, found) = m.scalars, totals
        value = scalars.cast(values[0], m.type)
        position, inside = _position(scalars, window, shape)
        padding = scalars.constant(_PADDING, "i32")
        # The value is greater or NaN, and the largest is not NaN yet.
        greater = scalars.op("arith.cmpf ugt,", value, largest, result="i1")
        is_number = scalars.compare("eq", largest, largest)
        greater = scalars.op("arith.andi", greater, is_number)
        instead = scalars.op("arith.andi", scalars.compare("eq", found, padding), inside)
        instead = scalars.op("arith.andi", instead, scalars.compare("eq", value, largest))
        taken = scalars.op("arith.ori", greater, instead)
        index = scalars.select(inside, position, padding)
        return [scalars.select(taken, value, largest), scalars.select(taken, index, found)]

    return combine


def _position(
    scalars: ScalarEmitter, window: Window, shape: Sequence[int]
) -> tuple[Scalar, Scalar]:
    """Emits the row-major position of the current element, and whether it is not padding."""
    spatial = len(window.size)
    indices: list[Scalar] = []
    inside = scalars.constant(1, "i1")
    for dim, extent in enumerate(shape[2:]):
        step = scalars.index(2 + spatial + dim)
        indices.append(scalars.op("arith.addi", _index(scalars, window, dim), step))
        size = scalars.constant(extent, "index")
        # The unsigned comparison also rejects negative indices.
        fits = scalars.op("arith.cmpi ult,", indices[-1], size, result="i1")
        inside = scalars.op("arith.andi", inside, fits)
    return row_major_position(scalars, indices, shape[2:]), inside
