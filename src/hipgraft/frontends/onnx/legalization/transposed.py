"""Rewrites transposed convolutions with unequal padding, or padding inferred from a shape."""

from __future__ import annotations

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined


def _conv_transpose(writer: Writer) -> None:
    """Computes with equal padding at both ends, and crops the excess at one end."""
    shape = writer.shape(writer.node.input[0])
    window = writer.shape(writer.node.input[1])[2:]
    rank = len(shape) - 2
    strides = list(writer.attribute("strides", [1] * rank))
    dilations = list(writer.attribute("dilations", [1] * rank))
    extra = list(writer.attribute("output_padding", [0] * rank))
    whole = [
        strides[n] * (shape[2 + n] - 1) + extra[n] + dilations[n] * (window[n] - 1) + 1
        for n in range(rank)
    ]
    before, after = _padding(
        writer, whole, [s * e for s, e in zip(strides, shape[2:], strict=True)]
    )
    is_given = writer.attribute("auto_pad", "NOTSET") == "NOTSET"
    if before == after and is_given and not writer.attribute("output_shape"):
        raise Declined("supported", "it is lowered rightly")
    if min(*before, *after) < 0:
        raise Refused("whose result is larger than what it computes is not supported")
    equal = [min(ends) for ends in zip(before, after, strict=True)]
    for n, (low, high) in enumerate(zip(before, after, strict=True)):
        if low > high and extra[n] + low - high < strides[n]:
            # With additional elements at the end, both ends can be cropped by the same number.
            equal[n], extra[n] = low, extra[n] + low - high
    inner = writer.op(
        "ConvTranspose",
        *writer.node.input,
        strides=strides,
        dilations=dilations,
        pads=equal * 2,
        output_padding=extra,
        group=int(writer.attribute("group", 1)),
    )
    for n in range(rank):
        extent, start = whole[n] - before[n] - after[n], before[n] - equal[n]
        if start or after[n] > equal[n]:
            inner = writer.slice(inner, 2 + n, start, start + extent)
    writer.result(inner)


def _padding(writer: Writer, whole: list[int], same: list[int]) -> tuple[list[int], list[int]]:
    """Returns the elements to crop from each dimension at its two ends."""
    rank = len(whole)
    mode = writer.attribute("auto_pad", "NOTSET")
    wanted = writer.attribute("output_shape")
    if wanted:
        wanted = [int(extent) for extent in wanted][-rank:]
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = same
    else:
        pads = list(writer.attribute("pads", [0] * 2 * rank)) if mode != "VALID" else [0] * 2 * rank
        return pads[:rank], pads[rank:]
    total = [old - new for old, new in zip(whole, wanted, strict=True)]
    less, more = [one // 2 for one in total], [one - one // 2 for one in total]
    return (less, more) if mode == "SAME_UPPER" else (more, less)


TRANSPOSED: dict[str, Rewrite] = {"ConvTranspose": _conv_transpose}
"""The rewrites, by operator."""
