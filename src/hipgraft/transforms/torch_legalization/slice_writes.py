"""Rewrites writes of whole slices to concatenations.

Other ops can compute the parts of a concatenation in place. A model that writes the results of its
steps one after the other (`out[:, t] = y`) then takes no launch for that.
"""

from __future__ import annotations

import math

from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import aten_name, constant_int, torch_op, vtensor_type
from hipgraft.transforms.torch_legalization.operands import concatenated, owner, sliced, tensor
from hipgraft.transforms.torch_to_hipdnn.constants import constant_value, is_constant

_MOST_INDICES = 4096
"""Of literals that are read element by element."""


def scatter(op: ir.Operation) -> ir.Value | None:
    """Rewrites `aten.scatter.src` whose indices are those of a slice."""
    base, dim, indices, source = op.operands
    at, start = _integer(dim), _first_index(op)
    if at is None or start is None or tensor(indices)[0] != tensor(source)[0]:
        return None
    return _written(base, at, start, source, op.results[0].type)


def slice_scatter(op: ir.Operation) -> ir.Value | None:
    """Rewrites `aten.slice_scatter` with constant bounds and step 1."""
    base, source, dim, start, _, step = op.operands
    at, first = _integer(dim), _integer(start)
    if at is None or first is None or _integer(step) != 1:
        return None
    return _written(base, at, first, source, op.results[0].type)


def select_scatter(op: ir.Operation) -> ir.Value | None:
    """Rewrites `aten.select_scatter` with a constant index."""
    base, source, dim, index = op.operands
    at, start = _integer(dim), _integer(index)
    if at is None or start is None:
        return None
    shape, element = tensor(base)
    at %= len(shape)
    one = vtensor_type([*shape[:at], 1, *shape[at + 1 :]], element)
    source = torch_op("aten.unsqueeze", [source, constant_int(at)], [one]).result
    return _written(base, at, start, source, op.results[0].type)


def _integer(value: ir.Value) -> int | None:
    found = constant_value(value) if is_constant(value) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _first_index(op: ir.Operation) -> int | None:
    """Returns the first index of a scatter that writes a slice; None if it writes no slice."""
    dim, literal = _integer(op.operands[1]), owner(op.operands[2])
    shape, _ = tensor(op.operands[2])
    if dim is None or literal is None or literal.name != "torch.vtensor.literal":
        return None
    if None in shape or not shape:
        return None
    extents = [extent or 0 for extent in shape]
    dim %= len(extents)
    values = literal.attributes["value"]
    if not isinstance(values, ir.DenseElementsAttr) or math.prod(extents) == 0:
        return None
    if values.is_splat:
        return ir.IntegerAttr(values.get_splat_value()).value if extents[dim] == 1 else None
    if math.prod(extents) > _MOST_INDICES or not isinstance(values, ir.DenseIntElementsAttr):
        return None
    inner = math.prod(extents[dim + 1 :])
    found = [int(values[number]) for number in range(math.prod(extents))]
    expected = [found[0] + number // inner % extents[dim] for number in range(len(found))]
    return found[0] if found == expected else None


def _written(
    base: ir.Value, dim: int, start: int, source: ir.Value, result: ir.Type
) -> ir.Value | None:
    """Returns `base` with `source` written at `start` of a dimension; None for other writes."""
    shape, element = tensor(base)
    own, kind = tensor(source)
    dim %= len(shape)
    extent, length = shape[dim], own[dim]
    if extent is None or length is None or kind != element:
        return None
    start += extent if start < 0 else 0
    others = [one for at, one in enumerate(shape) if at != dim]
    fits = others == [one for at, one in enumerate(own) if at != dim] and None not in others
    if not fits or length == 0 or not 0 <= start <= extent - length:
        return None
    parts: list[ir.Value] = []
    position = 0
    for part in _parts(base, dim):
        size = tensor(part)[0][dim] or 0
        before, after = min(start - position, size), min(position + size - start - length, size)
        if before > 0:
            parts.append(_part(part, dim, 0, before))
        if position <= start < position + size:
            parts.append(source)
        if after > 0:
            parts.append(_part(part, dim, size - after, size))
        position += size
    return parts[0] if len(parts) == 1 else concatenated(parts, dim, result)


def _parts(value: ir.Value, dim: int) -> list[ir.Value]:
    """Returns the parts of a concatenation along a dimension, or the value itself."""
    op = owner(value)
    if op is None or aten_name(op) != "aten.cat" or _integer(op.operands[1]) != dim:
        return [value]
    listed = owner(op.operands[0])
    if listed is None or listed.name != "torch.prim.ListConstruct":
        return [value]
    parts = list(listed.operands)
    is_known = len(parts) > 0 and all(tensor(part)[0][dim] is not None for part in parts)
    return parts if is_known else [value]


def _part(x: ir.Value, dim: int, start: int, stop: int) -> ir.Value:
    shape, element = tensor(x)
    if (start, stop) == (0, shape[dim]):
        return x
    kind = vtensor_type([*shape[:dim], stop - start, *shape[dim + 1 :]], element)
    return sliced(x, dim, start, stop, kind)
