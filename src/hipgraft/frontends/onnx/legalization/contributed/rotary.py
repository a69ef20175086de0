"""Rewrites rotary position embedding."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer


@dataclass(frozen=True)
class Rotation:
    """Rotates pairs of numbers in each row.

    Attributes:
        cos: cosines of the angles, `[batch, 1, rows, half]`.
        sin: sines, likewise.
        half: pairs in a row.
        interleaved: whether the two numbers of a pair are adjacent; else each half has one of them.
    """

    cos: str
    sin: str
    half: int
    interleaved: bool

    @classmethod
    def at(
        cls, writer: Writer, positions: str, shape: list[int], cache: int, *, interleaved: bool
    ) -> Rotation:
        """Looks up the angles of positions.

        Args:
            writer: writer of the node.
            positions: positions of the rows.
            shape: shape of the positions, `[batch, rows]`.
            cache: the input with the cosines of all positions, `[positions, half]`; the next input
                has the sines.
            interleaved: value of the attribute.
        """
        batch, rows = shape
        half = writer.shape(writer.node.input[cache])[1]
        flat = writer.reshape(positions, [batch * rows])
        cos, sin = (
            writer.reshape(writer.op("Gather", table, flat), [batch, 1, rows, half])
            for table in writer.node.input[cache : cache + 2]
        )
        return cls(cos, sin, half, interleaved)

    def of(self, writer: Writer, x: str, shape: list[int]) -> str:
        """Rotates the first `2 · half` numbers of each row.

        Args:
            writer: writer of the node.
            x: `[batch, heads, rows, size]`, where `size` is at least `2 · half`.
            shape: shape of `x`.
        """
        size, turned = shape[3], 2 * self.half
        part = writer.slice(x, 3, 0, turned) if turned < size else x
        first, second = self._pairs(writer, part, shape[:3])
        real = writer.op(
            "Sub", writer.op("Mul", first, self.cos), writer.op("Mul", second, self.sin)
        )
        imaginary = writer.op(
            "Add", writer.op("Mul", first, self.sin), writer.op("Mul", second, self.cos)
        )
        joined = self._joined(writer, (real, imaginary), shape[:3])
        if turned == size:
            return joined
        return writer.op("Concat", joined, writer.slice(x, 3, turned, size), axis=3)

    def _pairs(self, writer: Writer, x: str, outer: list[int]) -> tuple[str, str]:
        """Returns the first and the second numbers of all pairs."""
        if not self.interleaved:
            half = self.half
            return writer.slice(x, 3, 0, half), writer.slice(x, 3, half, 2 * half)
        pairs = writer.reshape(x, [*outer, self.half, 2])
        first, second = (
            writer.reshape(writer.slice(pairs, 4, index, index + 1), [*outer, self.half])
            for index in (0, 1)
        )
        return first, second

    def _joined(self, writer: Writer, pairs: tuple[str, str], outer: list[int]) -> str:
        """Undoes `_pairs`."""
        if not self.interleaved:
            return writer.op("Concat", *pairs, axis=3)
        columns = [writer.reshape(one, [*outer, self.half, 1]) for one in pairs]
        return writer.reshape(writer.op("Concat", *columns, axis=4), [*outer, 2 * self.half])


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
    interleaved = bool(writer.attribute("interleaved", 0))
    rotation = Rotation.at(writer, positions, [batch, rows], 2, interleaved=interleaved)
    y = rotation.of(writer, x, [batch, heads, rows, size])
    if is_flat:
        y = writer.reshape(writer.transpose(y, [0, 2, 1, 3]), shape)
    writer.result(y)


ROTARY: dict[str, Rewrite] = {"RotaryEmbedding": _rotary_embedding}
"""The rewrites, by operator."""
