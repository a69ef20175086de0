"""Corrects the tiles that IREE chooses for matrix instructions of AMD GPUs.

IREE 3.13.0 chooses the tiles of a product or a convolution by its size, not by the GPU's: 128x768
times 768x768 has 12 tiles of 64x128, on a GPU of 304 compute units. Smaller tiles load operands
more often, but more of the GPU takes part. On RDNA, the tiles of long products need more registers
than a work item has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from hipgraft.codegen.chips import find_gpu
from hipgraft.codegen.iree.attention_tiles import ATTENTION, correct_attention
from hipgraft.codegen.iree.compilation_info import list_in, with_list
from hipgraft.codegen.iree.few_filters import set_tiles_of
from hipgraft.codegen.iree.linalg_loops import iterators, loops_in, tensor
from hipgraft.codegen.iree.shared_sums import share_sums
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.ir.bindings import indexing_maps, ir
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.io import walk

_CONFIG, _TRANSLATION = "lowering_config", "translation_info"
_WORKGROUP_SIZE = re.compile(r"workgroup_size = \[(\d+)")
_FIELDS = ("workgroup", "padding", "padding_conv", "subgroup", "subgroup_basis", "reduction")
_INSTRUCTION = re.compile(r"_(\d+)x(\d+)x(\d+)_")

_FEWEST_RESULTS = 512
"""The fewest elements of a tile, 16x32: two matrix instructions compute them."""

_FEWEST_WAVEFRONTS = 4
"""Wavefronts of a tile that has as many matrix instructions."""

_MOST_REGISTERS = 320
"""The registers of a work item on RDNA that are estimated for tiles with hardly a spill: of 256, as
some of them are not live at once. The next larger tiles spill 118 registers and take four times as
long."""


@dataclass(frozen=True)
class _Tiles:
    """The tiles of a contraction.

    Attributes:
        extents: extents of the parallel loops.
        sides: `m`, `n`, or `b` for both, by the operands that a parallel loop indexes.
        units: elements of a parallel loop that one matrix instruction covers.
        workgroup: elements of a parallel loop in a workgroup's tile.
        wavefronts: the most wavefronts in a workgroup.
        steps: matrix instructions along K in an iteration; for the pipeline `VectorDistribute`,
            elements.
    """

    extents: tuple[int, ...]
    sides: str
    units: tuple[int, ...]
    workgroup: tuple[int, ...]
    wavefronts: int
    steps: int

    @property
    def count(self) -> int:
        """The number of workgroups."""
        pairs = zip(self.extents, self.workgroup, strict=True)
        return prod(-(-extent // tile) for extent, tile in pairs)

    @property
    def shares(self) -> tuple[int, ...]:
        """The number of wavefronts along each parallel loop."""
        counts = [1] * len(self.units)
        left = [tile // unit for tile, unit in zip(self.workgroup, self.units, strict=True)]
        while prod(counts) < self.wavefronts:
            loop = max(range(len(left)), key=lambda loop: (left[loop] % 2 == 0, left[loop]))
            if left[loop] % 2 or not left[loop]:
                break
            counts[loop], left[loop] = 2 * counts[loop], left[loop] // 2
        return tuple(counts)

    def size(self, side: str) -> int:
        """Elements of a tile along all loops of one side."""
        return self._product(side, self.workgroup)

    def registers(self, bits: int, depth: int, lanes: int) -> int:
        """Estimates the registers of a work item: results, loaded elements, and factors.

        Each half of an RDNA wavefront has all factors of a matrix instruction.

        Args:
            bits: bits of a factor's element.
            depth: extent of K of a matrix instruction.
            lanes: lanes of a wavefront.
        """
        m, n, shares = self.size("m"), self.size("n"), self.shares
        items = prod(shares) * lanes
        factors = m // self._product("m", shares) + n // self._product("n", shares)
        column = self.steps * depth * bits
        loaded = (m + n) * column // (32 * items)
        return m * n // items + loaded + 2 * factors * column // (32 * lanes)

    def halved(self) -> _Tiles | None:
        """The tiles with half the results, None if these are too few.

        The longer side is halved, or the first operand's: the windows of a convolution are read
        again for each tile of filters.
        """
        if self.size("m") * self.size("n") < 2 * _FEWEST_RESULTS:
            return None
        for side in sorted("mn", key=self.size, reverse=True):
            for loop, each in enumerate(self.sides):
                tile = self.workgroup[loop]
                if each == side and tile % (2 * self.units[loop]) == 0:
                    workgroup = (*self.workgroup[:loop], tile // 2, *self.workgroup[loop + 1 :])
                    return replace(self, workgroup=workgroup)
        return None

    def _product(self, side: str, values: Sequence[int]) -> int:
        return prod(value for each, value in zip(self.sides, values, strict=True) if each == side)


def correct_tiles(module: ir.Module, target: Target) -> bool:
    """Corrects the tiles of a module after the phase `executable-configurations`.

    Returns:
        Whether it changed any.
    """
    if target.kind is not TargetKind.AMDGPU:
        return False
    with module.context, ir.Location.unknown():
        functions = [op for op in walk(module.operation) if op.name == "func.func"]
        return sum(_correct(function, target) for function in functions) > 0


def _correct(function: ir.Operation, target: Target) -> bool:
    for op in walk(function):
        if op.name == ATTENTION:
            return correct_attention(function, op, target)
    configured = [op for op in walk(function) if _text(op, _CONFIG)]
    roots = [op for op in configured if "mma_kind" in _text(op, _CONFIG)] or configured
    if len(roots) != 1 or roots[0].name != "linalg.generic":
        return False
    (op,) = roots
    if set_tiles_of(function, op, target) or share_sums(function, op, target):
        return True
    tiles = _tiles(function, op, target)
    if tiles is None:
        return False
    better = _spread(tiles, target)
    if target.is_rdna and "TileAndFuse" in _text(function, _TRANSLATION):
        better = _within_registers(better, op, target)
    if better == tiles:
        return False
    _set(function, op, better, target)
    return True


def _tiles(function: ir.Operation, op: ir.Operation, target: Target) -> _Tiles | None:
    """Returns the tiles of an op; None if it is no contraction of static operands.

    An op with several results multiplies one operand by each of the others.
    """
    config, kinds = _text(op, _CONFIG), iterators(op)
    workgroup = [tile for tile in list_in(config, "workgroup") if tile]
    loops = kinds.count("parallel")
    sizes = _INSTRUCTION.search(config)
    threads = _WORKGROUP_SIZE.search(_text(function, _TRANSLATION))
    if "reduction" in kinds[:loops] or len(workgroup) != loops or not sizes or not threads:
        return None
    maps = (ir.AffineMapAttr(each).value.results for each in indexing_maps(op))
    a, b, *_, c = ([loop for one in each for loop in loops_in(one)] for each in maps)
    shape = tensor(op.results[0])
    if not shape.has_static_shape or sorted(c) != list(range(loops)):
        return None
    sides = "".join("b" if n in a and n in b else "m" if n in a else "n" for n in range(loops))
    units = [1] * loops
    for side, size in zip("mn", sizes.groups()[:2], strict=True):
        if side in sides:
            units[sides.rindex(side)] = int(size)
    return _Tiles(
        extents=tuple(shape.shape[c.index(loop)] for loop in range(loops)),
        sides=sides,
        units=tuple(units),
        workgroup=tuple(workgroup),
        wavefronts=max(_FEWEST_WAVEFRONTS, int(threads[1]) // target.wavefront_size),
        steps=list_in(config, "reduction")[-1],
    )


def _spread(tiles: _Tiles, target: Target) -> _Tiles:
    """Returns tiles that are small enough for a busy GPU."""
    wanted = find_gpu(target.name).fewest_tiles
    while tiles.count < wanted and (half := tiles.halved()) is not None:
        tiles = half
    return tiles


def _within_registers(tiles: _Tiles, op: ir.Operation, target: Target) -> _Tiles:
    """Returns tiles with so few steps along K that registers suffice."""
    bits = bit_width(str(tensor(op.operands[0]).element_type)) or 0
    found = _INSTRUCTION.search(_text(op, _CONFIG))
    depth = int(found[3]) if found else 1
    lanes = target.wavefront_size
    while tiles.steps % 2 == 0 and tiles.registers(bits, depth, lanes) > _MOST_REGISTERS:
        tiles = replace(tiles, steps=tiles.steps // 2)
    return tiles


def _set(function: ir.Operation, op: ir.Operation, tiles: _Tiles, target: Target) -> None:
    config, info, shares = _text(op, _CONFIG), _text(function, _TRANSLATION), tiles.shares
    old = {name: list_in(config, name) for name in _FIELDS}
    *_, steps = old["reduction"]
    inner = {name: values[len(shares) :] for name, values in old.items()}
    parts = zip(tiles.workgroup, tiles.units, shares, strict=True)
    fields = {
        "workgroup": [*tiles.workgroup, *inner["workgroup"]],
        "padding": [
            *tiles.workgroup,
            *inner["padding"][:-1],
            *(each * tiles.steps // steps for each in inner["padding"][-1:]),
        ],
        "padding_conv": [*tiles.workgroup, *inner["padding_conv"]],
        "subgroup": [*(tile // (unit * share) for tile, unit, share in parts), *inner["subgroup"]],
        "subgroup_basis": [*shares, *old["subgroup_basis"][len(shares) :]],
        "reduction": [*old["reduction"][:-1], tiles.steps],
    }
    for name, values in fields.items():
        config = with_list(config, name, values)
    op.attributes[_CONFIG] = ir.Attribute.parse(config)
    items = f"workgroup_size = [{prod(shares) * target.wavefront_size}"
    function.attributes[_TRANSLATION] = ir.Attribute.parse(_WORKGROUP_SIZE.sub(items, info))


def _text(op: ir.Operation, name: str) -> str:
    return str(op.attributes[name]) if name in op.attributes else ""
