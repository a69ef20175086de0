"""Rewrites pooling whose windows differ from those of a padded tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined

_IMAGE_DIMS = 2


@dataclass(frozen=True)
class Windows:
    """The windows of a pooling; each attribute has a number per spatial dimension.

    Attributes:
        extents: extents of the tensor.
        kernel: elements that a window reads.
        strides: distance between windows.
        dilations: distance between the elements of a window.
        before: padding before the tensor.
        after: padding after the tensor, as the node declares it.
        counts: number of windows.
    """

    extents: list[int]
    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    after: list[int]
    counts: list[int]

    @property
    def reach(self) -> list[int]:
        """The elements that the last window reads beyond the tensor; negative for unread ones."""
        return [
            (count - 1) * stride + (kernel - 1) * dilation + 1 - before - extent
            for count, stride, kernel, dilation, before, extent in zip(
                self.counts,
                self.strides,
                self.kernel,
                self.dilations,
                self.before,
                self.extents,
                strict=True,
            )
        ]

    def taken(self, dim: int, low: int, high: int) -> Array:
        """Returns how many elements from `low` to `high` each window along `dim` reads."""
        starts = np.arange(self.counts[dim]) * self.strides[dim] - self.before[dim]
        offsets = np.arange(self.kernel[dim]) * self.dilations[dim]
        positions = starts[:, None] + offsets
        return ((positions >= low) & (positions < high)).sum(1)


def windows_of(writer: Writer) -> Windows:
    """Reads the attributes of a pooling.

    Raises:
        Declined: the shape is unknown and not needed. Refused: the shape is unknown but needed.
    """
    extents = _extents(writer)
    rank = len(extents)
    kernel = [int(k) for k in writer.attribute("kernel_shape")]
    strides = [int(s) for s in writer.attribute("strides", [1] * rank)]
    dilations = [int(d) for d in writer.attribute("dilations", [1] * rank)]
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    auto = writer.attribute("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        counts = [-(-n // s) for n, s in zip(extents, strides, strict=True)]
        totals = [
            max((c - 1) * s + span - n, 0)
            for c, s, span, n in zip(counts, strides, spans, extents, strict=True)
        ]
        less, more = [t // 2 for t in totals], [t - t // 2 for t in totals]
        before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
        return Windows(extents, kernel, strides, dilations, before, after, counts)
    pads = [int(p) for p in writer.attribute("pads", [0] * 2 * rank)]
    before, after = ([0] * rank, [0] * rank) if auto == "VALID" else (pads[:rank], pads[rank:])
    ceil = bool(writer.attribute("ceil_mode", 0))
    counts = [
        _count(n + b + a - span, s, b + n, ceil)
        for n, b, a, span, s in zip(extents, before, after, spans, strides, strict=True)
    ]
    _check_counts(writer, counts)
    return Windows(extents, kernel, strides, dilations, before, after, counts)


def _check_counts(writer: Writer, counts: list[int]) -> None:
    """Refuses ONNX's inferred counts if they include windows that begin in the padding."""
    inferred = writer.graph.shapes.get(writer.node.output[0])
    if inferred is not None and inferred[2:] != counts:
        raise Refused(f"with rounded-up extents has the shape {inferred}, but windows {counts}")


