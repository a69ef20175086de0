"""Counts the kernels that must finish before a value's own kernel starts."""

from __future__ import annotations

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.fusion import ELEMENTWISE, is_compute

NO_LEVEL = -1
"""The level of values that no kernel computes."""


class KernelLevels:
    """The levels of the values of a block, whose ops are noted first to last.

    The level of a value is the least number of kernels that must finish before its own kernel
    starts.
    """

    def __init__(self) -> None:
        self._levels: dict[ir.Value, int] = {}

    def of(self, value: ir.Value) -> int:
        """Returns the level of a value; that of the base if it is a view."""
        return self._levels.get(base_of(value), NO_LEVEL)

    def note(self, op: ir.Operation) -> None:
        """Records the level of an op's results."""
        level = max((self._after(op, value) for value in op.operands), default=NO_LEVEL)
        if is_compute(op):
            level = max(level, 0)
        for value in op.results:
            self._levels[value] = level

    def replace(self, old: ir.Value, new: ir.Value) -> None:
        """Gives the level of one value to another; the first may then be erased."""
        self._levels[new] = self._levels.pop(old)

    def _after(self, op: ir.Operation, value: ir.Value) -> int:
        level = self.of(value)
        is_barrier = level != NO_LEVEL and is_compute(op) and not joins(op, value)
        return level + is_barrier


def base_of(value: ir.Value) -> ir.Value:
    """Returns the base of a view, or the value itself."""
    owner = defining_op(value)
    return value if owner is None or owner.name != hipdnn.ViewOp.OP_NAME else owner.operands[0]


def joins(op: ir.Operation, value: ir.Value) -> bool:
    """Whether the shape of an op lets it share the kernel that computes a value."""
    owner = defining_op(value)
    if owner is None or not is_compute(owner):
        return False
    if op.name in ELEMENTWISE:
        walked = [owner.results[0]]
        if owner.name not in ELEMENTWISE:
            walked += list(owner.operands)[:1]
        return shape_of(op.results[0]) in map(shape_of, walked)
    is_walk = op.name in ("hipdnn.layernorm", "hipdnn.rmsnorm", "hipdnn.reduction")
    return is_walk and owner.name in ELEMENTWISE and op.operands[0] == value
