"""Derives properties of a session's values for symbolic dimensions of any extents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnx import NodeProto

from hipgraft.frontends.symbols import Extents
from hipgraft.onnxruntime.graph import Kind, SessionGraph, Shape

# Each example gives two extents to the symbols, so that dimensions which are equal in all examples
# are always equal. The first two examples use multiples of 32, like the common sizes in models; the
# last one is below the sizes of tables, such as those of positions.
_EXAMPLES = ((64, 32), (32, 96), (3, 2))

_BROADCAST: Mapping[str, tuple[int, ...]] = {
    "Attention": (3,),
    "Gemm": (2,),
    "GroupQueryAttention": (10,),
    "LayerNormalization": (1, 2),
    "MultiHeadAttention": (4, 5),
    "PRelu": (1,),
    "RMSNormalization": (1,),
}
"""Operands that broadcast, for which type inference does not check that they can."""

Dims = tuple[int | str, ...]


@dataclass(frozen=True)
class AnyExtents:
    """Types of values by name, as functions of symbolic dimensions.

    Values whose shapes depend on data are not among those of known shapes.

    Attributes:
        kinds: types for one example of extents.
        dims: dimensions of values of known shapes: a fixed extent, or a name. Dimensions with equal
            names have equal extents.
    """

    kinds: Mapping[str, Kind]
    dims: Mapping[str, Dims]

    def varies(self, name: str) -> bool:
        """Returns whether some extent of a value depends on a symbolic dimension."""
        return any(isinstance(dim, str) for dim in self.dims.get(name, ()))

    def problem(self, node: NodeProto) -> str:
        """Returns why a program for all extents might be wrong; empty if it is certainly right.

        Such a program assumes equal shapes of operands even if one of them may be broadcast.
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
    """Derives the types of a graph's values by inference for some examples of extents.

    Args:
        graph: graph of the session.
        given: symbolic dimensions with one extent.
    """
    free = [name for name in graph.symbols if name not in given]
    examples = [
        {name: base + step * number for number, name in enumerate(free)} for base, step in _EXAMPLES
    ]
    kinds, *others = (graph.kinds({**given, **one}) for one in examples)
    names = {tuple(one[name] for one in examples): name for name in reversed(free)}
    dims: dict[str, Dims] = {}
    for name, kind in kinds.items():
        if kind.shape is None:
            continue
        shapes = [kind.shape, *(_shape(one, name, len(kind.shape)) for one in others)]
        told = graph.declared.get(name, ())
        found: list[int | str] = []
        for number, extent in enumerate(kind.shape):
            seen = [shape[number] for shape in shapes if shape]
            known = told[number] if number < len(told) else ""
            if extent == known or (len(seen) > 1 and set(seen) == {extent}) or known in given:
                found.append(extent)
            elif known:
                found.append(known)
            elif len(seen) == len(examples):
                found.append(names.setdefault(tuple(seen), f"extent_{'_'.join(map(str, seen))}"))
            else:
                found.append(f"{name}.{number}")
        dims[name] = tuple(found)
    return AnyExtents(kinds, dims)


def _shape(kinds: Mapping[str, Kind], name: str, rank: int) -> Shape:
    """Returns a value's shape; empty if it is unknown."""
    shape = kinds[name].shape if name in kinds else None
    return shape if shape is not None and len(shape) == rank else ()
