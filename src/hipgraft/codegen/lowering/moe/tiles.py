"""Lowers products of a mixture of experts to matrix instructions.

The routed rows of each group are divided into tiles of equal height, so that all rows of a tile
have the same expert. The tiles form a batch of matrices; each is multiplied by the matrix that it
looks up.
"""

from __future__ import annotations

from hipgraft.codegen.lowering.context import Lowering, accumulator_type
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.offsets import chosen
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.matmul.matmul import multiply
from hipgraft.codegen.lowering.moe.routing import (
    at_least_0,
    group_at,
    group_starts,
    groups_of,
    indices,
    over_columns,
    routed_rows,
    rows_of,
    token_rows,
)
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import MoeGroupedMatmulMode, MoeGroupedMatmulOp
from hipgraft.ir.tensors import element_of, shape_of

_LOW, _HIGH = 16, 64
_ROWS_FOR_HIGH = 32

# The products' extents must be multiples of these to avoid partial tiles.
_DEPTH, _COLUMNS = 32, 16


def can_tile(op: MoeGroupedMatmulOp, target: Target) -> bool:
    """Returns whether the operands fit matrix instructions and enough rows are routed."""
    _, depth, columns = shape_of(op.weight)
    elements = {element_of(op.token), element_of(op.weight)}
    whole = depth % _DEPTH == 0 and columns % _COLUMNS == 0
    return elements <= target.matrix_elements and whole and _routed(op) >= _LOW


def tiled_product(op: MoeGroupedMatmulOp, lowering: Lowering) -> Tensor:
    """Emits the output of the op."""
    emitter, rows = lowering.emitter, _routed(op)
    starts = group_starts(lowering, op.first_token_offset)
    groups = starts.shape[0]
    height = _HIGH if rows // groups >= _ROWS_FOR_HIGH else _LOW
    count = min(rows, rows // height + groups)  # each tile has a row, each group one partial tile
    first = _first_tiles(emitter, starts, height)
    # Tiles that no group needs are assigned to the last group.
    tile_groups = group_at(emitter, first, indices(emitter, count))
    token = emitter.logical(lowering.tensor(op.token))
    slots = _slots(emitter, starts, first, tile_groups, height, rows)
    if op.mode is MoeGroupedMatmulMode.GATHER:
        slots = _looked_up(emitter, token_rows(op, lowering, indices(emitter, rows)), slots)
    left = emitter.reshape(rows_of(emitter, token, slots), (count, height, token.shape[2]))
    weight = emitter.logical(lowering.tensor(op.weight))
    accumulator = accumulator_type(op, token.element, weight.element)

    def product() -> list[Tensor]:
        right = _weights(emitter, weight, tile_groups)
        shape = (count, height, weight.shape[2])
        return [multiply(emitter, left, right, shape, accumulator)]

    [tiles] = emitter.one_dispatch(product)
    return _placed(op, lowering, tiles, starts, first)


def _routed(op: MoeGroupedMatmulOp) -> int:
    """Returns the number of routed rows."""
    source = op.token if op.token_index is None else op.token_index
    return shape_of(source)[1]


def _first_tiles(emitter: Emitter, starts: Tensor, height: int) -> Tensor:
    """Emits the number of tiles before each group; no group follows the last group's tiles."""
    groups = starts.shape[0]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        group, other = scalars.index(0), scalars.index(1)
        start, total = arguments
        after = scalars.op("arith.addi", other, scalars.constant(1, "index"))
        last = scalars.constant(groups - 1, "index")
        end = scalars.element(starts, scalars.op("arith.minui", after, last))
        length = scalars.op("arith.subi", end, start)
        tiles = scalars.op("arith.ceildivsi", length, scalars.constant(height, "i32"))
        before = scalars.compare("lt", other, group)
        tiles = scalars.select(before, tiles, scalars.constant(0, "i32"))
        return [scalars.op("arith.addi", total, tiles)]

    return over_columns(emitter, "first_tiles", [starts], groups, 0, body)


def _slots(
    emitter: Emitter, starts: Tensor, first: Tensor, groups: Tensor, height: int, rows: int
) -> Tensor:
    """Emits the routed row of each row of each tile; an arbitrary row if it has none."""

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        size = scalars.constant(height, "index")
        tile = scalars.op("arith.divui", scalars.index(0), size)
        within = scalars.cast(scalars.op("arith.remui", scalars.index(0), size), "i32")
        group = scalars.cast(scalars.element(groups, tile), "index")
        before = scalars.op("arith.subi", scalars.cast(tile, "i32"), scalars.element(first, group))
        row = scalars.op("arith.muli", before, scalars.constant(height, "i32"))
        row = scalars.op("arith.addi", row, scalars.element(starts, group))
        row = scalars.op("arith.addi", row, within)
        return [scalars.op("arith.minsi", row, scalars.constant(rows - 1, "i32"))]

    count = groups.shape[0] * height
    init = emitter.empty(Tensor.logical("", (count,), "i32"))
    return emitter.generic("slots", [], [init], body, shape=(count,))[0]


def _looked_up(emitter: Emitter, table: Tensor, indices: Tensor) -> Tensor:
    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        return [scalars.element(table, at_least_0(scalars, arguments[0]))]

    return emitter.pointwise("looked_up", [indices], indices.shape, table.element, body)


def _weights(emitter: Emitter, weight: Tensor, groups: Tensor) -> Tensor:
    """Emits the look-up of each tile's matrix, which fuses into the product."""
    experts, *matrix = weight.shape

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        count = scalars.constant(experts, "i32")
        expert = scalars.cast(scalars.op("arith.remui", arguments[0], count), "index")
        return [scalars.element(weight, expert, scalars.index(1), scalars.index(2))]

    init = emitter.empty(Tensor.logical("", (groups.shape[0], *matrix), weight.element))
    maps = [f"affine_map<(t, k, n) -> ({result})>" for result in ("t", "t, k, n")]
    return emitter.mapped("weights", [groups], [init], body, maps, ["parallel"] * 3)[0]


def _placed(
    op: MoeGroupedMatmulOp, lowering: Lowering, tiles: Tensor, starts: Tensor, first: Tensor
) -> Tensor:
    """Emits the rows of the output from the rows of the tiles; 0 for rows without a group."""
    emitter, shape = lowering.emitter, shape_of(op.output)
    height = tiles.shape[1]
    routed = routed_rows(op, lowering, shape[1])
    groups = groups_of(lowering, op.first_token_offset, routed)

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        row, group = arguments[:2]
        inside = scalars.compare("ge", group, scalars.constant(0, "i32"))
        safe = at_least_0(scalars, group)
        within = scalars.op("arith.subi", row, scalars.element(starts, safe))
        size = scalars.constant(height, "i32")
        tile = scalars.op("arith.divsi", within, size)
        tile = scalars.op("arith.addi", tile, scalars.element(first, safe))
        indices = [
            scalars.cast(number, "index")
            for number in (tile, scalars.op("arith.remsi", within, size))
        ]
        value = chosen(scalars, inside, tiles, [*indices, scalars.index(1)])
        return [scalars.cast(value, element_of(op.output))]

    init = emitter.empty(Tensor.logical("", shape[1:], element_of(op.output)))
    maps = [f"affine_map<(m, n) -> ({result})>" for result in ("m", "m", "m, n")]
    kinds = ["parallel", "parallel"]
    output = emitter.mapped("output", [routed, groups], [init], body, maps, kinds)[0]
    return emitter.reshape(output, shape)
