"""Replaces a graph's shapes and strides for one execution: hipDNN's overrides.

The caller overrides the tensors that it passes. The shapes of virtual tensors follow from these: a
node's results get the shapes that its op infers from its operands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hipgraft.hipdnn_io.document import GraphDocument, TensorDocument
from hipgraft.ir.diagnostics import HipgraftError

_NUMBERS = r"[0-9]{1,19}(?:,[0-9]{1,19})*"
_LINE = re.compile(rf"([0-9]{{1,19}}):({_NUMBERS}):({_NUMBERS})")


@dataclass(frozen=True)
class Override:
    """The shape of a tensor in one execution, in place of the graph's.

    Attributes:
        uid: uid of the tensor.
        dims: extents.
        strides: strides in elements.
    """

    uid: int
    dims: Sequence[int]
    strides: Sequence[int]


def overrides_text(overrides: Sequence[Override]) -> str:
    """Returns overrides as `parse_overrides` reads them: a line `UID:DIMS:STRIDES` for each."""
    rows = (
        f"{one.uid}:{','.join(map(str, one.dims))}:{','.join(map(str, one.strides))}"
        for one in overrides
    )
    return "".join(f"{row}\n" for row in rows)


def parse_overrides(text: str) -> list[Override]:
    """Reads overrides.

    Raises:
        HipgraftError: a line is malformed.
    """
    found: list[Override] = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise HipgraftError(f"expected an override UID:DIMS:STRIDES, but found '{line}'")
        dims, strides = ([int(one) for one in match[group].split(",")] for group in (2, 3))
        found.append(Override(int(match[1]), dims, strides))
    return found


def overridden(document: GraphDocument, overrides: Sequence[Override]) -> GraphDocument:
    """Returns a graph with the shapes of one execution, whose virtual tensors are to be inferred.

    Raises:
        HipgraftError: there is no such tensor, it is virtual, or the rank differs.
    """
    wanted = {one.uid: one for one in overrides}
    for uid in wanted.keys() - {tensor.uid for tensor in document.tensors}:
        raise document.error(f"there is no tensor with uid {uid} to override")
    tensors = [_overridden(document, one, wanted.get(one.uid)) for one in document.tensors]
    return replace(document, tensors=tensors, is_overridden=True)


def _overridden(
    document: GraphDocument, tensor: TensorDocument, override: Override | None
) -> TensorDocument:
    if override is None:
        return replace(tensor)
    if tensor.virtual:
        raise document.error(f"{tensor.label} is virtual, so that nobody can override it")
    if len(override.dims) != len(tensor.dims):
        raise document.error(
            f"{tensor.label}: expected an override of {len(tensor.dims)} extents, "
            f"but found {len(override.dims)}"
        )
    return replace(tensor, dims=list(override.dims), strides=list(override.strides))
