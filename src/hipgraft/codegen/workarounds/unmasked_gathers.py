"""Elements read by index in lanes beyond the end of a loop."""

from __future__ import annotations

from hipgraft.codegen.iree.linalg_loops import extents_of, generics_of, loops_of
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import index_constant
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


def guard_gathers(module: ir.Module, target: Target) -> None:
    """Makes lanes beyond the end of a loop read at index 0.

    Args:
        module: the module after the phase `executable-configurations`.
        target: the target of the module.
    """
    if not is_unmasked(target):
        return
    with module.context:
        for ops in generics_of(module):
            if any("lane_basis" in str(op.attributes.get("lowering_config")) for op in ops):
                for op in ops:
                    for read in filter(_reads_at_elements, list(walk(op))):
                        _guard(op, read)


@UNMASKED_GATHERS.avoids
def is_unmasked(target: Target) -> bool:
    """Whether lanes beyond the end of a loop read by index, and may read anywhere."""
    return target.kind is not TargetKind.CPU


def _reads_at_elements(op: ir.Operation) -> bool:
    """Whether an op reads by an index that depends on elements that its loop loads."""
    return op.name == _EXTRACT and any(map(_depends_on_elements, list(op.operands)[1:]))


def _depends_on_elements(value: ir.Value) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return owner.owner.operation.name == "linalg.generic"
    op = owner.operation
    return op.name == _EXTRACT or any(map(_depends_on_elements, op.operands))


def _guard(op: ir.Operation, read: ir.Operation) -> None:
    """Replaces the indices of a read by 0 in lanes beyond the end of a loop of `op`."""
    with ir.InsertionPoint(op):
        ends = {loop: _end(op, loop, extent) for loop, extent in sorted(extents_of(op).items())}
    with ir.InsertionPoint(read), read.location as location:
        zero = index_constant(0, location)
        for loop, end in ends.items():
            inside = _is_inside(loop, end)
            for number, value in enumerate(list(read.operands)[1:], 1):
                operands = [inside, value, zero]
                select = ir.Operation.create("arith.select", results=[zero.type], operands=operands)
                read.operands[number] = select.result


def _end(op: ir.Operation, loop: int, extent: int) -> ir.Value:
    if extent != ir.ShapedType.get_dynamic_size():
        return index_constant(extent, op.location)
    value, dim = next(
        (value, dims.index(loop))
        for dims, value in zip(loops_of(op), op.operands, strict=True)
        if loop in dims
    )
    operands, results = [value, index_constant(dim, op.location)], [ir.IndexType.get()]
    return ir.Operation.create(
        "tensor.dim", results=results, operands=operands, loc=op.location
    ).result


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
