"""Rewrites operators that only move elements."""

from __future__ import annotations

import numpy as np

from hipgraft.frontends.onnx.legalization.reductions import non_negative
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer, size_of
from hipgraft.ir.diagnostics import Declined


def _pad(writer: Writer) -> None:
    """`(x, amounts, value, axes)`; negative amounts crop, which torch-mlir does not support.

    Constant padding by known amounts becomes crops and pads; any other padding gathers by indices.
    """
    x, mode = writer.node.input[0], writer.attribute("mode", "constant")
    known = writer.node.input[1] in writer.graph.constants
    is_cropped = not known or min(writer.ints(1), default=0) < 0
    if not is_cropped and mode == "constant":
        raise Declined("no-crop", "nothing is cropped")
    if not is_cropped and mode == "edge" and _is_of_images(*_amounts(writer, len(writer.shape(x)))):
        raise Declined("images", "torch has an op for it")
    shape = writer.needed_shape(x, "by amounts of both signs")
    if known and mode == "constant":
        _crop_and_pad(writer, *_amounts(writer, len(shape)))
        return
    if known:
        _check_left(shape, *_amounts(writer, len(shape)))
    result = writer.needed_shape(writer.node.output[0], "by amounts that are inputs")
    inside = ""
    for axis, start in enumerate(_amounts_before(writer, len(shape))):
        sources = writer.op("Sub", writer.const(np.arange(result[axis])), start)
        if mode == "wrap":
            end = writer.op("Sub", writer.like_int(result[axis] - shape[axis]), start)
            indices = _wrapped(writer, sources, shape[axis], start, end)
        else:
            indices = _repeated(writer, sources, shape[axis], mode)
        x = writer.op("Gather", x, indices, axis=axis)
        if mode == "constant":
            line = [1] * len(shape)
            line[axis] = result[axis]
            here = writer.reshape(_is_inside(writer, sources, shape[axis]), line)
            inside = writer.op("And", inside, here) if inside else here
    if inside:
        value = writer.node.input[2] if writer.has_input(2) else writer.zero(writer.node.input[0])
        x = writer.op("Where", inside, x, value)
    writer.result(x)


def _amounts_before(writer: Writer, rank: int) -> list[str]:
    """Writes scalars of the padding before each dimension, for axes that may be inputs."""
    if writer.has_input(3):
        count = writer.needed_shape(writer.node.input[3], "along axes that are inputs")[0]
        axes = non_negative(writer, writer.node.input[3], rank)
    else:
        count, axes = rank, writer.const(np.arange(rank))
    before = writer.slice(writer.node.input[1], 0, 0, count)
    zero = writer.like_int(0)
    scalars: list[str] = []
    for axis in range(rank):
        is_this = writer.op("Equal", axes, writer.like_int(axis))
        amount = writer.op("Where", is_this, before, zero)
        scalars.append(writer.reduce("ReduceSum", amount, [0], keepdims=False))
    return scalars


def _amounts(writer: Writer, rank: int) -> tuple[list[int], list[int]]:
    """Returns the amounts before and after each dimension."""
    amounts = writer.ints(1)
    axes = [axis % rank for axis in writer.ints(3)] if writer.has_input(3) else list(range(rank))
    before, after = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        before[axis], after[axis] = amounts[index], amounts[index + len(axes)]
    return before, after


def _crop_and_pad(writer: Writer, before: list[int], after: list[int]) -> None:
    x = writer.node.input[0]
    for axis, extent in enumerate(writer.shape(x)):
        first, last = max(-before[axis], 0), extent - max(-after[axis], 0)
        if (first, last) != (0, extent):
            x = writer.slice(x, axis, first, last)
    value = writer.node.input[2] if writer.has_input(2) else ""
    before, after = ([max(amount, 0) for amount in amounts] for amounts in (before, after))
    writer.result(writer.pad(x, before, after, value))


def _is_of_images(before: list[int], after: list[int]) -> bool:
    """Whether torch's padding ops apply, which pad up to the last three dimensions."""
    leading = slice(0, max(len(before) - 3, 0))
    return len(before) > 1 and not any(before[leading] + after[leading])


def _check_left(shape: list[int], before: list[int], after: list[int]) -> None:
    """Refuses to repeat elements along an axis of which none is left."""
    for axis, (extent, *amounts) in enumerate(zip(shape, before, after, strict=True)):
        if extent + sum(min(one, 0) for one in amounts) <= 0 < max(amounts):
            raise Refused(f"that repeats elements of axis {axis}, which are all cropped")


def _repeated(writer: Writer, positions: str, extent: int, mode: str) -> str:
    """Returns the indices of the elements that padding repeats, also for positions outside."""
    last, zero = writer.like_int(extent - 1), writer.like_int(0)
    if mode == "reflect" and extent > 1:
        turn = writer.like_int(2 * (extent - 1))
        there = writer.op("Mod", positions, turn)
        return writer.op("Min", there, writer.op("Sub", turn, there))
    return writer.op("Min", writer.op("Max", positions, zero), last)


