"""Reads the operands of torch ops for legalization, and builds views of them."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.torch_dialect import (
    aten_name,
    constant_int,
    extents_and_element,
    list_of_ints,
    size,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_to_hipdnn.constants import constant_value, is_constant

Shape = Sequence[int | None]
"""The extents of a tensor, None for dynamic ones."""


def tensor(value: ir.Value) -> tuple[list[int | None], str]:
    """Returns the extents and the element type of a tensor.

    Raises:
        PassFailure: the value is not a tensor, or its rank is unknown.
    """
    read = extents_and_element(value.type)
    if read is None:
        raise PassFailure(f"expected a tensor of known rank, found '{value.type}'", owner(value))
    return read


def static_shape(extents: Shape) -> list[int] | None:
    """Returns the extents if all are static, None otherwise."""
    known = [extent for extent in extents if extent is not None]
    return known if len(known) == len(extents) else None


def extent_of(op: ir.Operation, dim: int) -> int:
    """Returns the extent of a dimension of the first operand.

    Raises:
        PassFailure: the extent is dynamic, or there is no such dimension.
    """
    kind = op.operands[0].type
    shape, _ = tensor(op.operands[0])
    if not -len(shape) <= dim < len(shape):
        raise PassFailure(f"'{aten_name(op)}' expects '{kind}' to have a dimension {dim}", op)
    extent = shape[dim]
    if extent is None:
        message = f"'{aten_name(op)}' expects dimension {dim} of '{kind}' to be static"
        raise PassFailure(message, op)
    return extent


def owner(value: ir.Value) -> ir.Operation | None:
    """Returns the op that defines a value; None for an argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def constant(op: ir.Operation, index: int) -> int | float | bool | list[int] | None:
    """Returns the constant value of an operand.

    Raises:
        PassFailure: the operand is not constant.
    """
    value = op.operands[index]
    if not is_constant(value):
        raise PassFailure(f"'{aten_name(op)}' expects a constant operand #{index}", op)
    return constant_value(value)


def int_operand(op: ir.Operation, index: int) -> int:
    """Returns the value of a constant integer operand.

    Raises:
        PassFailure: the operand is not a constant integer.
    """
    value = constant(op, index)
    if not isinstance(value, int):
        raise PassFailure(f"'{aten_name(op)}' expects an integer operand #{index}", op)
    return value


def number_operand(op: ir.Operation, index: int) -> float:
    """Returns the value of a constant operand that is a number.

    Raises:
        PassFailure: the operand is not a constant number.
    """
    value = constant(op, index)
    if not isinstance(value, int | float):
        raise PassFailure(f"'{aten_name(op)}' expects a number as operand #{index}", op)
    return float(value)


def is_tensor(value: ir.Value) -> bool:
    """Whether a value is a tensor of known rank."""
    return extents_and_element(value.type) is not None


def view(x: ir.Value, shape: Shape, element: str) -> ir.Value:
    """Views `x` as `shape`, whose dynamic extents are those of `x` in their order."""
    extents = list_of_ints(sizes(x, shape))
    return torch_op("aten.view", [x, extents], [vtensor_type(shape, element)]).result


def sizes(x: ir.Value, shape: Shape) -> list[ir.Value]:
    """Returns the extents of `shape`, whose dynamic ones are those of `x` in their order."""
    dynamic = iter([dim for dim, extent in enumerate(tensor(x)[0]) if extent is None])
    return [size(x, next(dynamic)) if one is None else constant_int(one) for one in shape]


def sliced(x: ir.Value, dim: int, start: int, stop: int, result: ir.Type) -> ir.Value:
    """Takes a part of one dimension."""
    bounds = [constant_int(value) for value in (dim, start, stop, 1)]
    return torch_op("aten.slice.Tensor", [x, *bounds], [result]).result


def concatenated(parts: Sequence[ir.Value], dim: int, result: ir.Type) -> ir.Value:
    """Joins tensors along one dimension."""
    tensors = ir.Type.parse("!torch.list<vtensor>")
    listed = torch_op("prim.ListConstruct", parts, [tensors]).result
    return torch_op("aten.cat", [listed, constant_int(dim)], [result]).result
