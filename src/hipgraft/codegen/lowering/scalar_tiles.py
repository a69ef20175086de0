"""Contractions without matrix instructions, in tiles of results that a work item keeps.

IREE 3.13.0 gives each work item one result, which loads both factors of each product. Of a tile,
each loaded element is a factor of several: half of the instructions, a quarter of the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hipgraft.codegen.compilation_info import compilation_info, largest_divisor
from hipgraft.codegen.target import Target

# Results of a work item along one loop; more along two take more registers than there are.
_WIDTHS = (4, 7, 6, 5, 3, 2)

# Products of a result that are unrolled, at most.
_UNROLLED = 9

# Results of a work item of a product, along a loop and in all, and elements of the depth at once.
_WIDEST, _MOST_RESULTS, _DEEPEST = 8, 32, 8

# Instructions for an element that is loaded, and those that IREE takes for a product at least where
# extents are no multiples of its tiles (counted).
_OF_ELEMENT, _LEAST_OF_IREE = 0.7, 3


@dataclass(frozen=True)
class Loop:
    """A loop of a contraction.

    Attributes:
        name: of its dim in indexing maps.
        extent: of the loop.
        kind: `parallel` or `reduction`.
        tile: results of a work item, or products that are unrolled.
        rank: loops of lower rank are spread over work items first.
    """

    name: str
    extent: int
    kind: str = "parallel"
    tile: int = 1
    rank: int = 0


def lacks_matrix_instructions(target: Target, element: str) -> bool:
    """Whether floats of this type are multiplied one by one, in wavefronts of 32."""
    return target.is_rdna and element == "f32" and element not in target.matrix_elements


def width(extent: int) -> int:
    """Returns how many results along a loop of this extent a work item takes."""
    return next((each for each in _WIDTHS if extent % each == 0), 1)


def product_loops(target: Target, batch: Sequence[Loop], shape: Sequence[int]) -> list[Loop]:
    """Returns the loops `batch`, `m`, `n` and `k` of a product, in the tiles of least work.

    Args:
        target: what the kernel is for.
        batch: the loops over matrices.
        shape: rows, columns and depth.

    Returns:
        None of them, if all tiles leave so many lanes idle that IREE's own do less.
    """
    rows, columns, depth = shape
    k = Loop("k", depth, "reduction", largest_divisor(depth, _DEEPEST))
    forms = [
        [*batch, Loop("m", rows, tile=m), Loop("n", columns, tile=n), k]
        for m in _divisors(rows)
        for n in _divisors(columns)
        if m * n <= _MOST_RESULTS
    ]
    best = min(forms, key=lambda loops: _work(target, loops))
    return best if _work(target, best) < _LEAST_OF_IREE else []


def _work(target: Target, loops: Sequence[Loop]) -> float:
    """Estimates wave instructions, beside as many products in full waves."""
    *_, m, n, _ = loops
    return (1 + _OF_ELEMENT * (m.tile + n.tile) / (m.tile * n.tile)) / lanes_in_use(target, loops)


def lanes_in_use(target: Target, loops: Sequence[Loop]) -> float:
    """Returns which part of a wavefront's lanes have tiles of their own."""
    items = _items(target.wavefront_size, loops)
    return prod(items.values()) / target.wavefront_size


def _divisors(extent: int) -> list[int]:
    return [each for each in range(1, _WIDEST + 1) if extent % each == 0]


def unrolled(extents: Sequence[int]) -> list[int]:
    """Returns how many products along each of these loops are unrolled, innermost ones first."""
    left, tiles = _UNROLLED, list[int]()
    for extent in reversed(extents):
        tiles.append(largest_divisor(extent, left))
        left //= tiles[-1]
    return tiles[::-1]


def tile_info(target: Target, loops: Sequence[Loop]) -> str:
    """Returns the attribute of a `linalg.generic` that says its tiles to IREE.

    Args:
        target: what the kernel is for.
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
    """Spreads the tiles of a workgroup over at most so many work items, by name of the loop."""
    items: dict[str, int] = {}
    inner = [loop for loop in reversed(loops) if loop.kind == "parallel"]
    for loop in sorted(inner, key=lambda loop: loop.rank):
        tiles = loop.extent // loop.tile
        items[loop.name] = largest_divisor(tiles, most)
        most //= items[loop.name]
    return items
