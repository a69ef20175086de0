"""Adds low-rank adapters (LoRA) to the constant matrix that they adapt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.recognition.constants import (
    Array,
    build_constant,
    constant_array,
    is_float_constant,
    rounded,
)
from hipgraft.transforms.recognition.values import (
    Rules,
    check_interior,
    mode_of,
    same,
    split_splat,
    through_casts,
)

_LEAST_RATIO = 4
"""How many times both extents of a matrix are at least the rank of its adapter."""


@dataclass(frozen=True)
class _Adapter:
    """`scale · ((x · down) · up)`.

    Attributes:
        x: operand of the products.
        down: constant of [depth, rank].
        up: constant of [rank, columns].
        scale: constant number.
    """

    x: ir.Value
    down: ir.Value
    up: ir.Value
    scale: float


def merge_adapter(op: ir.Operation, rules: Rules) -> str | None:
    """Folds `scale · down · up` into w in `x · w [+ bias] + scale · ((x · down) · up)`.

    All but x are constants; `op` is the last sum.
    """
    for wide, narrow in (tuple(op.operands), tuple(op.operands)[::-1]):
        adapter, product = _adapter(narrow), _adapted(wide)
        if adapter is None or product is None or not same(product.operands[0], adapter.x):
            continue
        w, down, up = (
            constant_array(one) for one in (product.operands[1], adapter.down, adapter.up)
        )
        if w is None or down is None or up is None or w.shape != (len(down), up.shape[1]):
            continue
        if _LEAST_RATIO * len(up) > min(w.shape):
            continue
        root = op.results[0]
        check_interior(root, [*product.operands, adapter.x, adapter.down, adapter.up], rules)
        if wide.type != root.type:
            raise Declined("type", "the sum has another type than the product")
        _merge(product, root, wide, w, adapter.scale * (down.astype(float) @ up.astype(float)))
        return "matmul with a merged adapter"
    return None


def _product(value: ir.Value) -> ir.Operation | None:
    """Returns the product by a constant right matrix that defines a value before casts."""
    op = defining_op(through_casts(value))
    if op is None or op.name != hipdnn.MatmulOp.OP_NAME:
        return None
    is_constant = len(shape_of(op.operands[1])) == 2 and is_float_constant(op.operands[1])
    return op if is_constant else None


def _adapter(value: ir.Value) -> _Adapter | None:
    value, scale = _unscaled(value)
    up = _product(value)
    if up is None:
        return None
    value, inner = _unscaled(up.operands[0])
    down = _product(value)
    if down is None:
        return None
    return _Adapter(down.operands[0], down.operands[1], up.operands[1], scale * inner)


def _unscaled(value: ir.Value) -> tuple[ir.Value, float]:
    """Strips a constant factor from a value; returns the rest and the factor."""
    op = defining_op(through_casts(value))
    found = split_splat(op) if op is not None and mode_of(op) == "mul" else None
    return found or (value, 1.0)


def _adapted(value: ir.Value) -> ir.Operation | None:
    """Returns the product in a value that is a product, or a product plus a constant."""
    op = defining_op(through_casts(value))
    if op is not None and mode_of(op) == "add":
        found = [_product(one) for one, other in _orders(op) if is_float_constant(other)]
        return found[0] if found else None
    return _product(value)


def _orders(op: ir.Operation) -> list[tuple[ir.Value, ir.Value]]:
    first, second = op.operands
    return [(first, second), (second, first)]


def _merge(product: ir.Operation, root: ir.Value, wide: ir.Value, w: Array, added: Array) -> None:
    merged = rounded(w.astype(np.float64) + added, w.dtype, axes=(0,))
    with ir.InsertionPoint(product), product.location:
        constant = build_constant(merged, element_type_of(product.operands[1]), "adapted")
    product.operands[1] = constant
    root.replace_all_uses_with(wide)
