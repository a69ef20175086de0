"""Selects the variant of a program that fits the shapes of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hipgraft.ir.diagnostics import HipgraftError

Shapes: TypeAlias = Sequence[tuple[int, ...]]


def select(variants: Mapping[str, Shapes], shapes: Shapes) -> int:
    """Returns the position of the variant whose inputs have certain shapes.

    The sole variant of a program is always chosen, because the caller checks each input anyway.

    Args:
        variants: shapes of the inputs, by the variants' extents as they appear in messages.
        shapes: shapes of the given inputs.

    Raises:
        HipgraftError: no variant fits; the notes list the compiled shapes.
    """
    known = [list(map(tuple, one)) for one in variants.values()]
    if len(known) == 1:
        return 0
    given = list(map(tuple, shapes))
    if given in known:
        return known.index(given)
    raise HipgraftError(
        f"no variant of the program is for inputs of shapes {_listed(given)}",
        notes=tuple(f"compiled for {_listed(one)} ({name})" for name, one in variants.items()),
    )


def _listed(shapes: Shapes) -> str:
    return ", ".join(str(list(shape)) for shape in shapes)
