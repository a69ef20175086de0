"""Batched products of widened factors whose K is not a multiple of an instruction's."""

from __future__ import annotations

import math

from hipgraft.codegen.iree.linalg_loops import extents_of, iterators, loops_of, tensor
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.io import walk

PARTIAL_WIDENING = Workaround(
    name="partial-widening",
    fault="IREE fuses an op that widens elements (a dequantization) into the product that reads "
    "them. In batched products it then leaves the part of a tile beyond K uninitialized: 0 "
    "times an uninitialized element may be NaN. Transposed left factors are read beyond K.",
    effect=Effect.WRONG,
    targets="AMDGPU",
    remedy="Factors are widened in a dispatch of their own.",
)

# The multiples of K that compile correctly, by the width of the factors; wider ones all do.
_DEPTHS = {16: 32, 32: 8}
_RESHAPES = ("linalg.transpose", "tensor.collapse_shape", "tensor.expand_shape")


def separate_widening(module: ir.Module) -> int:
    """Keeps ops that widen out of products with a partial K, in place; returns how many factors.

    Args:
        module: module before dispatches are formed.
    """
    factors = [
        (op, number)
        for op in walk(module.operation)
        if op.name.startswith("linalg.") and _is_partial(op)
        for number in (0, 1)
        if _is_widened(op.operands[number])
    ]
    module.context.get_dialect_descriptor("iree_tensor_ext")  # loads the dialect
    for op, number in factors:
        with ir.InsertionPoint(op), op.location:
            op.operands[number] = _stored(op.operands[number])
    return len(factors)


def _stored(value: ir.Value) -> ir.Value:
    kind = tensor(value)
    extents = [
        ir.Operation.create(
            "tensor.dim",
            results=[ir.IndexType.get()],
            operands=[value, arith_d.ConstantOp(ir.IndexType.get(), dim).result],
        ).result
        for dim in range(kind.rank)
        if kind.is_dynamic_dim(dim)
    ]
    return ir.Operation.create(
        "iree_tensor_ext.compute_barrier.start", results=[kind], operands=[value, *extents]
    ).result


@PARTIAL_WIDENING.avoids
def _is_partial(op: ir.Operation) -> bool:
    """Whether an op is a batched product whose K is not a multiple of the required one."""
    loops = loops_of(op)
    if len(loops) < 3:
        return False
    extents = extents_of(op)
    shared = set(loops[0]) & set(loops[1]) & extents.keys()
    batch, reduced = shared & set(loops[-1]), shared - set(loops[-1])
    depth = [extents[loop] for loop in reduced]
    step = _DEPTHS.get(_width(op.operands[0]), 1)
    is_whole = all(extent >= 0 for extent in depth) and math.prod(depth) % step == 0
    return bool(reduced) and any(extents[loop] != 1 for loop in batch) and not is_whole


def _is_widened(value: ir.Value) -> bool:
    """Whether ops that IREE fuses into a reader of `value` widen elements."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    if op.name in _RESHAPES:
        return _is_widened(op.operands[0])
    if op.name != "linalg.generic" or "reduction" in iterators(op):
        return False
    inputs = list(op.operands)[: -len(op.results)]
    return any(_width(each) < _width(value) or _is_widened(each) for each in inputs)


def _width(value: ir.Value) -> int:
    kind = value.type
    return bit_width(str(kind.element_type if isinstance(kind, ir.RankedTensorType) else kind))