def _extents(writer: Writer) -> list[int]:
    """Returns the spatial extents; without them, torch-mlir is only right in simple forms."""
    x, pads = writer.node.input[0], writer.attribute("pads", [])
    special = {
        "with automatic padding": writer.attribute("auto_pad", "NOTSET") not in ("NOTSET", "VALID"),
        "with rounded-up extents": bool(writer.attribute("ceil_mode", 0)),
        "padded at one end": list(pads[: len(pads) // 2]) != list(pads[len(pads) // 2 :]),
        "with dilation": any(one != 1 for one in writer.attribute("dilations", [])),
    }
    for form, holds in special.items():
        if holds:
            return writer.needed_shape(x, form)[2:]
    return writer.shape(x)[2:]


def _count(room: int, stride: int, end: int, ceil: bool) -> int:
    """Returns the number of windows; the last one must not begin beyond the tensor."""
    if not ceil:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= end else count


def _average_pool(writer: Writer) -> None:
    """Averages the zero-padded tensor, and scales windows that count fewer or more elements.

    ONNX counts the padding that the node declares, but no elements beyond it.
    """
    windows = windows_of(writer)
    rank = len(windows.extents)
    plain = not writer.attribute("ceil_mode", 0) and not any(windows.before + windows.after)
    if plain and writer.attribute("auto_pad", "NOTSET") == "NOTSET":
        raise Declined("supported", "it is plain")
    if rank <= 2 and _is_even(writer, windows):
        raise Declined("supported", "it is plain")
    x, element = writer.node.input[0], writer.element(writer.node.input[0])
    after = [max(reach, 0) for reach in windows.reach]
    y = writer.op(
        "AveragePool",
        writer.pad(x, [0, 0, *windows.before], [0, 0, *after]),
        kernel_shape=windows.kernel,
        strides=windows.strides,
        **_dilations(windows.dilations),
    )
    factors = _factors(windows, includes=bool(writer.attribute("count_include_pad", 0)))
    if (factors != 1).any():
        dtype = helper.tensor_dtype_to_np_dtype(element)
        y = writer.op("Mul", y, writer.const(factors.astype(dtype)))
    writer.result(y)


def _is_even(writer: Writer, windows: Windows) -> bool:
    """Whether the windows only differ by equal padding at both ends, which lowers correctly."""
    if writer.attribute("auto_pad", "NOTSET") != "NOTSET" or writer.attribute("ceil_mode", 0):
        return False
    undilated = all(dilation == 1 for dilation in windows.dilations)
    return undilated and windows.before == windows.after


def _dilations(dilations: Sequence[int]) -> dict[str, Any]:
    return {"dilations": list(dilations)} if any(d != 1 for d in dilations) else {}


def _factors(windows: Windows, *, includes: bool) -> Array:
    """The kernel's size by the number of elements that each window counts, [1, 1, counts...]."""
    factors = np.ones([1] * (2 + len(windows.extents)))
    for dim, extent in enumerate(windows.extents):
        low, high = 0, extent
        if includes:
            low, high = -windows.before[dim], extent + windows.after[dim]
        counted = windows.taken(dim, low, high)
        shape = [1] * factors.ndim
        shape[2 + dim] = -1
        with np.errstate(divide="ignore"):  # an average of no elements is NaN: zero times infinity
            share = windows.kernel[dim] / counted
        factors = factors * share.reshape(shape)
    return factors


def _has_bytes_of_three_dims(writer: Writer) -> bool:
    """Whether torch-mlir's lowering of this pooling crashes."""
    is_deep = len(writer.attribute("kernel_shape")) > _IMAGE_DIMS
    return is_deep and writer.element(writer.node.input[0]) == TensorProto.INT8


def _pool_as_floats(writer: Writer) -> None:
    x = writer.cast(writer.node.input[0], TensorProto.FLOAT)
    y, *positions = writer.ops("MaxPool", x, outputs=len(writer.node.output), **writer.attributes())
    writer.result(writer.cast(y, TensorProto.INT8))
    for index, each in enumerate(positions):
        writer.result(each, 1 + index)


def _max_pool(writer: Writer) -> None:
    """Takes maxima; unequal padding becomes explicit padding with the type's lowest number."""
    if _has_bytes_of_three_dims(writer):
        _pool_as_floats(writer)
        return
    if writer.has_output(1):
        return _max_pool_with_positions(writer)
    windows = windows_of(writer)
    uneven = writer.attribute("auto_pad", "NOTSET") != "NOTSET" or windows.before != windows.after
    # torch requires that padding is at most half of the kernel.
    deep = any(2 * b > k for b, k in zip(windows.before, windows.kernel, strict=True))
    if not uneven and not deep and not writer.attribute("ceil_mode", 0):
        raise Declined("supported", "it is plain")
    y = writer.op(
        "MaxPool",
        _padded_by_lowest(writer, windows),
        kernel_shape=windows.kernel,
        strides=windows.strides,
        **_dilations(windows.dilations),
    )
    writer.result(y)


def _padded_by_lowest(writer: Writer, windows: Windows) -> str:
    x = writer.node.input[0]
    element = writer.element(x)
    after = [max(reach, 0) for reach in windows.reach]
    lowest = writer.like(_lowest(element), element)
    return writer.pad(x, [0, 0, *windows.before], [0, 0, *after], lowest)


def _max_pool_with_positions(writer: Writer) -> None:
    """Pools maxima with their positions in the whole tensor; torch counts per plane."""
    x = writer.node.input[0]
    batch, channels, *extents = writer.needed_shape(x, "with positions")
    windows, rank = windows_of(writer), len(extents)
    if writer.has_output(0):
        attributes = {k: v for k, v in writer.attributes().items() if k != "storage_order"}
        writer.result(writer.op("MaxPool", x, **attributes))
    padded = _padded_by_lowest(writer, windows)
    taps = list(np.ndindex(*windows.kernel))
    axis = writer.const([0], np.int64)
    read = [writer.op("Unsqueeze", _read_tap(writer, padded, windows, tap), axis) for tap in taps]
    chosen = writer.op("ArgMax", writer.op("Concat", *read, axis=0), axis=0, keepdims=0)
    # Indices of the elements of a plane, in row-major or column-major order.
    inner_first = range(rank)[:: 1 if writer.attribute("storage_order", 0) else -1]
    steps, size = [0] * rank, 1
    for dim in inner_first:
        steps[dim], size = size, size * extents[dim]
    offsets = [np.dot(np.multiply(tap, windows.dilations), steps) for tap in taps]
    first = np.arange(batch * channels).reshape(batch, channels, *[1] * rank) * size
    for dim, step in enumerate(steps):
        starts = np.arange(windows.counts[dim]) * windows.strides[dim] - windows.before[dim]
        first = first + (starts * step).reshape(-1, *[1] * (rank - 1 - dim))
    within = writer.op("Gather", writer.const(offsets, np.int64), chosen)
    writer.result(writer.op("Add", within, writer.const(first, np.int64)), 1)


def _read_tap(writer: Writer, padded: str, windows: Windows, tap: Sequence[int]) -> str:
    """Writes the elements that all windows read at one element of the kernel."""
    for dim, offset in enumerate(tap):
        start = offset * windows.dilations[dim]
        last = start + (windows.counts[dim] - 1) * windows.strides[dim]
        padded = writer.slice(padded, 2 + dim, start, last + 1, windows.strides[dim])
    return padded


def _max_unpool(writer: Writer) -> None:
    """Rewrites `(x, positions)`: the elements at their positions in a tensor of zeros."""
    x, positions = writer.node.input[:2]
    shape = writer.needed_shape(x, "of this form")
    kernel = [int(k) for k in writer.attribute("kernel_shape")]
    strides = writer.attribute("strides", [1] * len(kernel))
    pads = writer.attribute("pads", [0] * 2 * len(kernel))
    result = shape[:2] + [
        (extent - 1) * int(stride) - int(before) - int(after) + size
        for extent, stride, before, after, size in zip(
            shape[2:], strides, pads[: len(kernel)], pads[len(kernel) :], kernel, strict=True
        )
    ]
    if writer.has_input(2) and writer.ints(2) != result:
        raise Refused(f"to another shape than {result} is not supported")
    size = math.prod(result)
    zeros = writer.op("Expand", writer.zero(x), writer.const(np.array([size], np.int64)))
    flat = [writer.reshape(name, [math.prod(shape)]) for name in (positions, x)]
    writer.result(writer.reshape(writer.op("ScatterElements", zeros, *flat, axis=0), result))


def _lowest(element: int) -> float:
    dtype = helper.tensor_dtype_to_np_dtype(element)
    return -math.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)


POOLING: dict[str, Rewrite] = {
    "AveragePool": _average_pool,
    "MaxPool": _max_pool,
    "MaxUnpool": _max_unpool,
}
"""The rewrites, by operator."""
