"""What is known of a session's values where symbolic dimensions may have any extents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnx import NodeProto

from hipgraft.frontends.symbols import Extents
from hipgraft.onnxruntime.graph import Kind, SessionGraph

# Symbols have different extents, so that only what is always equal is equal, and extents of which
# the usual parts of models exist: multiples of 32.
_FIRST = (64, 32)
_SECOND = (4096, 160)

_BROADCAST: Mapping[str, tuple[int, ...]] = {
    "Attention": (3,),
    "Gemm": (2,),
    "GroupQueryAttention": (10,),
    "LayerNormalization": (1, 2),
    "MultiHeadAttention": (4, 5),
    "PRelu": (1,),
    "RMSNormalization": (1,),
}
"""Operands that are broadcast, where inference of types does not check that they can be."""

Dims = tuple[int | str, ...]


@dataclass(frozen=True)
class AnyExtents:
    """Types of values by name, as functions of symbolic dimensions.

    Values whose shapes depend on data are not among those of known shapes.

    Attributes:
        kinds: where symbolic dimensions have some example of extents.
        dims: of values of known shapes: an extent that is always the same, or a name. Extents of
            equal names are equal.
    """

    kinds: Mapping[str, Kind]
    dims: Mapping[str, Dims]

    def varies(self, name: str) -> bool:
        """Whether some extent of a value depends on a symbolic dimension."""
        return any(isinstance(dim, str) for dim in self.dims.get(name, ()))

    def problem(self, node: NodeProto) -> str:
        """Returns why a program for all extents might compute something else; empty if not.

        Such a program takes operands for of one shape where one of them may be broadcast.
        """
        for name in filter(None, (*node.input, *node.output)):
            kind = self.kinds[name]
            for dim, extent in zip(self.dims[name], kind.shape or (), strict=True):
                if isinstance(dim, str) and extent < 2:
                    return f"an extent of '{name}' may be 1 or another"
        for number in _BROADCAST.get(node.op_type, ()):
            name = node.input[number] if number < len(node.input) else ""
            others = {d for n in (*node.input, *node.output) if n and n != name
                      for d in self.dims[n]}  # fmt: skip
            if name and any(isinstance(d, str) and d not in others for d in self.dims[name]):
                return f"'{name}' may be broadcast or not"
        return ""


def any_extents(graph: SessionGraph, given: Extents) -> AnyExtents:
    """Finds what a graph's values are, by inference for two examples of extents.

    Args:
        graph: of the session.
        given: the symbolic dimensions that have one extent.
    """
    free = [name for name in graph.symbols if name not in given]
    first, second = (
        {**given, **{name: base + step * number for number, name in enumerate(free)}}
        for base, step in (_FIRST, _SECOND)
    )
    kinds, others = graph.kinds(first), graph.kinds(second)
    names = {(first[name], second[name]): name for name in reversed(free)}
    dims: dict[str, Dims] = {}
    for name, kind in kinds.items():
        if kind.shape is None:
            continue
        other = others[name].shape if name in others else None
        known = graph.declared.get(name, ())
        found: list[int | str] = []
        for number, extent in enumerate(kind.shape):
            told = known[number] if number < len(known) else ""
            if told == extent or (isinstance(told, str) and told in given):
                found.append(extent)
            elif other is None or len(other) != len(kind.shape):
                found.append(told if isinstance(told, str) and told else f"{name}.{number}")
            elif other[number] == extent:
                found.append(extent)
            else:
                pair = (extent, other[number])
                found.append(names.setdefault(pair, f"extent_{extent}_{other[number]}"))
        dims[name] = tuple(found)
    return AnyExtents(kinds, dims)
