"""The order of NaN among numbers: in sorts, and in the positions of maxima and minima."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk
from hipgraft.ir.unused import erase_unused

NAN_ORDER = Workaround(
    name="nan-order",
    fault="torch-mlir lowers `sort`, `argmax`, `argmin`, `max.dim` and `min.dim` to comparisons "
    "that are false for NaN: sorts leave NaN and its neighbours in any order, and the position of "
    "an extreme is never that of a NaN.",
    effect=Effect.WRONG,
    targets="all",
    remedy="The comparisons treat NaN as the largest number in sorts, and the first NaN of a row "
    "as its maximum and its minimum, as PyTorch and NumPy do.",
)

_OGT, _OGE, _OLT, _OLE, _ORD, _UNO = 2, 3, 4, 5, 7, 14
"""Predicates of `arith.cmpf`."""

_OR_UNORDERED = 7
"""Added to `ogt`, gives `ugt`, and so on; these are also true if an operand is NaN."""


def order_nans(module: ir.Module) -> int:
    """Rewrites comparisons that find positions of extremes, or sort, in place; returns how many.

    Args:
        module: module after torch ops were lowered.
    """
    found = [
        (op, compare)
        for op in walk(module.operation)
        for compare in (_comparison(op),)
        if compare is not None and _ignores_nans(compare)
    ]
    for op, compare in found:
        is_sort = op.name == "iree_linalg_ext.sort"
        with ir.InsertionPoint(compare), compare.location:
            new = (_before if is_sort else _better)(compare)
            compare.results[0].replace_all_uses_with(new)
            if op.name == "linalg.generic":
                # On GPUs, `arith.maximumf` of a NaN and a number returns the number.
                operands = [new, *compare.operands]
                value = ir.Operation.create("arith.select", [operands[1].type], operands).result
                _yielded(op)[0].replace_all_uses_with(value)
        erase_unused(op.regions[0].blocks[0])
    return len(found)


@NAN_ORDER.avoids
def _ignores_nans(compare: ir.Operation) -> bool:
    return _predicate(compare) in (_OGT, _OGE, _OLT, _OLE)


def _comparison(op: ir.Operation) -> ir.Operation | None:
    """Returns the comparison of floats in a sort, or in a search for a row's extreme."""
    if op.name in ("iree_linalg_ext.sort", "iree_linalg_ext.arg_compare"):
        return _made_by(_yielded(op)[0], "arith.cmpf")
    # A maximum whose position nothing reads, as in softmax, is fused with the ops around it.
    if op.name != "linalg.generic" or len(op.results) != 2 or not list(op.results[1].uses):
        return None
    value, index = (_made_by(one) for one in _yielded(op))
    if value is None or value.name not in ("arith.maximumf", "arith.minimumf"):
        return None
    if index is None or index.name != "arith.select":
        return None
    return _made_by(index.operands[0], "arith.cmpf")


def _yielded(op: ir.Operation) -> list[ir.Value]:
    return list(list(op.regions[0].blocks[0].operations)[-1].operands)


def _made_by(value: ir.Value, name: str | None = None) -> ir.Operation | None:
    made = None if isinstance(value.owner, ir.Block) else value.owner.operation
    return made if made is not None and name in (None, made.name) else None


def _better(compare: ir.Operation) -> ir.Value:
    """Creates the test of whether an element beats the best so far, or is the row's first NaN."""
    element, best = compare.operands
    is_better = _compared(_predicate(compare) + _OR_UNORDERED, element, best)
    return _bit("andi", is_better, _compared(_ORD, best, best))


def _before(compare: ir.Operation) -> ir.Value:
    """Creates the test of whether the first of two elements in a sort may precede the second."""
    first, second = compare.operands
    larger = first if _predicate(compare) in (_OGT, _OGE) else second
    is_ordered = _compared(_predicate(compare), first, second)
    return _bit("ori", is_ordered, _compared(_UNO, larger, larger))


def _compared(predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
    i1, i64 = (ir.IntegerType.get_signless(width) for width in (1, 64))
    attributes: dict[str, ir.Attribute] = {"predicate": ir.IntegerAttr.get(i64, predicate)}
    return ir.Operation.create("arith.cmpf", [i1], [a, b], attributes).result


def _bit(name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    return ir.Operation.create(f"arith.{name}", [a.type], [a, b]).result


def _predicate(compare: ir.Operation) -> int:
    return ir.IntegerAttr(compare.attributes["predicate"]).value
