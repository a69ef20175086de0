"""Finds products of one left factor that may share a kernel, such as q, k and v of attention.

The shared kernel loads each tile of that factor once, and saves launches.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import prod

from hipgraft.codegen.products import MATRIX_ROWS, few_rows
from hipgraft.dialects.hipdnn import ViewOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.tensors import element_of, shape_of
from hipgraft.transforms.partition.program import Program, Role

PRODUCT = "hipdnn.matmul"

_WAIT = 1
"""Contractions for which a result may wait at most: v waits for the scores, which q and k make.
Products of the same operand in other layers would occupy memory for long."""


def why_alone(op: ir.Operation) -> str | None:
    """Returns why a product shares no kernel with others of its left factor; None if it may."""
    left, right = (shape_of(value) for value in list(op.operands)[:2])
    if prod(left[:-2]) > 1 or prod(right[:-2]) > 1:
        return "it multiplies several pairs of matrices"
    if left[-2] % MATRIX_ROWS and left[-2] > few_rows(bit_width(element_of(op.operands[1]))):
        return f"its {left[-2]} rows are no multiple of {MATRIX_ROWS}"
    if left[-2] % MATRIX_ROWS and not _reads_columns(op.operands[1]):
        return f"its right factor is not stored by columns, as {left[-2]} rows need"
    return "its right factor is computed" if _is_computed(op.operands[1]) else None


def why_apart(first: ir.Operation, second: ir.Operation) -> str | None:
    """Returns why two products of one left factor share no kernel, None if they may."""
    reason = why_alone(first) or why_alone(second)
    if reason is None and _form(first) != _form(second):
        return "their right factors have other types or layouts"
    return reason


def _form(op: ir.Operation) -> tuple[Hashable, ...]:
    """Returns the types, and the strides of the right factor; IREE compares both."""
    owner = defining_op(op.operands[1])
    strides = None if owner is None or owner.name != "hipdnn.view" else owner.attributes["strides"]
    kinds = (*(value.type for value in op.operands), *(value.type for value in op.results))
    return (*kinds, str(strides), str(op.attributes.get("compute_type")))


def _reads_columns(value: ir.Value) -> bool:
    """Whether the columns of a matrix are contiguous."""
    owner = defining_op(value)
    return owner is not None and owner.name == ViewOp.OP_NAME and ViewOp(owner).strides[-2] == 1


def _is_computed(value: ir.Value) -> bool:
    owner = defining_op(value)
    if owner is not None and owner.name == "hipdnn.view":
        owner = defining_op(owner.operands[0])
    return owner is not None and owner.name != "arith.constant"


def mark_kindred(program: Program, free: Mapping[int, ir.Operation]) -> None:
    """Sets which products may share a kernel.

    Args:
        program: the ops of a block.
        free: those that may be grouped.
    """
    alike: dict[Hashable, list[int]] = {}
    for number, op in free.items():
        if op.name == PRODUCT and why_alone(op) is None:
            alike.setdefault((op.operands[0], *_form(op)), []).append(number)
    if all(len(ops) < 2 for ops in alike.values()):
        return
    due = _due(program)
    number = 0
    for ops in alike.values():
        ops.sort(key=lambda op: due[op])
        first = -1
        for op in ops:
            if first < 0 or due[op] > due[first] + _WAIT:
                first, number = op, number + 1
            program.relate(op, number)


def _due(program: Program) -> list[int]:
    """Returns, for each op, the number of contractions before the first one that needs the op."""
    count = len(program.ops)
    is_anchor = [facts.role is Role.ANCHOR for facts in program.ops]
    early = [0] * count
    for op in range(count):
        sources = (program.producer[value] for value in program.reads[op])
        early[op] = max((early[one] for one in sources if one >= 0), default=0) + is_anchor[op]
    due = [max(early, default=0)] * count
    for op in reversed(range(count)):
        for value in program.reads[op]:
            source = program.producer[value]
            if source >= 0:
                due[source] = min(due[source], due[op] - is_anchor[op])
    return due
