"""Lowers matrix products; indexing maps absorb transposed and broadcast operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.iree.vector_tiles import has_few_rows
from hipgraft.codegen.lowering.context import Lowering, accumulator_type, alternative, lowers
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import resized
from hipgraft.codegen.lowering.emit.small_floats import BYTES
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.matmul.forms import FEWEST_ROWS, swaps_mn
from hipgraft.codegen.lowering.matmul.joined import (
    is_by_columns,
    joined_products,
    multiply_joined,
)
from hipgraft.codegen.lowering.matmul.scalar_tiles import (
    Loop,
    lacks_matrix_instructions,
    product_loops,
    tile_info,
)
from hipgraft.codegen.lowering.matmul.split import multiply_in_parts, parts_of_row
from hipgraft.codegen.products import sharing_rows
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds.batched_rows import (
    batch_of,
    crashes_transposed,
    has_innermost_rows,
)
from hipgraft.codegen.workarounds.cuda_operands import depth_to_add
from hipgraft.codegen.workarounds.few_rows import SPARSE_ROWS, TILE_ROWS, rows_to_add
from hipgraft.codegen.workarounds.unmasked_rows import depth_to_pad, with_whole_depth
from hipgraft.dialects.hipdnn import MatmulOp
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.tensors import element_of, shape_of

# From this number of rows and columns on, elements are widened in a separate dispatch, because
# many tiles read each of them.
_MANY_TILES = 256

# With at most this many products, matrix instructions save less than a factor's padded copy takes.
_FEW_PRODUCTS = 1 << 28

# With at most this many results IREE 3.13.0 splits K down to single products, whose sums cost up to
# a hundred times the product, so the reduction is kept whole. Products of few rows of 16-bit
# elements with a matrix that is stored by row are the exception: if the reduction is whole, IREE
# uses instructions for sparse matrices.
_FEW_RESULTS = 1 << 11


@lowers(MatmulOp)
def lower_matmul(op: MatmulOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies into an accumulator and rounds once; joins products with the same left matrix."""
    if op.c in lowering.tensors:
        return [lowering.tensors[op.c]]
    if multiplies_bytes(op, lowering.target):
        return _multiplied(op, lowering, lowering.tensor(op.a), lowering.tensor(op.b))
    products = joined_products(op, lowering)
    if len(products) > 1 and not is_widened(op, lowering.target):
        return _joined(products, lowering)
    if is_widened(op, lowering.target) and min(shape_of(op.c)[-2:]) >= _MANY_TILES:
        return lower_materialized_widening(op, lowering)
    return _multiplied(op, lowering, *operands_of(op, lowering))


def _joined(products: Sequence[MatmulOp], lowering: Lowering) -> list[Tensor]:
    """Emits several products as one op, and returns the result of the first."""
    emitter = lowering.emitter
    pairs = [operands_of(one, lowering) for one in products]
    a, b = pairs[0]
    accumulator = accumulator_type(products[0], a.element, b.element)
    factors = [_squeeze(emitter, right, []) for _, right in pairs]
    made = multiply_joined(emitter, _squeeze(emitter, a, []), factors, accumulator)
    for one, product in zip(products, made, strict=True):
        whole = emitter.reshape(product, shape_of(one.c))
        lowering.tensors[one.c] = emitter.cast(whole, element_of(one.c))
    return [lowering.tensors[products[0].c]]


def multiplies_bytes(op: MatmulOp, target: Target) -> bool:
    """Whether matrix instructions multiply the factors, which have 8-bit floats."""
    elements = {element_of(value) for value in (op.a, op.b)}
    return elements <= target.matrix_bytes and sharing_rows(op.operation) >= TILE_ROWS


def is_widened(op: MatmulOp, target: Target) -> bool:
    """Whether a factor has 8-bit floats that are multiplied as f16 on AMDGPU."""
    has_bytes = any(element_of(value) in BYTES for value in (op.a, op.b))
    return has_bytes and target.kind is TargetKind.AMDGPU and not multiplies_bytes(op, target)


