"""Computes the routing in a mixture of experts: the token row and the expert of each row."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.elementwise import elementwise
from hipgraft.codegen.lowering.emit.emitter import Body, Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import MoeGroupedMatmulOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import shape_of

_NONE = -1  # marks a missing row or expert


def indices(emitter: Emitter, count: int) -> Tensor:
    """Emits the integers from 0 to `count - 1`."""

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        return [scalars.cast(scalars.index(0), "i32")]

    return emitter.pointwise("rows", [], (count,), "i32", body)


def routed_rows(op: MoeGroupedMatmulOp, lowering: Lowering, count: int) -> Tensor:
    """Emits the routed row of each row of the output, or -1."""
    emitter = lowering.emitter
    if op.token_index is None or op.token_ks is None:
        return indices(emitter, count)
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

    return over_columns(emitter, "routed", [target], count, _NONE, body)


def groups_of(lowering: Lowering, offsets: ir.Value, rows: Tensor) -> Tensor:
    """Emits the group of each routed row, or -1 before the first group and for row -1."""
    return group_at(lowering.emitter, group_starts(lowering, offsets), rows)


def group_at(emitter: Emitter, starts: Tensor, rows: Tensor) -> Tensor:
    """Emits the last group that starts at or before each row, or -1."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        start, row, total = arguments
        begun = scalars.cast(scalars.compare("le", start, row), "i32")
        return [scalars.op("arith.addi", total, begun)]

    begun = over_columns(emitter, "groups", [starts, rows], rows.shape[0], 0, body)
    return elementwise(emitter, "group", [begun], lambda m, v: m.sub(v[0], m.constant(1)), "i32")


def experts_of(lowering: Lowering, offsets: ir.Value, rows: Tensor, experts: int) -> Tensor:
    """Emits the expert of each routed row, or -1 if the row is in no group."""

    def formula(m: Arithmetic, values: list[Scalar]) -> Scalar:
        group = values[0]
        return m.select("lt", group, 0, m.constant(_NONE), m.mod(group, m.constant(experts)))

    groups = groups_of(lowering, offsets, rows)
    return elementwise(lowering.emitter, "experts", [groups], formula, "i32")


def group_starts(lowering: Lowering, offsets: ir.Value) -> Tensor:
    """Returns the first routed row of each group, `[G]`."""
    given = lowering.tensor(offsets)
    return lowering.emitter.reshape(given, (given.shape[0],))


def token_rows(op: MoeGroupedMatmulOp, lowering: Lowering, routed: Tensor) -> Tensor:
    """Emits the token row of each routed row."""
    assert op.token_index is not None, "the verifier asks for it"
    index = lowering.emitter.reshape(lowering.tensor(op.token_index), routed.shape)
    last = shape_of(op.token)[1] - 1
    # Indices of rows without a group may be out of range.
    return elementwise(
        lowering.emitter,
        "gathered",
        [index],
        lambda m, v: m.minimum(m.maximum(v[0], m.constant(0)), m.constant(last)),
        "i32",
    )


def rows_of(emitter: Emitter, token: Tensor, rows: Tensor) -> Tensor:
    """Gathers token rows, because IREE cannot distribute a long product with two look-ups."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        row = at_least_0(scalars, arguments[0])
        return [scalars.element(token, scalars.constant(0, "index"), row, scalars.index(1))]

    init = emitter.empty(Tensor.logical("", (rows.shape[0], token.shape[2]), token.element))
    maps = [f"affine_map<(m, k) -> ({result})>" for result in ("m", "m, k")]
    return emitter.mapped("tokens", [rows], [init], body, maps, ["parallel", "parallel"])[0]


def over_columns(
    emitter: Emitter,
    hint: str,
    operands: Sequence[Tensor],
    rows: int,
    start: int,
    body: Body,
) -> Tensor:
    """Reduces the first operand's elements for each row; the second has one element per row."""
    maps = [
        f"affine_map<(row, column) -> ({result})>"
        for result in [*("column", "row")[: len(operands)], "row"]
    ]
    init = emitter.filled(Tensor.logical("", (rows,), "i32"), start)
    return emitter.mapped(hint, operands, [init], body, maps, ["parallel", "reduction"])[0]


def at_least_0(scalars: ScalarEmitter, value: Scalar) -> Scalar:
    """Emits an i32 as an index; negative numbers become 0."""
    positive = scalars.op("arith.maxsi", value, scalars.constant(0, "i32"))
    return scalars.cast(positive, "index")
