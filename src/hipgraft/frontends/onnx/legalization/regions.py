"""Rewrites operators that interpolate images: deformable convolution, regions of interest."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_FLOAT = TensorProto.FLOAT
_HALF_PIXEL_OPSET = 16  # the opset from which regions are shifted by half a pixel
_NEAR = 7  # samples that may be within one element of another, and rounding
_LINEAR_OPSET = 20  # the opset that renames bilinear sampling


def _samples(writer: Writer, x: str, positions: Sequence[str], padding: str) -> str:
    """Samples images, in f32.

    Args:
        writer: writer of the node.
        x: images [N, C, H, W] of f32.
        positions: rows and columns in elements, [N, A, B] each, of f32.
        padding: `zeros` or `border`.

    Returns:
        The name of the samples, [N, C, A, B].
    """
    extents = writer.shape(x)[2:]
    parts: list[str] = []
    for position, extent in zip(positions, extents, strict=True):
        twice = writer.op("Mul", position, writer.const(np.float32(2 / extent)))
        part = writer.op("Add", twice, writer.const(np.float32(1 / extent - 1)))
        parts.append(writer.op("Unsqueeze", part, writer.const(np.array([3], np.int64))))
    grid = writer.op("Concat", parts[1], parts[0], axis=3)
    mode = "linear" if writer.graph.opset >= _LINEAR_OPSET else "bilinear"
    return writer.op("GridSample", x, grid, mode=mode, padding_mode=padding)


def _as_float(writer: Writer, x: str, shape: Sequence[int]) -> str:
    """Views a value in another shape, in f32."""
    seen = writer.reshape(writer.cast(x, _FLOAT), shape)
    writer.graph.shapes[seen] = list(shape)
    return seen


def _deform_conv(writer: Writer) -> None:
    """`(x, w, offsets, bias, mask)`: products of filters and the elements that each tap samples."""
    x, w, offsets = writer.node.input[:3]
    batch, channels, *extents = writer.needed_shape(x, "of this form")
    filters, depth, *kernel = writer.needed_shape(w, "of this form")
    counts = writer.needed_shape(offsets, "of this form")[2:]
    if len(extents) != 2:
        raise Refused("on other than two spatial dimensions is not supported")
    groups, parts = int(writer.attribute("group", 1)), int(writer.attribute("offset_group", 1))
    taps, points = math.prod(kernel), math.prod(counts)
    moved = _as_float(writer, offsets, [batch * parts, taps, 2, points])
    positions = [
        writer.op(
            "Add",
            writer.op("Gather", moved, writer.like_int(dim), axis=2),
            writer.const(_positions(writer, dim, kernel, counts)),
        )
        for dim in range(2)
    ]
    images = _as_float(writer, x, [batch * parts, channels // parts, *extents])
    columns = _samples(writer, images, positions, "zeros")
    if writer.has_input(4):
        mask = _as_float(writer, writer.node.input[4], [batch * parts, 1, taps, points])
        columns = writer.op("Mul", columns, mask)
    columns = writer.cast(columns, writer.element(x))
    columns = writer.reshape(columns, [batch, groups, depth * taps, points])
    weights = writer.reshape(w, [groups, filters // groups, depth * taps])
    y = writer.reshape(writer.op("MatMul", weights, columns), [batch, filters, *counts])
    if writer.has_input(3):
        bias = writer.reshape(writer.node.input[3], [1, filters, 1, 1])
        y = writer.op("Add", y, bias)
    writer.result(y)


def _positions(writer: Writer, dim: int, kernel: Sequence[int], counts: Sequence[int]) -> Array:
    """Returns the positions of taps without offsets along a dimension: [1, taps, points]."""
    stride = int(writer.attribute("strides", [1, 1])[dim])
    dilation = int(writer.attribute("dilations", [1, 1])[dim])
    before = int(writer.attribute("pads", [0] * 4)[dim])
    tap = np.indices(kernel)[dim].reshape(1, -1, 1)
    point = np.indices(counts)[dim].reshape(1, 1, -1)
    return (point * stride - before + tap * dilation).astype(np.float32)


def _roi_align(writer: Writer) -> None:
    """`(x, rois, images)`: averages of samples, in a grid over each region of an image.

    Images are stacked vertically and sampled as one: a region's rows are those of its image.
    """
    x, rois, numbers = writer.node.input
    batch, channels, height, width = writer.needed_shape(x, "of this form")
    (count, _) = writer.needed_shape(rois, "of this form")
    ratio = int(writer.attribute("sampling_ratio", 0))
    if writer.attribute("mode", "avg") != "avg":
        raise Refused("of maxima is not supported")
    sizes = [int(writer.attribute(f"output_{name}", 1)) for name in ("height", "width")]
    if ratio <= 0:
        _average_cells(writer, [count, *sizes], [batch, channels, height, width])
        return
    grids = [size * ratio for size in sizes]
    shape = [count, *grids]
    positions: list[str] = []
    inside = ""
    for dim, extent in enumerate((height, width)):
        position = _region(writer, rois, 1 - dim, sizes[dim], ratio)
        above = writer.op("GreaterOrEqual", position, writer.const(np.float32(-1)))
        below = writer.op("LessOrEqual", position, writer.const(np.float32(extent)))
        within = writer.reshape(
            writer.op("And", above, below), [count, *(grids[n] if n == dim else 1 for n in (0, 1))]
        )
        inside = writer.op("And", inside, within) if inside else within
        least = writer.op("Max", position, writer.const(np.float32(0)))
        position = writer.op("Min", least, writer.const(np.float32(extent - 1)))
        if dim == 0:
            rows = writer.reshape(writer.cast(numbers, _FLOAT), [count, 1])
            first = writer.op("Mul", rows, writer.const(np.float32(height)))
            position = writer.op("Add", position, first)
        line = writer.reshape(position, [count, *(grids[n] if n == dim else 1 for n in (0, 1))])
        whole = writer.op("Expand", line, writer.const(np.array(shape, np.int64)))
        positions.append(writer.reshape(whole, [1, count * grids[0], grids[1]]))
    stacked = writer.transpose(writer.cast(x, _FLOAT), [1, 0, 2, 3])
    image = _as_float(writer, stacked, [1, channels, batch * height, width])
    samples = writer.reshape(_samples(writer, image, positions, "border"), [channels, *shape])
    samples = writer.op("Where", inside, samples, writer.const(np.float32(0)))
    cells = writer.reshape(samples, [channels, count, sizes[0], ratio, sizes[1], ratio])
    means = writer.reduce("ReduceMean", cells, [3, 5], keepdims=False)
    writer.result(writer.cast(writer.transpose(means, [1, 0, 2, 3]), writer.element(x)))


def _average_cells(writer: Writer, cells: list[int], extents: list[int]) -> None:
    """Averages as many samples of each cell as it has elements.

    The mean of samples in a grid is a product of the image and of weights of its rows and columns.

    Args:
        writer: writer of a `RoiAlign`.
        cells: numbers of regions, and of the rows and columns of cells in each.
        extents: extents of the images, [N, C, H, W].
    """
    x, rois, numbers = writer.node.input
    (count, rows, columns), (batch, channels, height, width) = cells, extents
    down = _weights(writer, rois, 1, rows, height)  # [regions, rows, H]
    across = _weights(writer, rois, 0, columns, width)
    image = writer.cast(numbers, TensorProto.INT64)
    own = writer.op("Equal", writer.reshape(image, [count, 1]), writer.const(np.arange(batch)))
    own = writer.reshape(writer.cast(own, _FLOAT), [count, 1, batch, 1])
    down = writer.op("Mul", writer.reshape(down, [count, rows, 1, height]), own)
    stacked = writer.transpose(writer.cast(x, _FLOAT), [0, 2, 1, 3])
    stacked = writer.reshape(stacked, [batch * height, channels * width])
    down = writer.reshape(down, [count * rows, batch * height])
    lines = writer.reshape(writer.op("MatMul", down, stacked), [count, rows * channels, width])
    means = writer.op("MatMul", lines, writer.transpose(across, [0, 2, 1]))
    means = writer.reshape(means, [count, rows, channels, columns])
    writer.result(writer.cast(writer.transpose(means, [0, 2, 1, 3]), writer.element(x)))


def _weights(writer: Writer, rois: str, column: int, size: int, extent: int) -> str:
    """Writes the weights of elements in the mean of a cell's samples, along a dimension.

    Samples are at least half an element apart, so that few of them share an element.

    Returns:
        The name of the weights, [regions, size, extent].
    """
    count = writer.shape(rois)[0]
    start, length = (
        writer.reshape(one, [count, 1, 1, 1]) for one in _start_and_length(writer, rois, column)
    )
    zero, one = (writer.const(np.float32(value)) for value in (0, 1))
    cell = writer.op("Div", length, writer.const(np.float32(size)))
    samples = writer.op("Max", writer.op("Ceil", cell), zero)
    step = writer.op("Div", cell, writer.op("Max", samples, one))
    # An empty region has no samples.
    step = writer.op("Max", step, writer.const(np.float32(2**-20)))
    cells = writer.const(np.arange(size, dtype=np.float32).reshape(1, size, 1, 1))
    first = writer.op("Add", start, writer.op("Mul", cells, cell))
    first = writer.op("Add", first, writer.op("Mul", step, writer.const(np.float32(0.5))))
    elements = np.arange(extent, dtype=np.float32).reshape(1, 1, extent, 1)
    before = writer.op("Sub", writer.const(elements - 1), first)
    near = writer.op("Max", writer.op("Floor", writer.op("Div", before, step)), zero)
    number = writer.op("Add", near, writer.const(np.arange(_NEAR, dtype=np.float32)))
    position = writer.op("Add", first, writer.op("Mul", number, step))
    conditions = [
        writer.op("GreaterOrEqual", number, zero),
        writer.op("Less", number, samples),
        writer.op("GreaterOrEqual", position, writer.const(np.float32(-1))),
        writer.op("LessOrEqual", position, writer.const(np.float32(extent))),
    ]
    inside = conditions[0]
    for condition in conditions[1:]:
        inside = writer.op("And", inside, condition)
    position = writer.op(
        "Min", writer.op("Max", position, zero), writer.const(np.float32(extent - 1))
    )
    distance = writer.op("Abs", writer.op("Sub", position, writer.const(elements)))
    weight = writer.op("Max", writer.op("Sub", one, distance), zero)
    weight = writer.op("Where", inside, weight, zero)
    total = writer.reduce("ReduceSum", weight, [3])
    mean = writer.op("Div", total, writer.op("Max", samples, one))
    return writer.reshape(mean, [count, size, extent])


def _region(writer: Writer, rois: str, column: int, size: int, ratio: int) -> str:
    """Writes the positions of samples of regions along a dimension, [regions, size · ratio]."""
    start, length = _start_and_length(writer, rois, column)
    parts = (np.arange(size)[:, None] + (np.arange(ratio) + 0.5) / ratio) / size
    steps = writer.op("Mul", length, writer.const(parts.reshape(1, -1).astype(np.float32)))
    return writer.op("Add", start, steps)


def _start_and_length(writer: Writer, rois: str, column: int) -> tuple[str, str]:
    """Writes where regions start along a dimension, and their lengths, [regions, 1] each."""
    default = "half_pixel" if writer.graph.opset >= _HALF_PIXEL_OPSET else "output_half_pixel"
    half_pixel = writer.attribute("coordinate_transformation_mode", default) == "half_pixel"
    scale = writer.const(np.float32(writer.attribute("spatial_scale", 1.0)))
    scaled = writer.op("Mul", writer.cast(rois, _FLOAT), scale)
    if half_pixel:
        scaled = writer.op("Sub", scaled, writer.const(np.float32(0.5)))
    start, end = (writer.take(scaled, 1, [column + offset]) for offset in (0, 2))
    length = writer.op("Sub", end, start)
    if not half_pixel:
        length = writer.op("Max", length, writer.const(np.float32(1)))
    return start, length


def _max_roi_pool(writer: Writer) -> None:
    """`(x, rois)`: maxima of the cells of regions; column 0 of `rois` is the image's number.

    A cell is a range of rows and a range of columns, so that maxima over one follow those over the
    other. Cells without elements are zero.
    """
    x, rois = writer.node.input
    channels, *extents = writer.needed_shape(x, "of this form")[1:]
    (count, _) = writer.needed_shape(rois, "of this form")
    sizes = [int(size) for size in writer.attribute("pooled_shape")]
    element = writer.element(x)
    numbers = writer.cast(writer.reshape(writer.take(rois, 1, [0]), [count]), TensorProto.INT64)
    maxima = writer.op("Gather", x, numbers)
    least = writer.like(-np.inf, element)
    some = ""
    for dim, (extent, size) in enumerate(zip(extents, sizes, strict=True)):
        inside = _cells(writer, rois, 2 - dim, extent, size)
        parts = [*sizes[:dim], 1, *extents[dim:]]
        mask = [count, 1, *[1] * dim, size, extent, *[1] * (1 - dim)]
        chosen = writer.op(
            "Where",
            writer.reshape(inside, mask),
            writer.reshape(maxima, [count, channels, *parts]),
            least,
        )
        maxima = writer.reduce("ReduceMax", chosen, [3 + dim], keepdims=False)
        found = writer.cast(inside, TensorProto.INT32)
        found = writer.reduce("ReduceMax", found, [2], keepdims=False)
        line = [count, 1, *[1] * dim, size, *[1] * (1 - dim)]
        found = writer.cast(writer.reshape(found, line), TensorProto.BOOL)
        some = writer.op("And", some, found) if some else found
    writer.result(writer.op("Where", some, maxima, writer.like(0, element)))


def _cells(writer: Writer, rois: str, column: int, extent: int, size: int) -> str:
    """Marks the elements in each cell of a dimension of each region.

    Returns:
        The name of booleans [regions, size, extent].
    """
    scale = writer.const(np.float32(writer.attribute("spatial_scale", 1.0)))
    scaled = writer.op("Mul", writer.cast(rois, _FLOAT), scale)
    half = writer.op("Add", writer.op("Abs", scaled), writer.const(np.float32(0.5)))
    rounded = writer.op("Mul", writer.op("Sign", scaled), writer.op("Floor", half))
    start, end = (writer.take(rounded, 1, [one]) for one in (column, column + 2))
    one = writer.const(np.float32(1))
    length = writer.op("Max", writer.op("Add", writer.op("Sub", end, start), one), one)
    step = writer.op("Div", length, writer.const(np.float32(size)))
    cells = writer.const(np.arange(size, dtype=np.float32))
    first = writer.op("Floor", writer.op("Mul", cells, step))
    last = writer.op("Ceil", writer.op("Mul", writer.op("Add", cells, one), step))
    rows = writer.const(np.arange(extent, dtype=np.float32))
    bounds = [
        writer.op("Unsqueeze", writer.op("Add", edge, start), writer.const([2], np.int64))
        for edge in (first, last)
    ]
    after = writer.op("GreaterOrEqual", rows, bounds[0])
    return writer.op("And", after, writer.op("Less", rows, bounds[1]))


REGIONS: dict[str, Rewrite] = {
    "DeformConv": _deform_conv,
    "MaxRoiPool": _max_roi_pool,
    "RoiAlign": _roi_align,
}
"""The rewrites, by operator."""
