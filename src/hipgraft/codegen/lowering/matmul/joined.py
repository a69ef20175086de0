"""Lowers products with a common left factor to one op with several results: one dispatch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import TargetKind
from hipgraft.dialects.hipdnn import MatmulOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import is_float
from hipgraft.ir.tensors import shape_of

# IREE 3.13.0 multiplies several products without matrix instructions unless the rows are a
# multiple of these.
_ROWS = 16

_LOOPS = "(m, n, k)"


def joined_products(op: MatmulOp, lowering: Lowering) -> list[MatmulOp]:
    """Returns the products of a graph that are computed together with `op`, including `op`.

    The products share a left matrix, have equal types, and their right matrices have equal dims in
    memory that the graph reads.
    """
    rows, columns = shape_of(op.a)[:-1], shape_of(op.b)[:-2]
    is_single = math.prod(rows[:-1]) == math.prod(columns) == 1
    if lowering.target.kind is not TargetKind.AMDGPU or not is_single or rows[-1] % _ROWS:
        return [op]
    body = [one.operation for one in op.operation.block.operations]
    others = [one for one in body if one.name == MatmulOp.OP_NAME and one.operands[0] == op.a]
    form = _form(op.operation, lowering)
    joined = [one for one in others if _form(one, lowering) == form]
    return [MatmulOp(one) for one in joined] if form and op.operation in joined else [op]


def _form(op: ir.Operation, lowering: Lowering) -> tuple[object, ...]:
    """Returns the properties that joined products share; empty if the right factor is computed."""
    right = op.operands[1]
    if not isinstance(right.owner, ir.Block):
        return ()
    kinds = [str(value.type) for value in (*op.operands, *op.results)]
    declared = MatmulOp(op).compute_type
    return (*kinds[:2], shape_of(op.results[0]), lowering.tensor(right).dims, str(declared))


def multiply_joined(
    emitter: Emitter, a: Tensor, factors: Sequence[Tensor], accumulator: str
) -> list[Tensor]:
    """Emits the products of `a` and several factors.

    Args:
        emitter: emitter that receives the ops.
        a: left matrix [M, K].
        factors: right matrices [K, N], with equal dims in memory.
        accumulator: element type of the results [M, N].
    """
    kind = "f" if is_float(accumulator) else "i"

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        left, *others = arguments
        rights, totals = others[: len(factors)], others[len(factors) :]
        wide = scalars.cast(left, accumulator)
        made: list[Scalar] = []
        for right, total in zip(rights, totals, strict=True):
            product = scalars.op(f"arith.mul{kind}", wide, scalars.cast(right, accumulator))
            made.append(scalars.op(f"arith.add{kind}", total, product))
        return made

    form = Tensor.logical("", (a.shape[0], factors[0].shape[1]), accumulator)
    inits = [emitter.filled(form, 0) for _ in factors]
    named = [("mk", a), *(("kn", factor) for factor in factors), *(("mn", one) for one in inits)]
    maps = [
        f"affine_map<{_LOOPS} -> ({', '.join(loops[dim] for dim in value.dims)})>"
        for loops, value in named
    ]
    kinds = ["parallel", "parallel", "reduction"]
    return emitter.mapped("products", [a, *factors], inits, body, maps, kinds)
