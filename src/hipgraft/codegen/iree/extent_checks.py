"""Asserts that extents of operands that meet in an op are equal, and that divisors are not 0.

Lowerings to linalg assume equal dynamic extents; if extents differ, kernels would read beyond the
smaller operand. A division by 0 would end the host's process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hipgraft.codegen.iree.entry import find_entry, run_passes
from hipgraft.codegen.iree.linalg_loops import loops_of
from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk

_FOLD = "builtin.module(any(resolve-shaped-type-result-dims),canonicalize,cse)"

_DIVISIONS = frozenset(
    f"arith.{name}"
    for name in ("ceildivsi", "ceildivui", "divsi", "divui", "floordivsi", "remsi", "remui")
)

_Place = tuple[int, int]
"""An operand and one of its dimensions."""


def check_extents(module: ir.Module) -> None:
    """Writes a `cf.assert`, in place, for extents that must be equal and are not known to be.

    It does the same for divisors that must not be 0.

    It erases assertions about values in the bodies of ops: kernels have no way to report them.

    Args:
        module: module on builtin tensors, with an entry function.
    """
    entry = find_entry(module)
    for op in [op for op in walk(entry) if op.name == "cf.assert"]:
        if op.parent != entry:
            op.erase()
    for op in [view.operation for view in entry.regions[0].blocks[0].operations]:
        for one, other in _meetings(op):
            _write(op, one, other)
        if op.name in _DIVISIONS and not _is_constant(op.operands[1]):
            _write_divisor(op)
    run_passes(_FOLD, module)


def _meetings(op: ir.Operation) -> Iterator[tuple[_Place, _Place]]:
    """Yields pairs of operand dimensions that must be equal and are not all static."""
    for places in _equal_places(op):
        extents = [_extent(op, place) for place in places]
        if extents.count(extents[0]) < len(extents) or extents[0] is None:
            yield from ((places[0], other) for other in places[1:])


def _equal_places(op: ir.Operation) -> Iterator[Sequence[_Place]]:
    if op.name == "tensor.concat":
        along = ir.IntegerAttr(op.attributes["dim"]).value
        for dim in range(ir.ShapedType(op.operands[0].type).rank):
            if dim != along:
                yield [(operand, dim) for operand in range(len(op.operands))]
        return
    found: dict[int, list[_Place]] = {}
    for operand, loops in enumerate(loops_of(op)):
        for dim, loop in enumerate(loops):
            found.setdefault(loop, []).append((operand, dim))
    yield from (places for loop, places in found.items() if loop >= 0)


def _extent(op: ir.Operation, place: _Place) -> int | None:
    """Returns a static extent, or None for a dynamic one."""
    kind, dim = ir.ShapedType(op.operands[place[0]].type), place[1]
    return None if kind.is_dynamic_dim(dim) else kind.shape[dim]


def _write(op: ir.Operation, one: _Place, other: _Place) -> None:
    with ir.InsertionPoint(op), op.location:
        equal = ir.Operation.create(
            "arith.cmpi",
            results=[ir.IntegerType.get_signless(1)],
            operands=[_dim(op, one), _dim(op, other)],
            attributes={"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)},
        )
        places = " and ".join(f"dimension {dim} of operand #{n}" for n, dim in (one, other))
        message = ir.StringAttr.get(f"'{op.name}' op expects {places} to be equal")
        ir.Operation.create("cf.assert", operands=[equal.result], attributes={"msg": message})


def _is_constant(value: ir.Value) -> bool:
    return value.owner.name == "arith.constant" if isinstance(value, ir.OpResult) else False


def _write_divisor(op: ir.Operation) -> None:
    divisor = op.operands[1]
    with ir.InsertionPoint(op), op.location:
        zero = ir.Operation.create(
            "arith.constant",
            results=[divisor.type],
            attributes={"value": ir.IntegerAttr.get(divisor.type, 0)},
        )
        other = ir.Operation.create(
            "arith.cmpi",
            results=[ir.IntegerType.get_signless(1)],
            operands=[divisor, zero.result],
            attributes={"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)},
        )
        message = ir.StringAttr.get("an extent that others are divided by is 0")
        ir.Operation.create("cf.assert", operands=[other.result], attributes={"msg": message})


def _dim(op: ir.Operation, place: _Place) -> ir.Value:
    index = ir.IndexType.get()
    position = builders.index_constant(place[1], op.location)
    return ir.Operation.create(
        "tensor.dim", results=[index], operands=[op.operands[place[0]], position]
    ).result
