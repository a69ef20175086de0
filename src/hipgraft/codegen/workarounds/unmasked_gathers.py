"""Elements read by index in lanes beyond the end of a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hipgraft.codegen.iree.linalg_loops import extents_of, generics_of, loops_of
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk

UNMASKED_GATHERS = Workaround(
    name="unmasked-gathers",
    fault="If the tile of a loop reaches beyond the loop's end, the loop is vectorized with "
    "masks, but a `tensor.extract` becomes a `vector.gather` whose mask is all ones. "
    "Indices that are loaded are poison in the lanes beyond the end: these lanes read "
    "anywhere, which ends the program. AMD GPUs check the bounds of tensors of static "
    "shapes that are smaller than 2 GiB.",
    effect=Effect.ENDS,
    targets="AMDGPU, CUDA",
    remedy="Such lanes read the element at index 0.",
)

_EXTRACT = "tensor.extract"
_LESS = 6  # the predicate `ult` of `arith.cmpi`


def guard_gathers(module: ir.Module, target: Target) -> int:
    """Makes lanes beyond the end of a loop read at index 0; returns the number of changed reads.

    Args:
        module: the module after the phase `executable-configurations`.
        target: the target of the module.
    """
    found = 0
    with module.context, ir.Location.unknown():
        for ops in generics_of(module):
            if not any("lane_basis" in str(op.attributes.get("lowering_config")) for op in ops):
                continue
            for op in ops:
                for read in filter(_is_loaded, _reads(op)):
                    found += is_unmasked(target) and _guard(op, read)
    return found


@UNMASKED_GATHERS.avoids
def is_unmasked(target: Target) -> bool:
    """Whether lanes beyond the end of a loop read by index, and may read anywhere."""
    return target.kind is not TargetKind.CPU


def _reads(op: ir.Operation) -> Iterator[ir.Operation]:
    return (each for each in walk(op) if each.name == _EXTRACT)


def _is_loaded(read: ir.Operation) -> bool:
    """Whether an index depends on an element that the loop loads."""
    return any(map(_depends_on_elements, list(read.operands)[1:]))


def _depends_on_elements(value: ir.Value) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return owner.owner.operation.name == "linalg.generic"
    op = owner.operation
    return op.name == _EXTRACT or any(map(_depends_on_elements, op.operands))


def _guard(op: ir.Operation, read: ir.Operation) -> bool:
    """Replaces the indices of a read in lanes beyond the end; returns whether there may be any."""
    with ir.InsertionPoint(op), op.location:
        ends = {loop: _end(op, loop, extent) for loop, extent in sorted(extents_of(op).items())}
    with ir.InsertionPoint(read), read.location:
        inside = [_is_inside(loop, end) for loop, end in ends.items()]
        if not inside:
            return False
        condition, zero = _all(inside), _constant(0)
        for number, value in enumerate(list(read.operands)[1:], 1):
            operands = [condition, value, zero]
            select = ir.Operation.create("arith.select", results=[zero.type], operands=operands)
            read.operands[number] = select.result
    return True


def _end(op: ir.Operation, loop: int, extent: int) -> ir.Value:
    if extent != ir.ShapedType.get_dynamic_size():
        return _constant(extent)
    value, dim = next(
        (value, dims.index(loop))
        for dims, value in zip(loops_of(op), op.operands, strict=True)
        if loop in dims
    )
    operands = [value, _constant(dim)]
    results = [ir.IndexType.get()]
    return ir.Operation.create("tensor.dim", results=results, operands=operands).result


def _is_inside(loop: int, end: ir.Value) -> ir.Value:
    i64 = ir.IntegerType.get_signless(64)
    attributes: dict[str, ir.Attribute] = {"dim": ir.IntegerAttr.get(i64, loop)}
    at = ir.Operation.create("linalg.index", results=[end.type], attributes=attributes).result
    return ir.Operation.create(
        "arith.cmpi",
        results=[ir.IntegerType.get_signless(1)],
        operands=[at, end],
        attributes={"predicate": ir.IntegerAttr.get(i64, _LESS)},
    ).result


def _all(conditions: Sequence[ir.Value]) -> ir.Value:
    first, *rest = conditions
    for one in rest:
        first = ir.Operation.create(
            "arith.andi", results=[first.type], operands=[first, one]
        ).result
    return first


def _constant(value: int) -> ir.Value:
    index = ir.IndexType.get()
    attributes: dict[str, ir.Attribute] = {"value": ir.IntegerAttr.get(index, value)}
    return ir.Operation.create("arith.constant", results=[index], attributes=attributes).result
