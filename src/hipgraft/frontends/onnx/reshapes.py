"""Makes shape operands of reshapes constant if only extents of the input vary.

Exporters compute shapes such as `[Shape(x)[0], Shape(x)[1], -1, 12]`. Compilers cannot evaluate a
-1 among computed numbers; the constant `[0, 0, 4, 12]` gives the same shape.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import onnx
from onnx import numpy_helper

_Dim: TypeAlias = int | str  # an extent, or the name of one


def settle_reshapes(graph: onnx.GraphProto) -> bool:
    """Gives `Reshape` nodes constant shapes if inference finds enough of their results' extents.

    Args:
        graph: graph with inferred shapes; changed in place.

    Returns:
        Whether any node has changed.
    """
    shapes = _shapes(graph)
    constants = {tensor.name for tensor in graph.initializer}
    changed = False
    for node in graph.node:
        if node.op_type != "Reshape" or node.input[1] in constants:
            continue
        before, after = shapes.get(node.input[0]), shapes.get(node.output[0])
        target = None if before is None or after is None else _target(before, after)
        if target is not None:
            name = f"{node.output[0]}_shape"
            graph.initializer.append(numpy_helper.from_array(np.array(target), name))
            node.input[1] = name
            del node.attribute[:]  # a 0 may have meant an extent
            changed = True
    return changed


def _shapes(graph: onnx.GraphProto) -> Mapping[str, Sequence[_Dim]]:
    shapes: dict[str, Sequence[_Dim]] = {}
    for value in [*graph.value_info, *graph.input, *graph.output]:
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(map(_is_known, dims)):
            shapes[value.name] = [
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in dims
            ]
    return shapes


def _is_known(dim: onnx.TensorShapeProto.Dimension) -> bool:
    return dim.HasField("dim_value") or bool(dim.dim_param)


def _target(before: Sequence[_Dim], after: Sequence[_Dim]) -> list[int] | None:
    """Returns the operand of `Reshape`: 0 copies the input's extent, -1 means the rest."""
    target: list[int | None] = []
    for position, dim in enumerate(after):
        same = position < len(before) and before[position] == dim
        target.append(dim if isinstance(dim, int) else 0 if same else None)
    unknown = target.count(None)
    if unknown > 1 or 0 in after:
        return None
    rest = _rest(before, [dim for dim, one in zip(after, target, strict=True) if one is not None])
    return [rest if one is None else one for one in target]


def _rest(before: Sequence[_Dim], known: Sequence[_Dim]) -> int:
    """Returns the extent of the one unknown dimension; -1 if it varies."""
    left = Counter(d for d in before if isinstance(d, str))
    left.subtract(d for d in known if isinstance(d, str))
    if any(left.values()):
        return -1
    numbers = [math.prod(d for d in dims if isinstance(d, int)) for dims in (before, known)]
    return numbers[0] // numbers[1]