@alternative(MatmulOp, "materialized-widening", is_widened)
def lower_materialized_widening(op: MatmulOp, lowering: Lowering) -> Sequence[Tensor]:
    """Widens each element once, instead of in every tile that reads it."""
    a, b = (lowering.emitter.materialized(value) for value in operands_of(op, lowering))
    return _multiplied(op, lowering, a, b)


def _multiplied(op: MatmulOp, lowering: Lowering, a: Tensor, b: Tensor) -> list[Tensor]:
    parts = parts_of_row(a, b, lowering.target)
    if parts > 1:
        total = split_product(op, lowering, a, b, parts)
        return [lowering.emitter.cast(total, element_of(op.c))]
    accumulator = accumulator_type(op, a.element, b.element)
    if _is_split_badly(lowering.target, a, b, shape_of(op.c)):
        lowering.emitter.whole_reductions = True
    product = multiply_whole(lowering, a, b, shape_of(op.c), accumulator)
    return [lowering.emitter.cast(product, element_of(op.c))]


def split_product(op: MatmulOp, lowering: Lowering, a: Tensor, b: Tensor, parts: int) -> Tensor:
    """Emits a product whose sums are split into `parts`, in the accumulator's type."""
    emitter, accumulator = lowering.emitter, accumulator_type(op, a.element, b.element)
    total = multiply_in_parts(
        emitter,
        a,
        b,
        parts,
        accumulator,
        lambda left, right, shape: multiply(emitter, left, right, shape, accumulator),
    )
    return emitter.reshape(total, shape_of(op.c))


def _is_split_badly(target: Target, a: Tensor, b: Tensor, result: Sequence[int]) -> bool:
    if _shares_columns(target, a, b):
        return True
    is_sparse = target.is_gfx9 and bit_width(a.element) == 16 and b.dims[-1:] != (b.rank - 2,)
    is_sparse &= math.prod(a.shape[:-1]) in SPARSE_ROWS
    return math.prod(result) <= _FEW_RESULTS and not is_sparse


def _shares_columns(target: Target, a: Tensor, b: Tensor) -> bool:
    """Whether wavefronts share the sums of a product that has few rows."""
    if target.kind is TargetKind.CPU or b.dims[-1:] != (b.rank - 2,):
        return False
    *batch, depth, columns = b.shape
    rows = math.prod(a.shape[:-1] if math.prod(batch) == 1 else a.shape[-2:-1])
    bits = bit_width(b.element)
    return has_few_rows(rows, depth, math.prod(batch) * columns, bits, target)


def operands_of(op: MatmulOp, lowering: Lowering) -> tuple[Tensor, Tensor]:
    """Returns the factors in types that contractions support."""
    a, b = (lowering.emitter.widened(lowering.tensor(value)) for value in (op.a, op.b))
    return a, b


