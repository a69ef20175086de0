"""Rewrites operators that assemble images from overlapping blocks."""

from __future__ import annotations

import math

import numpy as np
from onnx import helper

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer


def _col2im(writer: Writer) -> None:
    """`(x [N, C · block, blocks], image, block)`: sums of the blocks at their positions."""
    x = writer.node.input[0]
    if any(writer.node.input[index] not in writer.graph.constants for index in (1, 2)):
        raise Refused("with operands that are inputs is not supported")
    batch, rows, _ = writer.needed_shape(x, "of this form")
    image, block = writer.ints(1), writer.ints(2)
    rank = len(block)
    strides = list(writer.attribute("strides", [1] * rank))
    dilations = list(writer.attribute("dilations", [1] * rank))
    pads = list(writer.attribute("pads", [0] * 2 * rank))
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, block, strict=True)]
    room = [image[n] + pads[n] + pads[n + rank] - spans[n] for n in range(rank)]
    counts = [one // stride + 1 for one, stride in zip(room, strides, strict=True)]
    size = math.prod(block)
    channels = rows // size
    if strides == block and not any(pads) and dilations == [1] * rank and not _rest(room, strides):
        grid = writer.reshape(x, [batch, channels, *block, *counts])
        pairs = [axis for n in range(rank) for axis in (2 + rank + n, 2 + n)]
        whole = writer.transpose(grid, [0, 1, *pairs])
        writer.result(writer.reshape(whole, [batch, channels, *image]))
        return
    dtype = helper.tensor_dtype_to_np_dtype(writer.element(x))
    if dtype.kind != "f":
        raise Refused("of this element type is not supported where blocks overlap")
    # Each row of a block contributes to one position in the window.
    weights = np.tile(np.eye(size).reshape(size, 1, *block), [channels, 1, *[1] * rank])
    grid = writer.reshape(x, [batch, rows, *counts])
    y = writer.op(
        "ConvTranspose",
        grid,
        writer.const(weights.astype(dtype)),
        group=channels,
        strides=strides,
        dilations=dilations,
        pads=pads,
        output_padding=_rest(room, strides) or [0] * rank,
    )
    writer.result(y)


def _rest(room: list[int], strides: list[int]) -> list[int]:
    """Returns the elements after the last block; empty if there are none."""
    rest = [one % stride for one, stride in zip(room, strides, strict=True)]
    return rest if any(rest) else []


BLOCKS: dict[str, Rewrite] = {"Col2Im": _col2im}
"""The rewrites, by operator."""
