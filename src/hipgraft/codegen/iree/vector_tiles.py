"""Assigns a wavefront to each column of products with few rows.

IREE 3.13.0 gives a workgroup up to 64 columns of a product with one row, and matrix instructions or
tiles of 16 rows to products with few. One row times a matrix of 1,152 x 320 then occupies 5 of a
GPU's compute units. A wavefront for each column, whose lanes share the sum, takes a fifth of the
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hipgraft.codegen.chips import find_gpu
from hipgraft.codegen.iree.compilation_info import CUDA_OPTIONS, compilation_info
from hipgraft.codegen.iree.linalg_loops import extents_of, iterators, loops_of, tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import bit_width

# By estimated time on gfx942 and gfx1100, and measured on an H200. With more rows of 16 bits,
# matrix instructions take less time; more rows of f32 take more registers than there are. Twice as
# many pay off for columns that leave compute units idle. Short sums of more columns leave lanes
# idle.
_MOST_ROWS, _MOST_NARROW_ROWS = 16, 8

# What a lane reads of a row at once, and in each iteration.
_AT_ONCE = 4
_PASSED_BITS = 128

# Wavefronts share a sum, up to so many, if there are fewer of them for each compute unit.
_WAVEFRONTS_PER_UNIT = 4
_MOST_SHARING = 16
_CUDA_UNITS = 132

_BODY = frozenset(
    {
        "arith.mulf",
        "arith.addf",
        "arith.muli",
        "arith.addi",
        "arith.extf",
        "arith.extsi",
        "arith.extui",
        "linalg.yield",
    }
)


def has_few_rows(rows: int, depth: int, columns: int, bits: int, target: Target) -> bool:
    """Returns whether the columns of a product get wavefronts.

    Args:
        rows: its rows.
        depth: the elements of a sum.
        columns: its columns, in all batches.
        bits: bits of an element of the matrix with these columns.
        target: target of the kernel.
    """
    most = _MOST_ROWS if bits > 16 else _MOST_NARROW_ROWS
    if columns < _wavefronts(target):
        return rows <= 2 * most and depth >= _AT_ONCE
    return rows <= most and depth >= _AT_ONCE * target.wavefront_size


def _wavefronts(target: Target) -> int:
    """The wavefronts that occupy a GPU."""
    is_cuda = target.kind is TargetKind.CUDA
    units = _CUDA_UNITS if is_cuda else find_gpu(target.name).units
    return units * _WAVEFRONTS_PER_UNIT


@dataclass(frozen=True)
class _Product:
    """The sums of a dispatch, along the innermost loop.

    Attributes:
        tiles: the tile of a workgroup along each parallel loop.
        workgroups: the number of workgroups.
        depth: the extent of the innermost loop.
        bits: bits of an element of the matrix whose columns are distributed.
    """

    tiles: tuple[int, ...]
    workgroups: int
    depth: int
    bits: int


def set_product_of(ops: Sequence[ir.Operation], target: Target) -> bool:
    """Assigns wavefronts to the columns of a dispatch's product if it has few rows.

    Args:
        ops: the generic ops of the dispatch.
        target: the target of the dispatch.

    Returns:
        Whether the dispatch is such a product.
    """
    sums = [op for op in ops if "reduction" in iterators(op)]
    product = _product(sums[0], target) if len(sums) == 1 else None
    if product is None or any(op.results[0] in sums[0].operands for op in ops):
        return False
    lanes, loops = target.wavefront_size, len(product.tiles) + 1
    at_once = min(_AT_ONCE, 1 << max(product.depth // lanes, 1).bit_length() - 1)
    step = lanes * min(at_once * 4, _PASSED_BITS // product.bits)
    sharing = _sharing(product, step, target)

    def sizes(outer: Sequence[int], inner: int) -> str:
        return f"[{', '.join(map(str, [*outer, inner]))}]"

    ones, zeros = [1] * (loops - 1), [0] * (loops - 1)
    order = f"[{', '.join(map(str, range(loops)))}]"
    config = (
        f"lane_basis = [{sizes(ones, lanes)}, {order}], "
        f"subgroup_basis = [{sizes(ones, sharing)}, {order}], "
        f"partial_reduction = {sizes(zeros, step * sharing)}, thread = {sizes(zeros, at_once)}, "
        f"workgroup = {sizes(product.tiles, 0)}"
    )
    options = CUDA_OPTIONS if target.kind is TargetKind.CUDA else ""
    info = compilation_info(config, "VectorDistribute", lanes * sharing, lanes, options)
    sums[0].attributes["compilation_info"] = ir.Attribute.parse(info)
    return True


def _sharing(product: _Product, step: int, target: Target) -> int:
    """Returns the number of wavefronts that share a sum, each of which has several iterations."""
    count = 1
    while product.workgroups * count < _wavefronts(target) and step * count * 2 <= product.depth:
        count *= 2
    return min(count, _MOST_SHARING)


def _product(op: ir.Operation, target: Target) -> _Product | None:
    """Returns the product that an op computes if it has few rows; None if it is another op."""
    kinds, extents = iterators(op), extents_of(op)
    last = len(kinds) - 1
    if any(-1 in dims for dims in loops_of(op)):  # as in windows
        return None
    if kinds != ["parallel"] * last + ["reduction"] or sorted(extents) != list(range(last + 1)):
        return None
    if min(extents.values()) < 1:  # dynamic, or empty
        return None
    body = {one.operation.name for one in op.regions[0].blocks[0].operations}
    if len(op.operands) != 3 or not body <= _BODY or not body & {"arith.mulf", "arith.muli"}:
        return None
    sides = [_side(op, index, extents) for index in (0, 1)]
    rows, columns = sorted(sides, key=lambda side: side.extent)
    workgroups = prod(extents[loop] for loop in range(last)) // rows.extent
    is_few = has_few_rows(rows.extent, extents[last], workgroups, columns.bits, target)
    if not is_few or not columns.is_contiguous:
        return None
    tiles = tuple(extents[loop] if loop in rows.own else 1 for loop in range(last))
    return _Product(tiles, workgroups, extents[last], columns.bits)


@dataclass(frozen=True)
class _Side:
    """A factor of a product.

    Attributes:
        own: the parallel loops that only this factor has.
        extent: the product of their extents.
        is_contiguous: whether the elements of a sum are contiguous.
        bits: bits of an element.
    """

    own: frozenset[int]
    extent: int
    is_contiguous: bool
    bits: int


def _side(op: ir.Operation, index: int, extents: dict[int, int]) -> _Side:
    dims, others = (loops_of(op)[each] for each in (index, 1 - index))
    own = frozenset(dims) - frozenset(others)
    last = len(extents) - 1
    bits = bit_width(str(tensor(op.operands[index]).element_type))
    return _Side(own, prod(extents[loop] for loop in own), dims[-1:] == [last], bits)
