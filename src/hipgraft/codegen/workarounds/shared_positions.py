"""Sorts that share the tensor of positions that they reorder."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.io import walk

SHARED_POSITIONS = Workaround(
    name="shared-positions",
    fault="`iree_linalg_ext.sort` reorders its operands in place. CSE merges the position tensors "
    "of sorts of one shape, and IREE elides the copies that all but the last sort need: a "
    "later sort overwrites the positions that an earlier sort returned. So "
    "`argsort(argsort(x))`, which inverts a permutation, is wrong.",
    effect=Effect.WRONG,
    targets="all",
    remedy="Each further sort takes its positions modulo a different large number, which changes "
    "no position and keeps CSE from merging the tensors.",
)

_LARGEST = 2**31 - 1
"""The largest modulus: indices may have 32 bits, and no sorted dimension is as long."""


def separate_positions(module: ir.Module) -> int:
    """Gives each sort its own positions, in place, and returns how many were separated.

    Args:
        module: module after torch ops were lowered.
    """
    if not SHARED_POSITIONS.is_on:
        return 0
    taken: Counter[str] = Counter()
    for op in [op for op in walk(module.operation) if op.name == "iree_linalg_ext.sort"]:
        for number, value in enumerate(op.operands):
            made_by = None if isinstance(value.owner, ir.Block) else value.owner.operation
            if made_by is None or made_by.name != "linalg.generic" or len(made_by.operands) != 1:
                continue
            kind = str(value.type)
            if taken[kind]:
                op.operands[number] = _counted_anew(made_by, _LARGEST - taken[kind])
            taken[kind] += 1
    return sum(taken.values()) - len(taken)


def _counted_anew(positions: ir.Operation, modulus: int) -> ir.Value:
    """Returns the same positions, taken modulo a number that is larger than all of them."""
    with ir.InsertionPoint(positions), positions.location:
        copy = positions.clone()
        (block,) = copy.regions[0].blocks
        operations = [op.operation for op in block.operations]
        for op, after in pairwise(operations):
            if op.name != "linalg.index":
                continue
            with ir.InsertionPoint(after):
                number = arith_d.ConstantOp(ir.IndexType.get(), modulus).result
                rest = ir.Operation.create(
                    "arith.remui", results=[op.result.type], operands=[op.result, number]
                )
            op.result.replace_all_uses_except(rest.result, rest)
    return copy.results[0]
