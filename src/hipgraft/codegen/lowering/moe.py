"""Matrix products of a mixture of experts.

Which expert a row meets is known at run time only. So each row of the output looks up where it
comes from, and reads that expert's weights in the product itself: only what is needed is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.bindings import ir
from hipgraft.codegen.lowering.arithmetic import Arithmetic
from hipgraft.codegen.lowering.context import (
    Lowering,
    accumulator_type,
    element_of,
    lowers,
    shape_of,
)
from hipgraft.codegen.lowering.elementwise import elementwise
from hipgraft.codegen.lowering.emitter import Body, Emitter
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.dialects.hipdnn import (
    MoeGroupedMatmulBwdOp,
    MoeGroupedMatmulMode,
    MoeGroupedMatmulOp,
)

_NONE = -1  # instead of a row or an expert


@lowers(MoeGroupedMatmulOp)
def lower_moe_grouped_matmul(op: MoeGroupedMatmulOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies each routed row with the weights of its expert."""
    emitter, shape = lowering.emitter, shape_of(op.output)
    weight = emitter.logical(lowering.tensor(op.weight))
    routed = _routed_rows(op, lowering, shape[1])
    experts = _experts(lowering, op.first_token_offset, routed, weight.shape[0])
    token = emitter.logical(lowering.tensor(op.token))
    rows = routed if op.mode is not MoeGroupedMatmulMode.GATHER else _gathered(op, lowering, routed)
    accumulator = accumulator_type(op, token.element, weight.element)
    product = _product(emitter, token, weight, rows, experts, (*shape[1:],), accumulator)
    return [emitter.cast(emitter.reshape(product, shape), element_of(op.output))]


@lowers(MoeGroupedMatmulBwdOp)
def lower_moe_grouped_matmul_bwd(op: MoeGroupedMatmulBwdOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies, per expert, the transposed rows of the tokens with those of the gradient."""
    emitter, shape = lowering.emitter, shape_of(op.dweight)
    token, doutput = (
        emitter.reshape(value, value.shape[1:])
        for value in (lowering.tensor(op.token), lowering.tensor(op.doutput))
    )
    rows = _indices(emitter, token.shape[0])
    experts = _experts(lowering, op.first_token_offset, rows, shape[0])
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


def _indices(emitter: Emitter, count: int) -> Tensor:
    """Emits 0, 1, 2, ..."""

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        return [scalars.cast(scalars.index(0), "i32")]

    return emitter.pointwise("rows", [], (count,), "i32", body)


def _routed_rows(op: MoeGroupedMatmulOp, lowering: Lowering, count: int) -> Tensor:
    """Emits the routed row that each row of the output comes from, or -1."""
    emitter = lowering.emitter
    if op.token_index is None or op.token_ks is None:
        return _indices(emitter, count)
    index, choice = (
        emitter.reshape(value, (value.shape[1],))
        for value in (lowering.tensor(op.token_index), lowering.tensor(op.token_ks))
    )
    target = elementwise(
        emitter,
        "target",
        [index, choice],
        lambda m, v: m.add(m.mul(v[0], m.constant(op.top_k)), v[1]),
        "i32",
    )

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        row, source = (scalars.cast(scalars.index(loop), "i32") for loop in (0, 1))
        found = scalars.compare("eq", arguments[0], row)
        candidate = scalars.select(found, source, scalars.constant(_NONE, "i32"))
        return [scalars.op("arith.maxsi", arguments[1], candidate)]

    return _over_columns(emitter, "routed", [target], count, _NONE, body)


def _experts(lowering: Lowering, offsets: ir.Value, rows: Tensor, experts: int) -> Tensor:
    """Emits the expert of each routed row, or -1 before the first group and for row -1."""
    emitter = lowering.emitter
    given = lowering.tensor(offsets)
    starts = emitter.reshape(given, (given.shape[0],))

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        start, row, total = arguments
        begun = scalars.cast(scalars.compare("le", start, row), "i32")
        return [scalars.op("arith.addi", total, begun)]

    groups = _over_columns(emitter, "groups", [starts, rows], rows.shape[0], 0, body)

    def finish(m: Arithmetic, values: list[Scalar]) -> Scalar:
        group = m.sub(values[0], m.constant(1))
        return m.select("lt", group, 0, m.constant(_NONE), m.mod(group, m.constant(experts)))

    return elementwise(emitter, "experts", [groups], finish, "i32")


def _over_columns(
    emitter: Emitter,
    hint: str,
    operands: Sequence[Tensor],
    rows: int,
    start: int,
    body: Body,
) -> Tensor:
    """Reduces, for each row, over the elements of the first operand; the second is per row."""
    maps = [
        f"affine_map<(row, column) -> ({result})>"
        for result in [*("column", "row")[: len(operands)], "row"]
    ]
    init = emitter.filled(Tensor.logical("", (rows,), "i32"), start)
    return emitter.mapped(hint, operands, [init], body, maps, ["parallel", "reduction"])[0]


def _gathered(op: MoeGroupedMatmulOp, lowering: Lowering, routed: Tensor) -> Tensor:
    """Emits the row of the tokens that each routed row is."""
    assert op.token_index is not None, "the verifier asks for it"
    index = lowering.emitter.reshape(lowering.tensor(op.token_index), routed.shape)
    last = shape_of(op.token)[1] - 1
    # Rows of no group may point anywhere.
    return elementwise(
        lowering.emitter,
        "gathered",
        [index],
        lambda m, v: m.minimum(m.maximum(v[0], m.constant(0)), m.constant(last)),
        "i32",
    )


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
    left = _rows_of(emitter, token, rows)

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, accumulator)
        value, expert, total = arguments
        is_routed = scalars.compare("ge", expert, scalars.constant(0, "i32"))
        matrix = _at_least_0(scalars, expert)
        right = scalars.element(weight, matrix, scalars.index(2), scalars.index(1))
        product = m.mul(scalars.cast(value, m.type), scalars.cast(right, m.type))
        return [m.add(total, scalars.select(is_routed, product, m.constant(0)))]

    maps = [f"affine_map<(m, n, k) -> ({result})>" for result in ("m, k", "m", "m, n")]
    init = emitter.filled(Tensor.logical("", shape, accumulator), 0)
    kinds = ["parallel", "parallel", "reduction"]
    return emitter.mapped("product", [left, experts], [init], body, maps, kinds)[0]


def _rows_of(emitter: Emitter, token: Tensor, rows: Tensor) -> Tensor:
    """Emits the rows of the tokens: IREE cannot distribute a long product that looks up both."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        row = _at_least_0(scalars, arguments[0])
        return [scalars.element(token, scalars.constant(0, "index"), row, scalars.index(1))]

    init = emitter.empty(Tensor.logical("", (rows.shape[0], token.shape[2]), token.element))
    maps = [f"affine_map<(m, k) -> ({result})>" for result in ("m", "m, k")]
    return emitter.mapped("tokens", [rows], [init], body, maps, ["parallel", "parallel"])[0]


def _at_least_0(scalars: ScalarEmitter, value: Scalar) -> Scalar:
    positive = scalars.op("arith.maxsi", value, scalars.constant(0, "i32"))
    return scalars.cast(positive, "index")
