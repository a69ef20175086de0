"""Lowers products with a common left factor to one op with several results: one dispatch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.iree.compilation_info import compilation_info, largest_divisor
from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.products import MATRIX_ROWS, few_rows
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects.hipdnn import MatmulOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.tensors import shape_of

# Elements that a lane loads at once, and the most sums of a wavefront for one row.
_BYTES_AT_ONCE, _MOST_SUMS = 16, 8


def joined_products(op: MatmulOp, lowering: Lowering) -> list[MatmulOp]:
    """Returns the products of a graph that are computed together with `op`, including `op`.

    The products share a left matrix and have equal types. Their right matrices are operands of the
    graph and have equal dims in memory.
    """
    rows, columns = shape_of(op.a)[:-1], shape_of(op.b)[:-2]
    is_single = math.prod(rows[:-1]) == math.prod(columns) == 1
    is_joined = rows[-1] % MATRIX_ROWS == 0 or _has_few_rows(rows[-1], lowering.tensor(op.b))
    if lowering.target.kind is not TargetKind.AMDGPU or not is_single or not is_joined:
        return [op]
    body = [one.operation for one in op.operation.block.operations]
    others = [one for one in body if one.name == MatmulOp.OP_NAME and one.operands[0] == op.a]
    form = _form(op.operation, lowering)
    joined = [one for one in others if _form(one, lowering) == form]
    return [MatmulOp(one) for one in joined] if form and op.operation in joined else [op]


def _has_few_rows(rows: int, b: Tensor) -> bool:
    """Whether wavefronts reduce the columns of right matrices."""
    return rows <= few_rows(bit_width(b.element)) and is_by_columns(b)


def is_by_columns(b: Tensor) -> bool:
    """Whether the columns of right matrices [batch..., K, N] are contiguous."""
    return b.dims[-1:] == (b.rank - 2,)


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

    Wavefronts reduce columns of few rows; more rows are multiplied by matrix instructions.

    Args:
        emitter: emitter that receives the ops.
        a: left matrix [..., M, K], where M is 1 if there are other dims.
        factors: right matrices [K, N], with equal dims in memory.
        accumulator: element type of the results.

    Returns:
        The products [M, N], or [N] of one row.
    """
    kind = "f" if is_float(accumulator) else "i"
    rows, depth, columns = math.prod(a.shape[:-1]), a.shape[-1], factors[0].shape[-1]
    loops, results, left = ("m", "n", "k"), (rows, columns), a
    if rows == 1:
        loops, results, left = ("n", "k"), (columns,), emitter.reshape(a, (depth,))
    # IREE 3.13.0 needs matrix instructions for products whose left factor comes first.
    is_few = _has_few_rows(rows, factors[0])
    pair, pairs = ((*loops[:-2], "k"), left), [("kn", factor) for factor in factors]
    operands = [*pairs, pair] if is_few else [pair, *pairs]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        inputs, totals = arguments[: len(operands)], arguments[len(operands) :]
        wide = scalars.cast(inputs.pop(-1 if is_few else 0), accumulator)
        made: list[Scalar] = []
        for right, total in zip(inputs, totals, strict=True):
            product = scalars.op(f"arith.mul{kind}", wide, scalars.cast(right, accumulator))
            made.append(scalars.op(f"arith.add{kind}", total, product))
        return made

    form = Tensor.logical("", results, accumulator)
    inits = [emitter.filled(form, 0) for _ in factors]
    maps = [
        f"affine_map<({', '.join(loops)}) -> ({', '.join(names[dim] for dim in value.dims)})>"
        for names, value in (*operands, *((loops[:-1], one) for one in inits))
    ]
    kinds = ["parallel"] * len(results) + ["reduction"]
    info = _columns_info(emitter.target, left, factors) if is_few else ""
    inputs = [value for _, value in operands]
    return emitter.mapped("products", inputs, inits, body, maps, kinds, info)


def _columns_info(target: Target, a: Tensor, factors: Sequence[Tensor]) -> str:
    """Returns the attribute with which a wavefront reduces a few columns, for all rows."""
    *rows, depth = a.shape
    lanes = target.wavefront_size
    most = _BYTES_AT_ONCE * 8 // bit_width(factors[0].element)
    at_once = largest_divisor(most, max(-(-depth // lanes), 1))
    columns = factors[0].shape[-1]
    # IREE 3.13.0 fails to distribute several rows and columns whose end is within a wavefront.
    width = 1 if rows else largest_divisor(columns, max(_MOST_SUMS // len(factors), 1))
    parallel = [*rows, width]
    order, ones, zeros = list(range(len(parallel) + 1)), [1] * len(parallel), [0] * len(parallel)
    fields = (
        f"lane_basis = [{[*ones, lanes]}, {order}]",
        f"subgroup_basis = [{[*ones, 1]}, {order}]",
        f"partial_reduction = {[*zeros, lanes * at_once]}",
        f"thread = {[*zeros, at_once]}",
        f"workgroup = {[*parallel, 0]}",
    )
    info = compilation_info(", ".join(fields), "VectorDistribute", lanes, lanes)
    return f"compilation_info = {info}"
