"""Rewrites arithmetic on unsigned 64-bit integers as signed arithmetic on the same bits."""

from __future__ import annotations

from hipgraft.frontends.onnx.legalization.writer import Rewrite, Writer

_TOP = -(1 << 63)  # the bits of 2^63


def _biased(writer: Writer, x: str) -> str:
    """Flips the top bit, so that signed comparisons order the numbers as unsigned."""
    return writer.op("Add", x, writer.like_int(_TOP))


def _comparison(writer: Writer) -> None:
    operands = [_biased(writer, name) for name in writer.node.input]
    writer.result(writer.op(writer.node.op_type, *operands))


def _extremum(writer: Writer) -> None:
    best = writer.node.input[0]
    order = "Greater" if writer.node.op_type == "Max" else "Less"
    for other in writer.node.input[1:]:
        best = _better(writer, order, best, other)
    writer.result(best)


def _better(writer: Writer, order: str, x: str, y: str) -> str:
    """Writes x where it is `Greater` or `Less` than y, and y elsewhere."""
    is_better = writer.op(order, _biased(writer, x), _biased(writer, y))
    return writer.op("Where", is_better, x, y)


def _clip(writer: Writer) -> None:
    clipped = writer.node.input[0]
    for index, order in ((1, "Greater"), (2, "Less")):
        if writer.has_input(index):
            clipped = _better(writer, order, clipped, writer.node.input[index])
    writer.result(clipped)


def _same(writer: Writer) -> None:
    writer.result(writer.node.input[0])


def _sign(writer: Writer) -> None:
    zero, one = writer.like_int(0), writer.like_int(1)
    is_zero = writer.op("Equal", writer.node.input[0], zero)
    writer.result(writer.op("Where", is_zero, zero, one))


def _reduced_extremum(writer: Writer) -> None:
    x, *axes = writer.node.input
    y = writer.op(writer.node.op_type, _biased(writer, x), *axes, **writer.attributes())
    writer.result(_biased(writer, y))


def halved(writer: Writer, x: str) -> str:
    """Writes the unsigned quotient x / 2."""
    two = writer.like_int(2)
    half = writer.op("Div", writer.op("Sub", x, writer.op("Mod", x, two)), two)
    is_large = writer.op("Less", x, writer.like_int(0))
    return writer.op("Where", is_large, _biased(writer, half), half)


def quotient(writer: Writer, x: str, y: str) -> str:
    """Writes the unsigned quotient x / y."""
    zero, one = writer.like_int(0), writer.like_int(1)
    is_large = writer.op("Less", y, zero)
    divisor = writer.op("Where", is_large, one, y)
    # Twice the quotient of half the dividend is at most one too small.
    guess = writer.op("Div", halved(writer, x), divisor)
    guess = writer.op("Add", guess, guess)
    rest = writer.op("Sub", x, writer.op("Mul", guess, divisor))
    exact = writer.op("Add", guess, _truth(writer, _at_least(writer, rest, divisor)))
    return writer.op("Where", is_large, _truth(writer, _at_least(writer, x, y)), exact)


def _at_least(writer: Writer, x: str, y: str) -> str:
    return writer.op("GreaterOrEqual", _biased(writer, x), _biased(writer, y))


def _truth(writer: Writer, x: str) -> str:
    return writer.op("Where", x, writer.like_int(1), writer.like_int(0))


def _division(writer: Writer) -> None:
    writer.result(quotient(writer, *writer.node.input))


def _remainder(writer: Writer) -> None:
    x, y = writer.node.input
    product = writer.op("Mul", quotient(writer, x, y), y)
    writer.result(writer.op("Sub", x, product))


def _top_k(writer: Writer) -> None:
    x, k = writer.node.input
    values, indices = writer.ops("TopK", _biased(writer, x), k, outputs=2, **writer.attributes())
    writer.result(_biased(writer, values))
    writer.result(indices, 1)


def as_float(writer: Writer, x: str, element: int) -> str:
    """Converts unsigned numbers to floats; large ones through their halves, rounded to odd."""
    two, zero = writer.like_int(2), writer.like_int(0)
    is_large = writer.op("Less", x, zero)
    half = halved(writer, x)
    even = writer.op("Equal", writer.op("Mod", half, two), zero)
    sticky = writer.op("Where", even, writer.op("Mod", x, two), zero)
    small = writer.cast(writer.op("Where", is_large, writer.op("Add", half, sticky), x), element)
    return writer.op("Where", is_large, writer.op("Add", small, small), small)


UNSIGNED_64: dict[str, Rewrite] = {
    **dict.fromkeys(("Greater", "GreaterOrEqual", "Less", "LessOrEqual"), _comparison),
    **dict.fromkeys(("Max", "Min"), _extremum),
    **dict.fromkeys(("ReduceMax", "ReduceMin"), _reduced_extremum),
    "Abs": _same,
    "Clip": _clip,
    "Div": _division,
    "Mod": _remainder,
    "Sign": _sign,
    "TopK": _top_k,
}
"""Operators whose signed form computes a different result."""
