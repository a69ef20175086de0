"""Assigns a wavefront to each column of products with few rows.

IREE 3.13.0 gives a workgroup up to 64 columns of a product with one row, and uses matrix
instructions or tiles of 16 rows for products with few rows. One row times a matrix of 1,152 x 320
then occupies 5 of a GPU's compute units. A wavefront for each column, whose lanes share the sum,
takes a fifth of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hipgraft.codegen.chips import find_gpu
from hipgraft.codegen.iree.compilation_info import CUDA_OPTIONS, compilation_info, distribution
from hipgraft.codegen.iree.linalg_loops import extents_of, iterators, loops_of, tensor
from hipgraft.codegen.products import few_rows
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import bit_width

# Elements of a row that a lane reads at once, and in each iteration.
_AT_ONCE = 4
_PASSED_BITS = 128

# Up to `_MOST_SHARING` wavefronts share a sum if a compute unit would otherwise have fewer
# wavefronts than this.
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
        rows: rows of the product.
        depth: the elements of a sum.
        columns: columns of the product, in all batches.
        bits: bits of an element of the matrix with these columns.
        target: target of the kernel.
    """
    most = few_rows(bits)
    # Twice as many rows pay off for columns that leave compute units idle. Short sums of more
    # columns leave lanes idle.
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
    """The sums of a dispatch, along its innermost loops.

    Attributes:
        tiles: the tile of a workgroup along each parallel loop.
        workgroups: the number of workgroups.
        depths: the extents of the loops of a sum: the loop over blocks with a scale each, and the
            loop within a block.
        bits: bits of an element of the matrix whose columns are distributed.
    """

    tiles: tuple[int, ...]
    workgroups: int
    depths: tuple[int, ...]
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
    if product is None:
        return False
    lanes, loops, count = target.wavefront_size, len(product.tiles), len(product.depths)
    at_once, inner = _lanes(product, lanes)
    step = _step(product, lanes, at_once)
    sharing = _sharing(product, step, target)
    within = inner * at_once if count > 1 else step * sharing
    ones, zeros = [1] * loops, [0] * loops
    config = distribution(
        "partial_reduction",
        lanes=[*ones, *[lanes // inner, inner][-count:]],
        wavefronts=[*ones, *[sharing, 1][:count]],
        tile=[*zeros, *[step * sharing // within, within][-count:]],
        thread=[*zeros, *[1, at_once][-count:]],
        workgroup=[*product.tiles, *[0] * count],
    )
    options = CUDA_OPTIONS if target.kind is TargetKind.CUDA else ""
    info = compilation_info(config, "VectorDistribute", lanes * sharing, lanes, options)
    sums[0].attributes["compilation_info"] = ir.Attribute.parse(info)
    return True


def _lanes(product: _Product, lanes: int) -> tuple[int, int]:
    """Returns the elements that a lane reads at once, and the lanes that share a block."""
    *blocks, within = product.depths
    if not blocks:
        return min(_AT_ONCE, 1 << max(within // lanes, 1).bit_length() - 1), lanes
    at_once = min(_AT_ONCE, _power_of_two(within))
    return at_once, min(lanes, _power_of_two(within // at_once))


def _power_of_two(number: int) -> int:
    """Returns the largest power of two that divides a number."""
    return number & -number


def _step(product: _Product, lanes: int, at_once: int) -> int:
    """Returns the elements of a sum that a wavefront processes per iteration.

    It prefers a divisor of the number of the sum's elements, with which iterations need no masks.
    """
    most = min(at_once * 4, _PASSED_BITS // product.bits)
    steps = [lanes * count for count in (most, most // 2, most // 4) if count >= at_once]
    depth = prod(product.depths)
    return next((step for step in steps if depth % step == 0), lanes * most)


def _sharing(product: _Product, step: int, target: Target) -> int:
    """Returns the number of wavefronts that share a sum, each of which has several iterations."""
    count = 1
    depth = prod(product.depths)
    while product.workgroups * count < _wavefronts(target) and step * count * 2 <= depth:
        count *= 2
    return min(count, _MOST_SHARING)


def _product(op: ir.Operation, target: Target) -> _Product | None:
    """Returns the product that an op computes if it has few rows; None if it is another op."""
    kinds, extents = iterators(op), extents_of(op)
    if any(-1 in dims for dims in loops_of(op)):  # as in windows
        return None
    outer = kinds.count("parallel")
    summed = list(range(outer, len(kinds)))
    if not 1 <= len(summed) <= 2 or "reduction" in kinds[:outer]:
        return None
    if sorted(extents) != list(range(len(kinds))) or min(extents.values()) < 1:  # dynamic, or empty
        return None
    body = {one.operation.name for one in op.regions[0].blocks[0].operations}
    if len(op.operands) != 3 or not body <= _BODY or not body & {"arith.mulf", "arith.muli"}:
        return None
    sides = [_side(op, index, extents, summed) for index in (0, 1)]
    rows, columns = sorted(sides, key=lambda side: side.extent)
    depths = tuple(extents[loop] for loop in summed)
    workgroups = prod(extents[loop] for loop in range(outer)) // rows.extent
    is_few = has_few_rows(rows.extent, prod(depths), workgroups, columns.bits, target)
    if not is_few or not columns.is_contiguous:
        return None
    tiles = tuple(extents[loop] if loop in rows.own else 1 for loop in range(outer))
    return _Product(tiles, workgroups, depths, columns.bits)


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


def _side(op: ir.Operation, index: int, extents: dict[int, int], summed: list[int]) -> _Side:
    dims, others = (loops_of(op)[each] for each in (index, 1 - index))
    own = frozenset(dims) - frozenset(others)
    is_contiguous = dims[-len(summed) :] == summed
    bits = bit_width(str(tensor(op.operands[index]).element_type))
    return _Side(own, prod(extents[loop] for loop in own), is_contiguous, bits)
