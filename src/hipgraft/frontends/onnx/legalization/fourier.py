"""Rewrites Fourier transforms as products with tables of cosines and sines."""

from __future__ import annotations

import math

import numpy as np
from onnx import helper

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined

_MOST_ELEMENTS = 1 << 24  # a table of 64 MiB in f32
_AXIS_IS_AN_INPUT = 20  # since this opset


def _dft(writer: Writer) -> None:
    """`(x, dft_length, axis)`, x of shape [..., 1 or 2] with real or complex elements."""
    x = writer.node.input[0]
    shape = writer.needed_shape(x, "of this form")
    result = writer.graph.shapes.get(writer.node.output[0])
    axis = _axis(writer, len(shape))
    inverse, onesided = (bool(writer.attribute(name, 0)) for name in ("inverse", "onesided"))
    parts = shape[-1]
    count = _length(writer, axis, result, onesided=onesided)
    if count is None:
        count = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
    bins = count // 2 + 1
    taken = min(shape[axis], bins if inverse and onesided else count)
    table = _table(writer, count, taken, inverse=inverse)
    if onesided and inverse:
        weights = np.where((np.arange(taken) % count == 0) | (2 * np.arange(taken) == count), 1, 2)
        table = table[..., :1] * weights[:, None, None, None]
    elif onesided:
        table = table[:, :, :bins]
    x = writer.slice(x, axis, 0, taken) if taken < shape[axis] else x
    writer.result(_transformed(writer, x, shape, axis, table[:, :parts]))


def _axis(writer: Writer, rank: int) -> int:
    if writer.graph.opset < _AXIS_IS_AN_INPUT:
        return int(writer.attribute("axis", 1)) % rank
    if not writer.has_input(2):
        return rank - 2
    if writer.node.input[2] not in writer.graph.constants:
        raise Refused("along an axis that is an input is not supported")
    return writer.ints(2)[0] % rank


def _length(writer: Writer, axis: int, result: list[int] | None, *, onesided: bool) -> int | None:
    """Returns the number of points; None if it is the tensor's extent."""
    if not writer.has_input(1):
        return None
    if writer.node.input[1] in writer.graph.constants:
        return writer.ints(1)[0]
    if result is None or (onesided and not writer.attribute("inverse", 0)):
        raise Refused("of a length that is an input is not supported")
    return result[axis]


def _table(writer: Writer, count: int, taken: int, *, inverse: bool) -> Array:
    """Returns factors `[taken, 2, count, 2]`: parts of an element times parts of a result."""
    if 4 * count * taken > _MOST_ELEMENTS:
        raise Declined("large", "its table would be too large")
    # Reducing integers first avoids the rounding of large angles.
    turns = np.outer(np.arange(taken), np.arange(count)) % max(count, 1)
    angles = turns * (2 * math.pi / max(count, 1))
    cosines, sines = np.cos(angles), np.sin(angles) * (1 if inverse else -1)
    table = np.stack([np.stack([cosines, sines], -1), np.stack([-sines, cosines], -1)], 1)
    return table / count if inverse else table


def _transformed(writer: Writer, x: str, shape: list[int], axis: int, table: Array) -> str:
    """Multiplies `x`, cropped to the table's extent, by the table, in the order of `x`."""
    taken, parts, bins, made = table.shape
    rank = len(shape)
    order = [*(n for n in range(rank - 1) if n != axis), axis, rank - 1]
    outer = [shape[n] for n in order[:-2]]
    dtype = helper.tensor_dtype_to_np_dtype(writer.element(writer.node.input[0]))
    factors = writer.const(table.reshape(taken * parts, bins * made).astype(dtype))
    rows = writer.reshape(writer.transpose(x, order), [math.prod(outer), taken * parts])
    y = writer.reshape(writer.op("MatMul", rows, factors), [*outer, bins, made])
    return writer.transpose(y, [order.index(n) for n in range(rank)])


def _stft(writer: Writer) -> None:
    """`(signal, frame_step, window, frame_length)`: transforms of frames, which are gathered."""
    signal = writer.node.input[0]
    shape = writer.needed_shape(signal, "of this form")
    parts = shape[2] if len(shape) == 3 else 1
    count = _frame_length(writer)
    step = _frame_step(writer, shape[1] - count)
    frames = (shape[1] - count) // step + 1
    table = _table(writer, count, count, inverse=False)
    if writer.attribute("onesided", 1):
        table = table[:, :, : count // 2 + 1]
    x = writer.reshape(signal, [shape[0], shape[1], parts])
    places = np.arange(frames)[:, None] * step + np.arange(count)
    rows = writer.op("Gather", x, writer.const(places), axis=1)
    if writer.has_input(2):
        window = writer.reshape(writer.node.input[2], [count, 1])
        rows = writer.op("Mul", rows, window)
    whole = [shape[0], frames, count, parts]
    writer.result(_transformed(writer, rows, whole, 2, table[:, :parts]))


def _frame_length(writer: Writer) -> int:
    if writer.has_input(3) and writer.node.input[3] in writer.graph.constants:
        return writer.ints(3)[0]
    if writer.has_input(2):
        return writer.needed_shape(writer.node.input[2], "of a length that is an input")[0]
    raise Refused("of a length that is an input is not supported")


def _frame_step(writer: Writer, last: int) -> int:
    """Returns the step; if it is an input, it may follow from the number of frames."""
    if writer.node.input[1] in writer.graph.constants:
        return writer.ints(1)[0]
    frames = writer.needed_shape(writer.node.output[0], "of a step that is an input")[1]
    steps = [step for step in range(1, last + 2) if last // step + 1 == frames]
    if len(steps) != 1:
        raise Refused("of a step that is an input is not supported")
    return steps[0]


FOURIER: dict[str, Rewrite] = {"DFT": _dft, "STFT": _stft}
"""The rewrites, by operator."""
