"""Rows of booleans that are reduced as integers."""

from __future__ import annotations

from collections.abc import Iterable

from hipgraft.codegen.iree.linalg_loops import generics_of
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op, integer_constant
from hipgraft.ir.io import walk

COUNTED_BOOLEANS = Workaround(
    name="counted-booleans",
    fault="LLVM combines nodes forever if the lanes of a wavefront share rows of booleans that are "
    "reduced as integers, for example rows of 16 or 40. IREE itself shares such rows if each "
    "boolean has an integer factor.",
    effect=Effect.HANGS,
    targets="gfx942, gfx1100",
    remedy="Each lane reduces whole rows. A boolean factor selects the other factor or 0.",
)


@COUNTED_BOOLEANS.avoids
def counts_booleans(ops: Iterable[ir.Operation]) -> bool:
    """Returns whether generic ops extend booleans to integers."""
    inner = (one.operation for op in ops for one in op.regions[0].blocks[0].operations)
    return any(map(_extends_boolean, inner))


def select_factors(module: ir.Module, target: Target) -> None:
    """Replaces products of integers and booleans by selections.

    Args:
        module: the module after the phase `executable-configurations`.
        target: the target of the module.
    """
    if target.kind is not TargetKind.AMDGPU:
        return
    products = [
        op
        for ops in generics_of(module)
        for each in ops
        for op in walk(each)
        if op.name == "arith.muli"
    ]
    for op in products:
        for factor, other in zip(op.operands, reversed(op.operands), strict=True):
            extension = defining_op(factor)
            if extension is None or not has_boolean_factor(extension):
                continue
            with ir.InsertionPoint(op), op.location as location:
                zero = integer_constant(0, ir.IntegerType(factor.type).width, location)
                operands = [extension.operands[0], other, zero]
                selected = ir.Operation.create(
                    "arith.select", results=[factor.type], operands=operands
                )
            op.results[0].replace_all_uses_with(selected.result)
            op.erase()
            break


@COUNTED_BOOLEANS.avoids
def has_boolean_factor(factor: ir.Operation) -> bool:
    """Whether the op that makes a factor of integers extends a boolean."""
    return _extends_boolean(factor)


def _extends_boolean(op: ir.Operation) -> bool:
    if op.name != "arith.extui":
        return False
    kind = op.operands[0].type
    return isinstance(kind, ir.IntegerType) and kind.width == 1