def _wrapped(writer: Writer, positions: str, extent: int, before: str, after: str) -> str:
    """Returns the indices of the elements that padding repeats, of which none is cropped."""
    zero = writer.like_int(0)
    first, end = (writer.op("Max", writer.op("Neg", one), zero) for one in (before, after))
    left = writer.op("Sub", writer.like_int(extent), writer.op("Add", first, end))
    return writer.op("Add", writer.op("Mod", writer.op("Sub", positions, first), left), first)


def _is_inside(writer: Writer, positions: str, extent: int) -> str:
    low = writer.op("GreaterOrEqual", positions, writer.like_int(0))
    return writer.op("And", low, writer.op("Less", positions, writer.like_int(extent)))


def _center_crop_pad(writer: Writer) -> None:
    """Crops or pads at both ends, to the shape that the result is known to have."""
    x = writer.node.input[0]
    shape = writer.shape(x)
    result = writer.needed_shape(writer.node.output[0], "to a shape that is an input")
    before, after = [0] * len(shape), [0] * len(shape)
    for axis, (old, new) in enumerate(zip(shape, result, strict=True)):
        # Half of the excess or missing elements, rounded down, come before the tensor.
        less, more = max(old - new, 0), max(new - old, 0)
        before[axis] = more // 2 - less // 2
        after[axis] = new - old - before[axis]
    _crop_and_pad(writer, before, after)


def _tile(writer: Writer) -> None:
    """Repeats a tensor by expanding a view with a dimension for each repetition."""
    x = writer.node.input[0]
    shape = writer.shape(x)
    result = _tiled_shape(writer, shape)
    if 0 in result:
        raise Declined("empty", "it is empty")
    column = [extent for one in shape for extent in (1, one)]
    pairs = zip(shape, result, strict=True)
    whole = [extent for old, new in pairs for extent in (new // old, old)]
    y = writer.op("Expand", writer.reshape(x, column), writer.const(np.array(whole, np.int64)))
    writer.result(writer.reshape(y, result))


def _tiled_shape(writer: Writer, shape: list[int]) -> list[int]:
    if writer.node.input[1] in writer.graph.constants:
        return [n * r for n, r in zip(shape, writer.ints(1), strict=True)]
    return writer.needed_shape(writer.node.output[0], "by repeats that are inputs")


def _split(writer: Writer) -> None:
    """Slices a tensor into the known extents of the results."""
    x = writer.node.input[0]
    shape = writer.shape(x)
    axis = int(writer.attribute("axis", 0)) % len(shape)
    start = 0
    for index, name in enumerate(writer.node.output):
        extent = writer.needed_shape(name, "into parts that are inputs")[axis]
        writer.result(writer.slice(x, axis, start, start + extent), index)
        start += extent


def _depth_to_space(writer: Writer) -> None:
    n, c, h, w = _shape_of_blocks(writer)
    block = int(writer.attribute("blocksize"))
    depth = c // (block * block)
    x = writer.node.input[0]
    if writer.attribute("mode", "DCR") == "CRD":
        x = writer.reshape(x, [n, depth, block, block, h, w])
        x = writer.transpose(x, [0, 1, 4, 2, 5, 3])
    else:
        x = writer.reshape(x, [n, block, block, depth, h, w])
        x = writer.transpose(x, [0, 3, 4, 1, 5, 2])
    writer.result(writer.reshape(x, [n, depth, h * block, w * block]))


def _shape_of_blocks(writer: Writer) -> list[int]:
    """Returns the operand's shape; if it is unknown, torch-mlir is only right in mode DCR."""
    mode = writer.attribute("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise Refused(f"with mode = '{mode}' is not supported")
    if writer.attribute("mode", "DCR") == "CRD":
        return writer.needed_shape(writer.node.input[0], "in mode CRD")
    return writer.shape(writer.node.input[0])


def _space_to_depth(writer: Writer) -> None:
    n, c, h, w = _shape_of_blocks(writer)
    block = int(writer.attribute("blocksize"))
    x = writer.reshape(writer.node.input[0], [n, c, h // block, block, w // block, block])
    order = [0, 1, 3, 5, 2, 4] if writer.attribute("mode", "DCR") == "CRD" else [0, 3, 5, 1, 2, 4]
    x = writer.transpose(x, order)
    writer.result(writer.reshape(x, [n, c * block * block, h // block, w // block]))


def _reshape(writer: Writer) -> None:
    """Keeps the operator, but checks extents: torch-mlir reads beyond a constant that grows."""
    shape, wanted = writer.shape(writer.node.input[0]), writer.ints(1)
    target = list(wanted)
    if not writer.attribute("allowzero", 0):
        target = [
            shape[dim] if extent == 0 and dim < len(shape) else extent
            for dim, extent in enumerate(target)
        ]
    # ONNX's inference has checked what -1 stands for.
    if -1 not in target and size_of(target) != size_of(shape):
        raise Refused(f"of {size_of(shape)} elements cannot result in shape {wanted}")
    raise Declined("fits", "torch has an op for it")


LAYOUT: dict[str, Rewrite] = {
    "CenterCropPad": _center_crop_pad,
    "DepthToSpace": _depth_to_space,
    "Pad": _pad,
    "Reshape": _reshape,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Tile": _tile,
}
"""The rewrites, by operator."""
