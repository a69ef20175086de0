"""Lowers matrix products of a mixture of experts.

The expert of a row is known only at run time. So each row of the output looks up its expert, and
the product itself reads that expert's weights; weights of other experts are not read.
`moe/tiles.py` lowers products that fit matrix instructions.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, accumulator_type, lowers
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.moe.routing import (
    at_least_0,
    experts_of,
    indices,
    routed_rows,
    rows_of,
    token_rows,
)
from hipgraft.codegen.lowering.moe.tiles import can_tile, tiled_product
from hipgraft.dialects.hipdnn import (
    MoeGroupedMatmulBwdOp,
    MoeGroupedMatmulMode,
    MoeGroupedMatmulOp,
)
from hipgraft.ir.tensors import element_of, shape_of


@lowers(MoeGroupedMatmulOp)
def lower_moe_grouped_matmul(op: MoeGroupedMatmulOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies each routed row by the weights of its expert."""
    if can_tile(op, lowering.target):
        return [tiled_product(op, lowering)]
    emitter, shape = lowering.emitter, shape_of(op.output)
    weight = emitter.logical(lowering.tensor(op.weight))
    routed = routed_rows(op, lowering, shape[1])
    experts = experts_of(lowering, op.first_token_offset, routed, weight.shape[0])
    token = emitter.logical(lowering.tensor(op.token))
    rows = (
        routed if op.mode is not MoeGroupedMatmulMode.GATHER else token_rows(op, lowering, routed)
    )
    accumulator = accumulator_type(op, token.element, weight.element)
    product = _product(emitter, token, weight, rows, experts, (*shape[1:],), accumulator)
    return [emitter.cast(emitter.reshape(product, shape), element_of(op.output))]


@lowers(MoeGroupedMatmulBwdOp)
def lower_moe_grouped_matmul_bwd(op: MoeGroupedMatmulBwdOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies the transposed token rows of each expert by the rows of the gradient."""
    emitter, shape = lowering.emitter, shape_of(op.dweight)
    token, doutput = (
        emitter.reshape(value, value.shape[1:])
        for value in (lowering.tensor(op.token), lowering.tensor(op.doutput))
    )
    rows = indices(emitter, token.shape[0])
    experts = experts_of(lowering, op.first_token_offset, rows, shape[0])
    accumulator = accumulator_type(op, token.element, doutput.element)

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, accumulator)
        left, right, expert, total = arguments
        here = scalars.compare("eq", expert, scalars.cast(scalars.index(0), "i32"))
        product = m.mul(scalars.cast(left, m.type), scalars.cast(right, m.type))
        return [m.add(total, scalars.select(here, product, m.constant(0)))]

    results = ("r, k", "r, n", "r", "e, k, n")
    maps = [f"affine_map<(e, k, n, r) -> ({result})>" for result in results]
    kinds = ["parallel"] * 3 + ["reduction"]
    init = emitter.filled(Tensor.logical("", shape, accumulator), 0)
    operands = [token, doutput, experts]
    dweight = emitter.mapped("dweight", operands, [init], body, maps, kinds)[0]
    return [emitter.cast(dweight, element_of(op.dweight))]


def _product(
    emitter: Emitter,
    token: Tensor,
    weight: Tensor,
    rows: Tensor,
    experts: Tensor,
    shape: tuple[int, ...],
    accumulator: str,
) -> Tensor:
    """Emits the product of row `rows[m]` of `token` with matrix `experts[m]` of `weight`."""
    left = rows_of(emitter, token, rows)

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, accumulator)
        value, expert, total = arguments
        is_routed = scalars.compare("ge", expert, scalars.constant(0, "i32"))
        matrix = at_least_0(scalars, expert)
        right = scalars.element(weight, matrix, scalars.index(2), scalars.index(1))
        product = m.mul(scalars.cast(value, m.type), scalars.cast(right, m.type))
        return [m.add(total, scalars.select(is_routed, product, m.constant(0)))]

    maps = [f"affine_map<(m, n, k) -> ({result})>" for result in ("m, k", "m", "m, n")]
    init = emitter.filled(Tensor.logical("", shape, accumulator), 0)
    kinds = ["parallel", "parallel", "reduction"]
    return emitter.mapped("product", [left, experts], [init], body, maps, kinds)[0]
