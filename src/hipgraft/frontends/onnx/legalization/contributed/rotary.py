"""Rotary position embedding."""

from __future__ import annotations

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer


def rotated(
    writer: Writer, x: str, shape: list[int], cos: str, sin: str, *, interleaved: bool
) -> str:
    """Rotates pairs of numbers.

    Args:
        writer: of the node.
        x: `[batch, heads, rows, size]`.
        shape: of `x`.
        cos: cosines, `[batch or 1, 1, rows, half]`, where `2 · half` is at most `size`.
        sin: sines, likewise.
        interleaved: whether pairs are neighbours, and not in either half.
    """
    batch, heads, rows, size = shape
    half = writer.shape(writer.node.input[_cache(writer)])[1]
    part = writer.slice(x, 3, 0, 2 * half) if 2 * half < size else x
    if interleaved:
        pairs = writer.reshape(part, [batch, heads, rows, half, 2])
        first, second = (
            writer.reshape(writer.slice(pairs, 4, index, index + 1), [batch, heads, rows, half])
            for index in (0, 1)
        )
    else:
        first = writer.slice(part, 3, 0, half)
        second = writer.slice(part, 3, half, 2 * half)
    real = writer.op("Sub", writer.op("Mul", first, cos), writer.op("Mul", second, sin))
    imaginary = writer.op("Add", writer.op("Mul", first, sin), writer.op("Mul", second, cos))
    if interleaved:
        columns = [writer.reshape(one, [batch, heads, rows, half, 1]) for one in (real, imaginary)]
        joined = writer.reshape(
            writer.op("Concat", *columns, axis=4), [batch, heads, rows, 2 * half]
        )
    else:
        joined = writer.op("Concat", real, imaginary, axis=3)
    if 2 * half == size:
        return joined
    return writer.op("Concat", joined, writer.slice(x, 3, 2 * half, size), axis=3)


def _cache(writer: Writer) -> int:
    """The input that has cosines."""
    return 2 if writer.node.op_type == "RotaryEmbedding" else 7


def rotations(writer: Writer, positions: str, batch: int, rows: int) -> tuple[str, str]:
    """Cosines and sines of positions `[batch, rows]` as `[batch, 1, rows, half]`."""
    first = _cache(writer)
    half = writer.shape(writer.node.input[first])[1]
    flat = writer.reshape(positions, [batch * rows])
    cos, sin = (
        writer.reshape(writer.op("Gather", writer.node.input[index], flat), [batch, 1, rows, half])
        for index in (first, first + 1)
    )
    return cos, sin


def _rotary_embedding(writer: Writer) -> None:
    """`(x, positions, cosines, sines)`; x is `[batch, rows, heads · size]` or has heads first."""
    x, positions = writer.node.input[:2]
    shape = writer.shape(x)
    if writer.attribute("is_packed_batching", 0) or writer.attribute("scale", 1.0) != 1.0:
        raise Refused("of packed batches or with a scale is not supported")
    is_flat = len(shape) == 3
    if is_flat:
        batch, rows, hidden = shape
        half = writer.shape(writer.node.input[2])[1]
        heads = int(writer.attribute("num_heads", 0)) or hidden // (2 * half)
        size = hidden // heads
        x = writer.transpose(writer.reshape(x, [batch, rows, heads, size]), [0, 2, 1, 3])
    else:
        batch, heads, rows, size = shape
    if len(writer.shape(positions)) == 1:  # of the first row
        steps = writer.const([list(range(rows))] * batch, "int64")
        positions = writer.op("Add", positions, steps)
    cos, sin = rotations(writer, positions, batch, rows)
    interleaved = bool(writer.attribute("interleaved", 0))
    y = rotated(writer, x, [batch, heads, rows, size], cos, sin, interleaved=interleaved)
    if is_flat:
        y = writer.reshape(writer.transpose(y, [0, 2, 1, 3]), shape)
    writer.result(y)


ROTARY: dict[str, Rewrite] = {"RotaryEmbedding": _rotary_embedding}
"""Rewrites by operator."""
