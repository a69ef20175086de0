"""Converts constants of a compiled module to the fills that write them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from hipgraft.codegen.kernel import Fill
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError

# With more fills, the call would need hundreds of memsets; an error that explains this is better.
_MAX_FILLS = 256
_WORD = 4


def constant_bytes(attr: ir.Attribute) -> bytes:
    """Returns the contents of a `#util.composite` attribute.

    The attribute has no Python API; it prints one element attribute per line between its brackets.

    Raises:
        CodegenError: an element attribute cannot be read as bytes.
    """
    elements = [line.strip().removesuffix(",") for line in str(attr).splitlines()[1:-1]]
    return b"".join(dense_bytes(ir.Attribute.parse(text, attr.context)) for text in elements)


def dense_bytes(attr: ir.Attribute) -> bytes:
    """Returns the elements of a dense attribute as bytes in memory order, splats expanded.

    Raises:
        CodegenError: the bindings cannot show its element type as a buffer, or it is not dense.
    """
    try:
        return memoryview(attr).tobytes()  # pyright: ignore[reportArgumentType]
    except (BufferError, TypeError):
        message = f"the graph holds a constant that cannot be embedded: {str(attr)[:60]}"
        raise CodegenError(message) from None


def fills(data: bytes, buffer: int, offset: int) -> list[Fill]:
    """Returns fills that write `data` to `buffer` from `offset`, one per run of equal words.

    Raises:
        CodegenError: the constant takes more than `_MAX_FILLS` fills.
    """
    padded = data + bytes(-len(data) % _WORD)
    steps = list(_runs(padded, buffer, offset))
    if len(steps) > _MAX_FILLS:
        raise CodegenError(
            f"the graph holds a constant of {len(data)} bytes; pass it as an operand instead"
        )
    return steps


def _runs(data: bytes, buffer: int, offset: int) -> Iterator[Fill]:
    words = [int.from_bytes(data[i : i + _WORD], "little") for i in range(0, len(data), _WORD)]
    for word, run in groupby(words):
        length = _WORD * len(list(run))
        yield Fill(buffer, offset, length, word, _WORD)
        offset += length
