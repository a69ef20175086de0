"""Rewrites convolutions whose results are read in part, and those without a batch."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import (
    aten_name,
    constant_float,
    constant_int,
    int_list,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_legalization.operands import constant, int_operand, owner, tensor
from hipgraft.transforms.torch_to_hipdnn.constants import is_constant

CONVOLUTIONS = ("aten.convolution", "aten.conv1d", "aten.conv2d", "aten.conv3d")
"""The ops whose first operands are an image and filters of the same rank."""

TRANSPOSED = ("aten.conv_transpose1d", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
"""Their transposed forms."""


def crop_convolution(op: ir.Operation) -> ir.Value | None:
    """Computes only those positions of a convolution that `op`, a slice, reads.

    Models write a causal convolution as a padded convolution without the last positions. Returns
    None if another op reads the convolution, or if the positions do not need all of its input.
    """
    made = owner(op.operands[0])
    if made is None or aten_name(made) not in CONVOLUTIONS:
        return None
    attributes = [*list(op.operands)[1:], *list(made.operands)[3:]]
    if len(list(made.results[0].uses)) != 1 or not all(map(is_constant, attributes)):
        return None
    is_float = tensor(made.operands[0])[1].startswith(("f", "bf"))
    is_transposed = aten_name(made) == "aten.convolution" and constant(made, 6)
    if is_transposed or not is_float or constant(op, 4) != 1:
        return None
    shapes = [tensor(value)[0] for value in (*made.operands[:2], *made.results, *op.results)]
    if any(None in shape for shape in shapes):
        return None
    x, w, whole, part = ([extent or 0 for extent in shape] for shape in shapes)
    stride, padding, dilation = (_integers(made, index) for index in (3, 4, 5))
    dim, first = int_operand(op, 1) % len(x), constant(op, 2) or 0
    spatial = dim - (len(x) - len(stride))
    if spatial < 0 or not isinstance(first, int):
        return None
    first = min(max(first + whole[dim] if first < 0 else first, 0), whole[dim])
    before = padding[spatial] - first * stride[spatial]
    reach = (part[dim] - 1) * stride[spatial] + (w[dim] - 1) * dilation[spatial] + 1
    after = reach - x[dim] - before
    if part[dim] == 0 or before < 0 or after < 0:
        return None
    amounts = [(n, n) for n in padding]
    amounts[spatial] = (before, after)
    return _padded_convolution(made, x, amounts, op.results[0].type)


def batched_convolution(op: ir.Operation) -> ir.Value | None:
    """Adds a batch of one image to a convolution without a batch, which torch-mlir lacks."""
    (extents, element), (results, _) = tensor(op.operands[0]), tensor(op.results[0])
    if len(extents) == len(tensor(op.operands[1])[0]):
        return None
    first, operands = constant_int(0), list(op.operands)
    kinds = [vtensor_type([1, *shape], element) for shape in (extents, results)]
    operands[0] = torch_op("aten.unsqueeze", [operands[0], first], [kinds[0]]).result
    y = torch_op(aten_name(op), operands, [kinds[1]]).result
    return torch_op("aten.squeeze.dim", [y, first], [op.results[0].type]).result


def _integers(op: ir.Operation, index: int) -> list[int]:
    value = constant(op, index)
    return value if isinstance(value, list) else []


def _padded_convolution(
    op: ir.Operation, shape: list[int], amounts: list[tuple[int, int]], kind: ir.Type
) -> ir.Value:
    """Builds a convolution like `op` with a separately padded operand and result type `kind`."""
    padded = list(shape)
    for dim, pair in enumerate(amounts, len(shape) - len(amounts)):
        padded[dim] += sum(pair)
    flat = [amount for pair in reversed(amounts) for amount in pair]
    element = tensor(op.operands[0])[1]
    operands = [op.operands[0], int_list(flat), constant_float(0.0)]
    x = torch_op("aten.constant_pad_nd", operands, [vtensor_type(padded, element)]).result
    operands = list(op.operands)
    operands[0], operands[4] = x, int_list([0] * len(amounts))
    return torch_op(aten_name(op), operands, [kind]).result
