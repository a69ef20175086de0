"""Rewrites sums and means over a stack of tensors as additions."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import (
    aten_name,
    cast,
    constant_float,
    constant_int,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_legalization.functions import FLOATS
from hipgraft.transforms.torch_legalization.operands import constant, owner, tensor, view

_MOST = 8
"""The most tensors that are added one by one."""


def stacked_sum(op: ir.Operation) -> ir.Value | None:
    """Rewrites `sum` and `mean` over the dim along which tensors of extent 1 are concatenated.

    The additions join the kernels that compute the tensors; the stack would be a copy of them.
    They are in f32, or f64 for f64, as those of a reduction.
    """
    x = op.operands[0]
    shape, element = tensor(x)
    found = _parts(x)
    if element not in FLOATS or found is None or constant(op, 3) is not None:
        return None
    parts, axis = found
    axes = constant(op, 1)
    if not isinstance(axes, list) or [dim % len(shape) for dim in axes] != [axis]:
        return None
    wide = "f64" if element == "f64" else "f32"
    kind = vtensor_type([*shape[:axis], 1, *shape[axis + 1 :]], wide)
    total, *terms = (part if tensor(part)[1] == wide else cast(part, wide) for part in parts)
    for term in terms:
        total = torch_op("aten.add.Tensor", [total, term, constant_int(1)], [kind]).result
    if aten_name(op) == "aten.mean.dim":
        count = constant_float(float(len(parts)))
        total = torch_op("aten.div.Scalar", [total, count], [kind]).result
    total = total if element == wide else cast(total, element)
    return view(total, *tensor(op.result))


def _parts(x: ir.Value) -> tuple[list[ir.Value], int] | None:
    """Returns the tensors that a concatenation joins if their extents along its dim are 1."""
    joined = owner(x)
    if joined is None or aten_name(joined) != "aten.cat":
        return None
    listed, dim = owner(joined.operands[0]), constant(joined, 1)
    if listed is None or listed.name != "torch.prim.ListConstruct" or not isinstance(dim, int):
        return None
    values = list(listed.operands)
    axis = dim % len(tensor(x)[0])
    is_stack = all(tensor(value)[0][axis] == 1 for value in values)
    return (values, axis) if is_stack and 2 <= len(values) <= _MOST else None
