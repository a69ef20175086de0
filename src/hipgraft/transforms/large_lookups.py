"""Finds table lookups with large results, which run best right before their readers."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import byte_size
from hipgraft.transforms.torch_to_hipdnn.converter import builtin_tensor_type
from hipgraft.transforms.torch_to_hipdnn.views import VIEWS

# Lookup ops, and the position of their index operand.
_LOOKUPS = {"torch.aten.gather": 2, "torch.aten.index_select": 2, "torch.aten.embedding": 1}

# Ops that are cheap enough to recompute for each lookup.
_ARITHMETIC = frozenset(
    f"torch.aten.{name}" for name in ("lt.Scalar", "add.Scalar", "where.self", "broadcast_to")
)
_CHEAP = _ARITHMETIC | frozenset(VIEWS)

_LEAVING = "torch_c.to_builtin_tensor"
_LARGE = 1 << 14


def separate(block: ir.Block) -> dict[ir.Operation, int]:
    """Gives each large lookup its own index arithmetic; returns the lookup number of these ops.

    A container computes all of its ops at once. If two lookups share a container, for example the
    lookups of expert weights that a router chooses, both results occupy memory before the first is
    read. Lookups in tensors that other torch ops compute share the kernels of these ops instead.
    """
    found: dict[ir.Operation, int] = {}
    for number, op in enumerate([op.operation for op in block.operations]):
        if op.name in _LOOKUPS and _is_large(op) and not _is_computed(op.operands[0]):
            position, made = _LOOKUPS[op.name], list[ir.Operation]()
            op.operands[position] = _own(op.operands[position], op, made)
            found |= dict.fromkeys([*made, op], number)
    return found


def _is_large(op: ir.Operation) -> bool:
    """Whether a result is large, and read by no other torch op."""
    try:
        kind = builtin_tensor_type(op.results[0].type)
    except Declined:
        return False
    readers = [use.owner.operation.name for use in op.results[0].uses]
    size = byte_size(kind.shape, kind.element_type) if kind.has_static_shape else None
    return (size or 0) >= _LARGE and all(name == _LEAVING for name in readers)


def _is_computed(value: ir.Value) -> bool:
    made = defining_op(value)
    return made is not None and made.name.startswith("torch.")


def _own(value: ir.Value, lookup: ir.Operation, copies: list[ir.Operation]) -> ir.Value:
    """Copies cheap index arithmetic for one lookup, right before the lookup."""
    made = defining_op(value)
    if made is None or made.name not in _CHEAP:
        return value
    operands = [_own(operand, lookup, copies) for operand in made.operands]
    with ir.InsertionPoint(lookup):
        copy = made.clone().operation
    for position, operand in enumerate(operands):
        copy.operands[position] = operand
    copies.append(copy)
    return copy.results[0]
