"""Rewrites reductions over axes known only at run time or over no elements, and cumulative ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from onnx import TensorProto, helper

from hipgraft.frontends.onnx.legalization.writer import (
    FLOATS,
    Refused,
    Rewrite,
    Writer,
    axis_of,
)
from hipgraft.ir.diagnostics import Declined

_MOST_CHOICES = 16
_EMPTY = {
    "ReduceL1": 0.0, "ReduceL2": 0.0, "ReduceLogSum": -math.inf, "ReduceLogSumExp": -math.inf,
    "ReduceMax": -math.inf, "ReduceMin": math.inf, "ReduceProd": 1.0, "ReduceSum": 0.0,
    "ReduceSumSquare": 0.0,
}  # fmt: skip
"""The results of reductions over no elements."""


_OF_ONE = {"ReduceL2": "Abs", "ReduceLogSum": "Log", "ReduceLogSumExp": "Identity"}
"""What reductions of single elements compute, and those over no axes."""


def _reduction(writer: Writer) -> None:
    """Rewrites the operator on `(x, axes)`; in older opsets the axes are an attribute."""
    x = writer.node.input[0]
    extents = writer.extents(x)
    if 0 in extents:
        _reduce_nothing(writer)
        return
    if not writer.has_input(1) or writer.node.input[1] in writer.graph.constants:
        _reduce_known_axes(writer, extents)
        return
    shape = writer.shape(x)
    choices = _choices(writer, shape)
    keeps = bool(writer.attribute("keepdims", 1))
    if len({_result_shape(shape, axes, keeps=keeps) for axes in choices}) > 1:
        raise Refused("over axes that are inputs is not supported")
    if len(choices) == 1:
        writer.result(_reduced(writer, choices[0]))
        return
    if len(choices) > _MOST_CHOICES:
        raise Refused("over axes that are inputs is not supported")
    _select(writer, [_reduced(writer, axes) for axes in choices], choices, len(shape))


def _reduce_known_axes(writer: Writer, shape: Sequence[int | None]) -> None:
    """Removes duplicate axes, because torch-mlir's mean divides by the extent of each listed axis.

    torch-mlir also aborts at some reductions over axes of extent 1, which are elementwise.
    """
    given = writer.ints(1) if writer.has_input(1) else writer.attribute("axes", ())
    axes = sorted({int(axis) % len(shape) for axis in given}) if shape else []
    is_whole = not axes and not writer.attribute("noop_with_empty_axes", 0)
    reduced = range(len(shape)) if is_whole else axes
    elementwise = _OF_ONE.get(writer.node.op_type)
    if elementwise and all(shape[axis] == 1 for axis in reduced):
        x, element = writer.node.input[0], writer.element(writer.node.input[0])
        # Logarithms of integers are truncated to whole numbers.
        wide = x if element in FLOATS else writer.cast(x, TensorProto.DOUBLE)
        y = writer.op(elementwise, wide)
        x = y if element in FLOATS else writer.cast(y, element)
        dropped = [] if writer.attribute("keepdims", 1) else list(reduced)
        writer.result(writer.squeeze(x, dropped) if dropped else x)
        return
    if writer.node.op_type == "ReduceLogSumExp":
        _log_sum_exp(writer, list(reduced))
        return
    if not axes or len(axes) == len(given):
        raise Declined("supported", "its axes are known")
    writer.result(_reduced(writer, axes))


def _log_sum_exp(writer: Writer, axes: Sequence[int]) -> None:
    """Subtracts the maximum where it is finite, so that no exponential overflows."""
    x, element = writer.node.input[0], writer.element(writer.node.input[0])
    if element not in FLOATS:
        raise Declined("supported", "integers are converted to wide floats")
    peak = writer.reduce("ReduceMax", x, axes)
    infinity, zero = (writer.like(one, element) for one in (math.inf, 0.0))
    is_infinite = writer.op("Equal", writer.op("Abs", peak), infinity)
    base = writer.op("Where", is_infinite, zero, peak)
    total = writer.reduce("ReduceSum", writer.op("Exp", writer.op("Sub", x, base)), axes)
    result = writer.op("Add", writer.op("Log", total), base)
    keeps = writer.attribute("keepdims", 1)
    writer.result(result if keeps else writer.squeeze(result, axes))


def _choices(writer: Writer, shape: Sequence[int]) -> list[tuple[int, ...]]:
    """Returns the sets of axes that the shapes of operand and result permit."""
    keeps = bool(writer.attribute("keepdims", 1))
    wanted = writer.graph.shapes.get(writer.node.output[0])
    counts = _counts(writer, len(shape))
    found: list[tuple[int, ...]] = []
    for count in counts:
        for axes in itertools.combinations(range(len(shape)), count):
            if wanted is None or _result_shape(shape, axes, keeps=keeps) == tuple(wanted):
                found.append(axes)
    if not found:
        raise Refused("whose result has no possible shape is invalid")
    return found


def _result_shape(shape: Sequence[int], axes: Sequence[int], *, keeps: bool) -> tuple[int, ...]:
    return tuple(1 if d in axes else n for d, n in enumerate(shape) if keeps or d not in axes)


def _counts(writer: Writer, rank: int) -> Sequence[int]:
    """Returns the possible numbers of axes; no axes means all, unless an attribute forbids it."""
    shape = writer.graph.shapes.get(writer.node.input[1])
    if shape is None:
        return range(0 if writer.attribute("noop_with_empty_axes", 0) else 1, rank + 1)
    if shape[0] == 0:
        return [0] if writer.attribute("noop_with_empty_axes", 0) else [rank]
    return [shape[0]]


def _reduced(writer: Writer, axes: Sequence[int]) -> str:
    x = writer.node.input[0]
    if not axes:  # an operator that does nothing
        return x
    keeps = bool(writer.attribute("keepdims", 1))
    return writer.reduce(writer.node.op_type, x, axes, keepdims=keeps)


def _select(
    writer: Writer, values: Sequence[str], choices: Sequence[tuple[int, ...]], rank: int
) -> None:
    """Selects the value for the given axes, which a number with one bit per axis encodes."""
    if not writer.graph.shapes.get(writer.node.input[1]):
        raise Refused("over a number of axes that is not known is not supported")
    given = non_negative(writer, writer.node.input[1], rank)
    powers = writer.const(np.array([1 << axis for axis in range(rank)], np.int64))
    bits = writer.op("Gather", powers, given)
    code = writer.reduce("ReduceSum", bits, [0], keepdims=False)
    result = values[0]
    for value, axes in zip(values[1:], choices[1:], strict=True):
        is_this = writer.op("Equal", code, writer.like_int(sum(1 << axis for axis in axes)))
        result = writer.op("Where", is_this, value, result)
    writer.result(result)


def non_negative(writer: Writer, axes: str, extent: int) -> str:
    """Writes indices that count from the front; negative ones count from the end."""
    wide = writer.cast(axes, TensorProto.INT64)
    below = writer.op("Less", wide, writer.like_int(0))
    return writer.op("Where", below, writer.op("Add", wide, writer.like_int(extent)), wide)


def _reduce_nothing(writer: Writer) -> None:
    """Reduces a tensor without elements: the result is empty, or repeats a single value."""
    shape = writer.needed_shape(writer.node.output[0], "of no elements")
    op_type, element = writer.node.op_type, writer.element(writer.node.output[0])
    dtype = helper.tensor_dtype_to_np_dtype(element)
    value: float | int = _EMPTY.get(op_type, math.nan)
    if dtype.kind == "b":
        value = int(op_type == "ReduceMin")
    elif dtype.kind not in "fV" and not math.isfinite(value):
        info = np.iinfo(dtype)
        value = int(info.min if op_type == "ReduceMax" else info.max)
        if op_type not in ("ReduceMax", "ReduceMin"):
            raise Refused("of no elements is not supported for integers")
    writer.result(writer.const(np.full(shape, value, dtype)))


def _cumulative(step: Callable[[Writer, str, int], str]) -> Rewrite:
    """Returns a rewrite of sums or products along an axis, which may be known at run time only."""

    def rewrite(writer: Writer) -> None:
        x, axis = writer.node.input
        shape = writer.shape(x)
        if axis in writer.graph.constants:
            if writer.node.op_type == "CumSum":
                raise Declined("supported", "it is lowered rightly")
            axes = [int(writer.constant(axis).reshape(-1)[0]) % len(shape)]
        else:
            axes = list(range(len(shape)))
        values = [step(writer, x, one) for one in axes]
        result = values[0]
        given = writer.reshape(axis, []) if len(axes) > 1 else ""
        given = non_negative(writer, given, len(shape)) if given else ""
        for one, value in zip(axes[1:], values[1:], strict=True):
            is_this = writer.op("Equal", given, writer.like_int(one))
            result = writer.op("Where", is_this, value, result)
        writer.result(result)

    return rewrite


def _sums(writer: Writer, x: str, axis: int) -> str:
    flags = {name: writer.attribute(name, 0) for name in ("exclusive", "reverse")}
    return writer.op("CumSum", x, writer.like_int(axis), **flags)


def _products(writer: Writer, x: str, axis: int) -> str:
    """Writes cumulative products in steps that double the number of factors."""
    shape = writer.shape(x)
    extent, element = shape[axis], writer.element(x)
    backward = bool(writer.attribute("reverse", 0))
    one = writer.like(1, element)
    if writer.attribute("exclusive", 0):
        x = _moved(writer, x, axis, extent, 1, one, backward=backward, rank=len(shape))
    distance = 1
    while distance < extent:
        moved = _moved(writer, x, axis, extent, distance, one, backward=backward, rank=len(shape))
        x = writer.op("Mul", x, moved)
        distance *= 2
    return x


def _moved(
    writer: Writer,
    x: str,
    axis: int,
    extent: int,
    distance: int,
    fill: str,
    *,
    backward: bool,
    rank: int,
) -> str:
    """Shifts elements along an axis and fills the gap."""
    bounds = (distance, extent) if backward else (0, extent - distance)
    part = writer.slice(x, axis, *bounds)
    none = [0] * rank
    some = [distance if dim == axis else 0 for dim in range(rank)]
    before, after = (none, some) if backward else (some, none)
    return writer.pad(part, before, after, fill)


def _extreme_index(writer: Writer) -> None:
    """Finds the last of equal extremes as the first one of the reversed tensor."""
    x = writer.node.input[0]
    shape = writer.shape(x)
    if not writer.attribute("select_last_index", 0):
        raise Declined("supported", "it is lowered rightly")
    axis = axis_of(writer, 0, len(shape))
    reverse = writer.take(x, axis, np.arange(shape[axis])[::-1])
    keeps = writer.attribute("keepdims", 1)
    first = writer.op(writer.node.op_type, reverse, axis=axis, keepdims=keeps)
    writer.result(writer.op("Sub", writer.like_int(shape[axis] - 1), first))


REDUCTIONS: dict[str, Rewrite] = {
    **dict.fromkeys((*_EMPTY, "ReduceMean"), _reduction),
    **dict.fromkeys(("ArgMax", "ArgMin"), _extreme_index),
    "CumProd": _cumulative(_products),
    "CumSum": _cumulative(_sums),
}
"""The rewrites, by operator."""
