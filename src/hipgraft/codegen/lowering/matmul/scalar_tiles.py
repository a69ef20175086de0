"""Tiles contractions without matrix instructions, with several results per work item.

IREE 3.13.0 assigns one result to each work item, which loads both factors of each product. In a
tile each loaded element is a factor of several products, which halves the instructions and quarters
the loaded bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from hipgraft.codegen.chips import find_gpu
from hipgraft.codegen.iree.compilation_info import compilation_info, largest_divisor
from hipgraft.codegen.target import Target

# Results of a work item along one loop, by preference; tiles along two loops would need too many
# registers.
_WIDTHS = (4, 7, 6, 5, 3, 2)

# The most products per result that are unrolled.
_UNROLLED = 9

# Limits for a work item of a matrix product: results along a loop and in all, and elements of K per
# iteration.
_WIDEST, _MOST_RESULTS, _DEEPEST = 8, 32, 8

# Work items of a workgroup of a product: along each loop if there are enough tiles, and wavefronts.
_ITEMS, _WAVEFRONTS = 8, 2

# Workgroups per compute unit that hide latency, by estimated time on gfx1100: with tiles of up to
# 16 results, and with larger ones, whose registers leave fewer wavefronts.
_WORKGROUPS, _MANY_WORKGROUPS, _LARGE_TILE = 4, 8, 16

# Instructions (counted) per loaded element, and the fewest per product in IREE's code if extents
# are not multiples of its tiles.
_OF_ELEMENT, _LEAST_OF_IREE = 0.7, 3


@dataclass(frozen=True)
class Loop:
    """A loop of a contraction.

    Attributes:
        name: name of its dim in indexing maps.
        extent: extent of the loop.
        kind: `parallel` or `reduction`.
        tile: results per work item, or unrolled products of a reduction.
        rank: priority; loops of lower rank are distributed over work items first.
        items: work items of a workgroup; 0 to distribute a wavefront over all loops.
    """

    name: str
    extent: int
    kind: str = "parallel"
    tile: int = 1
    rank: int = 0
    items: int = 0


def lacks_matrix_instructions(target: Target, element: str) -> bool:
    """Whether elements are f32 on an RDNA target without matrix instructions for f32."""
    return target.is_rdna and element == "f32" and element not in target.matrix_elements


def width(extent: int) -> int:
    """Returns the results per work item along a loop of this extent."""
    return next((each for each in _WIDTHS if extent % each == 0), 1)


def product_loops(
    target: Target, batch: Sequence[Loop], shape: Sequence[int], *, by_columns: bool
) -> list[Loop]:
    """Returns the loops `batch`, `m`, `n` and `k` of a product, with the fastest tiles.

    Args:
        target: target of the kernel.
        batch: the loops over matrices.
        shape: rows, columns and depth.
        by_columns: whether the columns of the right matrices are contiguous. Lanes then load
            distant elements, which pays off only if a tile has several rows.

    Returns:
        The loops, or an empty list if all tiles leave so many lanes idle that IREE's own cost less.
    """
    rows, columns, depth = shape
    k = Loop("k", depth, "reduction", largest_divisor(depth, _DEEPEST))
    forms = [
        [*_distributed(target, batch, (rows, m), (columns, n)), k]
        for m in _divisors(rows)
        for n in _divisors(columns)
        if m * n <= _MOST_RESULTS and (m > 1 or not by_columns)
    ]
    fitting = [loops for loops in forms if _work(target, loops) < _LEAST_OF_IREE]
    if not fitting:
        return []
    return min(fitting, key=lambda loops: _work(target, loops) * _waiting(target, loops))


def _distributed(
    target: Target, batch: Sequence[Loop], rows: tuple[int, int], columns: tuple[int, int]
) -> list[Loop]:
    """Returns the parallel loops of a product, given extents and tiles, with their work items."""
    most = _WAVEFRONTS * target.wavefront_size
    m, n = rows[0] // rows[1], columns[0] // columns[1]
    along_n = largest_divisor(n, most // largest_divisor(m, _ITEMS))
    along_m = largest_divisor(m, most // along_n)
    left = most // (along_m * along_n)
    outer: list[Loop] = []
    for loop in reversed(batch):
        items = largest_divisor(loop.extent, left)
        left //= items
        outer.insert(0, replace(loop, items=items))
    inner = (("m", *rows, along_m), ("n", *columns, along_n))
    return [*outer, *(Loop(name, extent, tile=t, items=i) for name, extent, t, i in inner)]


def _waiting(target: Target, loops: Sequence[Loop]) -> float:
    """Estimates a product's slowdown because workgroups do not occupy all units."""
    parallel = [loop for loop in loops if loop.kind == "parallel"]
    workgroups = prod(loop.extent // (loop.tile * loop.items) for loop in parallel)
    is_large = prod(loop.tile for loop in parallel) > _LARGE_TILE
    needed = find_gpu(target.name).units * (_MANY_WORKGROUPS if is_large else _WORKGROUPS)
    return max(1, needed / workgroups)


def _work(target: Target, loops: Sequence[Loop]) -> float:
    """Estimates wavefront instructions per product, with idle lanes counted as waste."""
    *_, m, n, _ = loops
    return (1 + _OF_ELEMENT * (m.tile + n.tile) / (m.tile * n.tile)) / lanes_in_use(target, loops)


def lanes_in_use(target: Target, loops: Sequence[Loop]) -> float:
    """Returns the share of the lanes of a workgroup's wavefronts that have a tile."""
    items, lanes = prod(_items(target.wavefront_size, loops).values()), target.wavefront_size
    return items / (-(-items // lanes) * lanes)


def _divisors(extent: int) -> list[int]:
    return [each for each in range(1, _WIDEST + 1) if extent % each == 0]


def unrolled(extents: Sequence[int]) -> list[int]:
    """Returns the products to unroll along each loop; inner loops are unrolled first."""
    left, tiles = _UNROLLED, list[int]()
    for extent in reversed(extents):
        tiles.append(largest_divisor(extent, left))
        left //= tiles[-1]
    return tiles[::-1]


def tile_info(target: Target, loops: Sequence[Loop]) -> str:
    """Returns the attribute of a `linalg.generic` that sets its tile sizes in IREE.

    Args:
        target: target of the kernel.
        loops: all loops, outermost first.
    """
    items = _items(target.wavefront_size, loops)
    results = [loop.tile if loop.kind == "parallel" else 0 for loop in loops]
    groups = [tile * items.get(loop.name, 1) for tile, loop in zip(results, loops, strict=True)]
    products = [loop.tile if loop.kind == "reduction" else 0 for loop in loops]
    count = prod(items.values())
    tiles = f"reduction = {products}, thread = {results}, workgroup = {groups}"
    info = compilation_info(tiles, "TileAndFuse", count, target.wavefront_size)
    return f"compilation_info = {info}"


def _items(most: int, loops: Sequence[Loop]) -> dict[str, int]:
    """Returns the work items by loop name: as given, else at most `most` in all."""
    items = {loop.name: loop.items for loop in loops if loop.items}
    if items:
        return items
    inner = [loop for loop in reversed(loops) if loop.kind == "parallel"]
    for loop in sorted(inner, key=lambda loop: loop.rank):
        tiles = loop.extent // loop.tile
        items[loop.name] = largest_divisor(tiles, most)
        most //= items[loop.name]
    return items