def multiply(
    emitter: Emitter,
    a: Tensor,
    b: Tensor,
    shape: Sequence[int],
    accumulator: str,
    order: Sequence[int] | None = None,
) -> Tensor:
    """Emits `a · b`.

    Args:
        emitter: emitter that receives the ops.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
        shape: shape of the result [batch..., M, N].
        accumulator: element type of the result.
        order: storage order of the result's dims; if None, logical order unless that does not
            compile. A product that writes an order costs less than transposing its result.
    """
    if a.rank - 1 in a.broadcast_dims and b.rank - 2 in b.broadcast_dims:
        a = emitter.in_order(a, range(a.rank))  # a loop cannot run over a K that no factor stores
    more = rows_to_add(emitter.target, a, b)
    if more and not _shares_columns(emitter.target, a, b):
        product = _multiply_tall(emitter, a, b, shape, accumulator, more)
        return emitter.in_order(product, order) if order else product
    rank = len(shape)
    if _is_row_of_columns(emitter.target, a, b):
        made = multiply_joined(emitter, a, [_squeeze(emitter, b, [])], accumulator)
        return emitter.reshape(made[0], shape)
    folded = _fold_rows(emitter, a, b, accumulator)
    if folded is not None:
        return emitter.reshape(folded, shape)
    # Dims of extent 1 get no loop, because IREE's matmul pipelines depend on the number of batch
    # loops.
    batch = [dim for dim in range(rank - 2) if shape[dim] > 1]
    kept = [*batch, rank - 2, rank - 1]
    wanted = tuple(dim for dim in order or range(rank) if dim in kept)
    dims = wanted
    if has_innermost_rows(emitter.target, b, shape, wanted):
        last = (*batch_of(b, shape), rank - 1)
        dims = (*(dim for dim in wanted if dim not in last), *last)
    a, b = (_squeeze(emitter, value, batch) for value in (a, b))
    stored = tuple(kept.index(dim) for dim in dims)
    form = Tensor("", tuple(shape[dim] for dim in kept), accumulator, stored)
    if batch and not _scalar_tiles(emitter.target, a, b, form):
        a, b = with_whole_depth(emitter, a, b)
    product = _contract(emitter, a, b, emitter.filled(form, 0))
    product = replace(product, shape=tuple(shape), dims=dims)
    if dims == wanted:
        return emitter.in_order(product, order or range(rank))
    product = emitter.barrier(product)  # IREE would fuse a transposition into the product
    return emitter.in_order(product, order) if order else product


def _multiply_tall(
    emitter: Emitter, a: Tensor, b: Tensor, shape: Sequence[int], accumulator: str, more: int
) -> Tensor:
    """Emits `a · b` like `multiply`, with `more` rows of zeros in each left matrix."""
    *batch, rows, columns = shape
    # IREE would fuse the padding and the crop into the product, and fail.
    tall = emitter.barrier(resized(emitter, a, a.rank - 2, more))
    product = multiply(emitter, tall, b, (*batch, rows + more, columns), accumulator)
    return resized(emitter, emitter.barrier(product), len(batch), -more)


def _is_row_of_columns(target: Target, a: Tensor, b: Tensor) -> bool:
    """Whether one row multiplies a matrix by columns that end within a wavefront.

    IREE 3.13.0 computes each of their results in one work item.
    """
    is_single = math.prod(a.shape[:-1]) == math.prod(b.shape[:-2]) == 1
    is_partial = a.shape[-1] % target.wavefront_size > 0
    return target.kind is TargetKind.AMDGPU and is_single and is_by_columns(b) and is_partial


def multiply_whole(
    lowering: Lowering, a: Tensor, b: Tensor, shape: Sequence[int], accumulator: str
) -> Tensor:
    """Emits `a · b` like `multiply`, with K padded or the result materialized if necessary."""
    emitter, more = lowering.emitter, depth_to_add(lowering.target, b)
    if not more:
        product = multiply(emitter, a, b, shape, accumulator)
        is_transposed = any(list(order) != sorted(order) for order in lowering.orders.values())
        is_apart = is_transposed and crashes_transposed(lowering.target, a, b)
        return emitter.barrier(product) if is_apart else product
    deep = resized(emitter, a, a.rank - 1, more), resized(emitter, b, b.rank - 2, more)
    return multiply(emitter, *deep, shape, accumulator)


def _fold_rows(emitter: Emitter, a: Tensor, b: Tensor, accumulator: str) -> Tensor | None:
    """Multiplies all matrices of `a` by the one matrix `b` as one tall matrix."""
    packed = a.dims == tuple(range(a.rank))
    stacked = any(dim in b.dims and b.shape[dim] > 1 for dim in range(b.rank - 2))
    if math.prod(a.shape[:-2]) == 1 or stacked or not packed:
        return None
    rows = math.prod(a.shape[:-1])
    tall = emitter.reshape(a, (rows, a.shape[-1]))
    init = emitter.filled(Tensor.logical("", (rows, b.shape[-1]), accumulator), 0)
    return _contract(emitter, tall, _squeeze(emitter, b, []), init)


