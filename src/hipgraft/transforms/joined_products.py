"""Reports which products with a common left factor share a graph, and why the rest do not."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.ir.bindings import ir
from hipgraft.passmanager.base import PassState
from hipgraft.transforms.outlining import Group, Grouping
from hipgraft.transforms.partition.kindred import PRODUCT, why_apart

_CHOSEN = "other graphs take less time, or its result would wait for other contractions"


def report_joined(group: Group, name: str, state: PassState) -> None:
    """Reports a graph of several products, at the first of them."""
    products = [op for op in group.ops if op.name == PRODUCT]
    if len(products) > 1:
        message = f"{len(products)} products of one left factor share graph '{name}'"
        state.passed(products[0], "joined", message, products=str(len(products)))
        state.count("joined-products", len(products))


def report_apart(ops: Sequence[ir.Operation], grouping: Grouping, state: PassState) -> None:
    """Reports products that share no graph with an earlier product of the same left factor.

    Args:
        ops: ops of a block.
        grouping: grouping of these ops.
        state: receives the remarks.
    """
    before: dict[ir.Value, ir.Operation] = {}
    for op in ops:
        if op.name != PRODUCT:
            continue
        other = before.get(op.operands[0])
        before[op.operands[0]] = op
        if other is None:
            continue
        groups = {id(grouping.producer(one.results[0])) for one in (op, other)}
        if len(groups) > 1:
            reason = why_apart(other, op) or _CHOSEN
            message = f"'{op.name}' shares no graph with another product of its operand: {reason}"
            state.missed(op, "products-apart", message)
