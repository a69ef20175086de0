"""Rewrites negative indices and shifts in PyTorch's forms that torch-mlir lacks."""

from __future__ import annotations

from functools import partial

from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.torch_dialect import (
    aten_name,
    constant_int,
    size,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_legalization.operands import is_tensor, tensor


def _shift(name: str, op: ir.Operation) -> ir.Value | None:
    """Rewrites a shift to `name`, the op that shifts by a tensor."""
    x, amount = op.operands
    if not is_tensor(amount):
        one = constant_int(1)
        zero = torch_op("aten.sub.Tensor", [x, x, one], [x.type]).result
        amount = torch_op("aten.add.Scalar", [zero, amount, one], [x.type]).result
    return torch_op(name, [x, amount], [op.results[0].type]).result


SHIFTS = {
    f"aten.{name}": partial(_shift, f"aten.bitwise_{side}_shift.Tensor")
    for side in ("left", "right")
    for name in (
        f"__{side[0]}shift__.Scalar",
        f"__{side[0]}shift__.Tensor",
        f"bitwise_{side}_shift.Tensor_Scalar",
    )
}
"""The rewrites of shifts."""


def index_put(op: ir.Operation) -> ir.Value | None:
    """Lets the indices of `index_put(x, indices, values, accumulate)` count from the front.

    torch-mlir would write in front of the tensor for negative indices. Masks stay.
    """
    x, listed = op.operands[0], defining_op(op.operands[1])
    if listed is None or listed.name != "torch.prim.ListConstruct":
        return None
    indices = list(listed.operands)
    places = [one for one in indices if is_tensor(one)]
    if any(tensor(one)[1] not in ("si64", "si32") for one in places):
        return None
    if all(map(_counts_from_front, places)):
        return None
    counted = [
        _from_front(one, x, dim) if is_tensor(one) else one for dim, one in enumerate(indices)
    ]
    places = torch_op("prim.ListConstruct", counted, [listed.results[0].type]).result
    operands = [x, places, *list(op.operands)[2:]]
    return torch_op(aten_name(op), operands, [op.results[0].type]).result


def _counts_from_front(index: ir.Value) -> bool:
    """Whether `_from_front` made the indices."""
    made = defining_op(index)
    if made is None or made.name != "torch.aten.where.self":
        return False
    test = defining_op(made.operands[0])
    if test is None or test.name != "torch.aten.lt.Scalar":
        return False
    return test.operands[0] == made.operands[2]


def _from_front(index: ir.Value, x: ir.Value, dim: int) -> ir.Value:
    shape, _ = tensor(index)
    extent = tensor(x)[0][dim]
    count = size(x, dim) if extent is None else constant_int(extent)
    operands = [index, constant_int(0)]
    is_below = torch_op("aten.lt.Scalar", operands, [vtensor_type(shape, "i1")]).result
    later = torch_op("aten.add.Scalar", [index, count, constant_int(1)], [index.type]).result
    return torch_op("aten.where.self", [is_below, later, index], [index.type]).result