def _squeeze(emitter: Emitter, value: Tensor, batch: Sequence[int]) -> Tensor:
    """Keeps the batch dims `batch` and the matrix dims; batch dims of extent 1 are not stored."""
    rank = value.rank
    kept = [*batch, rank - 2, rank - 1]
    stored = [
        dim for dim in value.dims if dim >= rank - 2 or (dim in batch and value.shape[dim] > 1)
    ]
    plain = Tensor.logical(value.name, value.extents, value.element)
    name = emitter.reshape(plain, [value.shape[dim] for dim in stored]).name
    shape = tuple(value.shape[dim] for dim in kept)
    return Tensor(name, shape, value.element, tuple(kept.index(dim) for dim in stored))


def _contract(emitter: Emitter, a: Tensor, b: Tensor, init: Tensor) -> Tensor:
    """Emits the product as a named op of linalg if there is one for its operands."""
    batches = init.rank - 2
    if batches > 1 and all(value.dims == tuple(range(value.rank)) for value in (a, b, init)):
        # IREE collapses contiguous dims and then drops the tiles, so the batch dims are collapsed
        # here.
        flat = [emitter.reshape(value, _in_line(value.shape)) for value in (a, b, init)]
        if _scalar_tiles(emitter.target, *flat):
            return emitter.reshape(_contract(emitter, *flat), init.shape)
    outer = [f"b{batch}" for batch in range(batches)]
    left, right, product = [*outer, "m", "k"], [*outer, "k", "n"], [*outer, "m", "n"]
    tiles = _scalar_tiles(emitter.target, a, b, init)
    swaps = not tiles and swaps_mn(emitter.target, a, b)
    names = [*outer, *("nm" if swaps else "mn"), "k"]
    pairs = ((left, a), (right, b), (product, init))
    results = [[loops[dim] for dim in value.dims] for loops, value in pairs]
    maps = [f"affine_map<({', '.join(names)}) -> ({', '.join(dims)})>" for dims in results]
    named = None if swaps or tiles else _named_op(batches, results)
    if named is None:
        kinds = ["parallel"] * (batches + 2) + ["reduction"]
        info = tile_info(emitter.target, tiles) if tiles else ""
        return emitter.contraction("product", a, b, init, maps, kinds, info)
    plain = results == [left, right, product]
    attributes = "" if plain else f"indexing_maps = [\n      {', '.join(maps)}]"
    return emitter.named("product", named, [a, b], init, attributes)


def _in_line(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[:-2]), *shape[-2:]]


def _scalar_tiles(target: Target, a: Tensor, b: Tensor, init: Tensor) -> list[Loop]:
    """Returns the loops of a product without matrix instructions; empty if IREE tiles it better."""
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    is_copied = math.prod(init.shape) * depth <= _FEW_PRODUCTS and depth_to_pad(target, a, b) > 0
    is_copied &= bit_width(a.element) != 8
    if not (is_copied or lacks_matrix_instructions(target, a.element)) or rows < FEWEST_ROWS:
        return []
    batch = [Loop(f"b{dim}", extent) for dim, extent in enumerate(init.shape[:-2])]
    return product_loops(target, batch, (rows, columns, depth), by_columns=is_by_columns(b))


def _named_op(batches: int, results: Sequence[Sequence[str]]) -> str | None:
    """Returns the named op for operands with these dims; None if there is none.

    A batched operand must have its batch outermost, or be an untransposed matrix without a batch;
    a batched result must not be transposed.
    """
    if batches > 1 or any("k" not in dims for dims in results[:2]):
        return None
    if batches == 0:
        return "linalg.matmul"
    *operands, result = map(list, results)
    leading = all(
        dims[0] == "b0" or dims == plain
        for dims, plain in zip(operands, (["m", "k"], ["k", "n"]), strict=True)
    )
    return "linalg.batch_matmul" if leading and result == ["b0", "m", "n"] else None
