"""Lets the wavefronts of a workgroup share the sums of a matrix product.

IREE 3.13.0 gives each wavefront results of its own and all of K, with factors that pass through
LDS. With few results, most of a GPU's matrix units have no wavefront. Here, the wavefronts of a
workgroup compute the same small tile, each for a part of K, and then add their parts in LDS, which
hipBLASLt calls local split-U. Only a lane's own instructions read the factors that it loads, so
these go to registers, 16 contiguous bytes at once: a sum may take its products in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from hipgraft.codegen.chips import find_gpu
from hipgraft.codegen.iree.compilation_info import lowering_config, translation_info
from hipgraft.codegen.iree.deep_instructions import (
    FEWEST_PARTS,
    SIDE,
    WIDE,
    Instruction,
    divided,
    instructions,
    wide_instructions,
)
from hipgraft.codegen.iree.linalg_builders import binary, generic, structured, widened
from hipgraft.codegen.iree.linalg_loops import tensor
from hipgraft.codegen.iree.products import LOADS, Factor, Product, read_product
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op

_CONFIG = "lowering_config"
_OPTIONS = "prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false"
_FEWEST, _FEWEST_OF_WINDOWS = 7, 2
"""The fewest rows or columns that are worth an instruction: of a product, and of a convolution,
whose windows would otherwise be copied."""

_FEWEST_OF_LONG, _LONG = 3, 3456
"""The same for convolutions of f32 that sum more products than this: two launches save 5 us."""

_MOST_PARTS = 8
"""The most parts of a sum."""

_MOST_STEPS = 17
"""The most steps along K that one wavefront takes faster than IREE's: LLVM unrolls these."""

_MOST_TAPS = 9
"""The most elements of a window that an iteration multiplies."""

_SMALL = 1024
"""The most results of a tile for which registers hold the factors of two steps."""

_DEEP = 768
"""The smallest extent of K that pays for tiles so large that a compute unit has room for one."""

_MOST_BYTES = 48 << 10
"""The most bytes of LDS for the parts of a tile; IREE adds some between rows."""

_LOADED = 4
"""The most elements of a tile that a lane adds at once."""


@dataclass(frozen=True)
class _Tile:
    """What a workgroup computes.

    Attributes:
        parts: parts of K, each summed by a wavefront for each share of the columns.
        rows: results along the first factor.
        columns: results along the second factor.
        shares: wavefronts along the columns.
    """

    parts: int
    rows: int
    columns: int
    shares: int = 1


def share_sums(function: ir.Operation, op: ir.Operation, target: Target) -> bool:
    """Splits the sums of a dispatch's product or convolution over wavefronts if that is faster.

    Args:
        function: the function of the dispatch, after the phase `executable-configurations`.
        op: its contraction.
        target: the target of the dispatch.

    Returns:
        Whether it did.
    """
    found = read_product(op)
    if found is None:
        return False
    product = found.in_order
    chosen = _chosen(product, target) if product.has_contiguous_windows else None
    if chosen is None:
        return False
    instruction, tile = chosen
    with ir.InsertionPoint(op), op.location:
        _rewrite(op, product, instruction, tile, target)
    threads = tile.parts * tile.shares * target.wavefront_size
    info = translation_info("VectorDistribute", threads, target.wavefront_size, _OPTIONS)
    function.attributes["translation_info"] = ir.Attribute.parse(info)
    return True


def shares_windows(target: Target, element: str, filters: Sequence[int], row: int) -> bool:
    """Whether wavefronts share the sums of a convolution whose filters are stored by channel.

    Args:
        target: the target of the convolution.
        element: type of its elements.
        filters: shape of the filters [K, C, window...].
        row: positions of a row of the result.
    """
    is_filled = filters[0] >= SIDE and row >= _fewest(element, filters[1], prod(filters[2:]))
    is_whole = filters[0] % SIDE == 0 or row % SIDE == 0 or row > SIDE
    found = divided(instructions(element, target), filters[1], _MOST_PARTS)
    return is_filled and is_whole and found is not None


def _fewest(element: str, depth: int, taps: int) -> int:
    if taps == 1:
        return _FEWEST
    is_long = element == "f32" and depth * taps > _LONG
    return _FEWEST_OF_LONG if is_long else _FEWEST_OF_WINDOWS


def _chosen(product: Product, target: Target) -> tuple[Instruction, _Tile] | None:
    """Returns a matrix instruction and the tile to compute with it; None if IREE's is faster."""
    depth, known = product.extents[product.k], instructions(product.element, target)
    tile = _tile(product, target)
    found = tile and divided(known, depth, tile.parts)
    # IREE masks factors whose K is no multiple of an instruction's, even in its large tiles.
    is_masked = divided(known, depth, 1, 1) is None
    if not found and (tile or is_masked) and not product.taps and _fits_wide(product):
        tile = _Tile(_MOST_PARTS, WIDE, WIDE)
        wide = wide_instructions(product.element, target)
        is_short = any(depth <= _MOST_STEPS * one.step for one in wide)
        found = divided(wide, depth, _MOST_PARTS, 1 if is_short else FEWEST_PARTS)
    if not tile or not found:
        return None
    instruction, parts = found
    return instruction, replace(tile, parts=parts)


def _fits_wide(product: Product) -> bool:
    """Whether results fill a tile of 32x32, and IREE distributes such tiles."""
    rows, columns = (product.extents[loop] for loop in (product.m, product.n))
    is_single = WIDE in (rows, columns) and (rows % WIDE or columns % WIDE)
    return not is_single and _has_room(product, _Tile(_MOST_PARTS, WIDE, WIDE))


def _tile(product: Product, target: Target) -> _Tile | None:
    """Returns the tile that takes the least time by estimate; None if IREE's takes less."""
    units, is_wide = find_gpu(target.name).units, product.element == "f32"
    large, small = product.workgroups(32, 64), product.workgroups(16, 32)
    parts = 8 if small <= units else 4
    if product.taps:
        parts = 8 if small <= units // 2 else 4 if small <= units else FEWEST_PARTS
    tiles = [_Tile(parts, 16, 32), _Tile(parts, 32, 16), _Tile(min(parts, 4), 16, 16)]
    if product.taps:
        if small > units and (is_wide or small >= 4 * units):
            tiles.insert(0, _Tile(4 if is_wide else FEWEST_PARTS, 32, 32))
    elif large >= 4 * units:
        tiles = [_Tile(2, 32, 64, shares=2), *tiles] if is_wide else []
    elif not is_wide and large >= units // 2:
        is_whole = large > units or product.extents[product.k] < _DEEP
        tiles.insert(0, _Tile(2, 32, 64, shares=2) if is_whole else _Tile(4, 32, 64))
    elif not is_wide and product.workgroups(32, 32) >= units // 2:
        tiles.insert(0, _Tile(4, 32, 32))
    return next((one for one in tiles if _has_room(product, one)), None)


def _has_room(product: Product, tile: _Tile) -> bool:
    """Whether LDS holds all parts, and results fill a tile, or almost half a smallest side."""
    if 4 * len(product.b) * tile.parts * tile.rows * tile.columns > _MOST_BYTES:
        return False
    sides = ((product.extents[product.m], tile.rows), (product.extents[product.n], tile.columns))
    if all(extent % side for extent, side in sides) and any(a < b for a, b in sides):
        return False  # IREE does not distribute such tiles
    taps = prod(product.extents[loop] for loop in product.taps)
    fewest = _fewest(product.element, product.extents[product.k], taps)
    return all(extent >= (side if side > SIDE else fewest) for extent, side in sides)


def _rewrite(
    op: ir.Operation, product: Product, instruction: Instruction, tile: _Tile, target: Target
) -> None:
    """Replaces an op by contractions of the parts of K, and an op that adds their results."""
    results, outer = len(op.results), product.outer
    split = _Split(product, instruction, tile)
    a = split.of(product.a)
    parts = [split.contraction(a, split.of(factor)) for factor in product.b]
    maps = [(outer, *range(outer))] * results + list(product.c)
    sums = generic(parts, list(op.operands)[-results:], maps, ["parallel"] * outer + ["reduction"])
    block = sums.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        pairs = zip(block.arguments[:results], block.arguments[results:], strict=True)
        ir.Operation.create("linalg.yield", operands=[binary("addf", *pair) for pair in pairs])
    sums.attributes[_CONFIG] = ir.Attribute.parse(_distribution(product, tile, target))
    for old, new in zip(op.results, sums.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


@dataclass(frozen=True)
class _Split:
    """Builds contractions whose first loop runs over the parts of K.

    Their loops are the part, the loops of the results and of the window, the steps within a part,
    the repetitions of the instruction, if there are any, and the instruction's own K.
    """

    product: Product
    instruction: Instruction
    tile: _Tile

    @property
    def _inner(self) -> list[int]:
        """Extents of the loops that replace K, in the order in which factors store them."""
        repeats = [self.instruction.repeats] if self.instruction.repeats > 1 else []
        within = [self.instruction.depth, *repeats]
        depth = self.product.extents[self.product.k]
        return [self.tile.parts, depth // (self.tile.parts * prod(within)), *within]

    @property
    def _loops(self) -> list[int]:
        """Loops of the contraction with those extents."""
        first = len(self.product.extents)
        within = [first + 2, first + 1] if self.instruction.repeats > 1 else [first + 1]
        return [0, first, *within]

    def _loop(self, loop: int) -> int:
        """Returns the contraction's loop for one of the product other than K."""
        return 1 + loop - (loop > self.product.k)

    def of(self, factor: Factor) -> tuple[ir.Value, list[int]]:
        """Returns a factor whose K is split, and the loops that index it."""
        value = factor.value if factor.strides is None else self._windows(factor)
        shape: list[int] = []
        groups: list[list[int]] = []
        indices: list[int] = []
        for loop in factor.loops:
            is_k = loop == self.product.k
            inner = self._inner if is_k else [self.product.extents[loop]]
            groups.append([*range(len(shape), len(shape) + len(inner))])
            indices += self._loops if is_k else [self._loop(loop)]
            shape += inner
        integer = ir.IntegerType.get_signless(64)
        attributes: dict[str, ir.Attribute] = {
            "reassociation": ir.ArrayAttr.get(
                [
                    ir.ArrayAttr.get([ir.IntegerAttr.get(integer, dim) for dim in group])
                    for group in groups
                ]
            ),
            "static_output_shape": ir.DenseI64ArrayAttr.get(shape),
        }
        kind = ir.RankedTensorType.get(shape, tensor(value).element_type)
        op = ir.Operation.create(
            "tensor.expand_shape", results=[kind], operands=[value], attributes=attributes
        )
        return op.result, indices

    def _windows(self, factor: Factor) -> ir.Value:
        """Returns the elements of all windows, as a view of the buffer in which they overlap."""
        load = defining_op(factor.value)
        assert load is not None
        buffer = ir.MemRefType(load.operands[0].type)
        shape = [self.product.extents[loop] for loop in factor.loops]
        layout = ir.StridedLayoutAttr.get(0, list(factor.strides or ()))
        kind = ir.MemRefType.get(shape, buffer.element_type, layout, buffer.memory_space)
        attributes: dict[str, ir.Attribute] = {
            "static_offsets": ir.DenseI64ArrayAttr.get([0]),
            "static_sizes": ir.DenseI64ArrayAttr.get(shape),
            "static_strides": ir.DenseI64ArrayAttr.get(list(factor.strides or ())),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
        }
        view = ir.Operation.create(
            "memref.reinterpret_cast", [kind], [load.operands[0]], attributes=attributes
        )
        whole = ir.RankedTensorType.get(shape, buffer.element_type)
        return ir.Operation.create(LOADS, [whole], [view.result]).result

    def contraction(self, a: tuple[ir.Value, list[int]], b: tuple[ir.Value, list[int]]) -> ir.Value:
        """Multiplies the parts of two factors, and returns their sums [part, results...]."""
        outer = 1 + self.product.outer
        f32 = ir.F32Type.get()
        shape = [self.tile.parts, *self.product.extents[: self.product.outer]]
        zero = ir.Operation.create(
            "arith.constant", results=[f32], attributes={"value": ir.FloatAttr.get(f32, 0.0)}
        ).result
        empty = ir.Operation.create(
            "tensor.empty", results=[ir.RankedTensorType.get(shape, f32)]
        ).result
        init = structured("linalg.fill", [zero], [empty], {})
        with ir.InsertionPoint(init.regions[0].blocks[0]):
            ir.Operation.create("linalg.yield", operands=[init.regions[0].blocks[0].arguments[0]])
        kinds = ["parallel"] * outer + ["reduction"] * (max(self._loops) + 1 - outer)
        maps = [a[1], b[1], range(outer)]
        op = generic([a[0], b[0]], [init.result], maps, kinds)
        block = op.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            *factors, total = block.arguments
            product = binary("mulf", *map(widened, factors))
            ir.Operation.create("linalg.yield", operands=[binary("addf", total, product)])
        op.attributes[_CONFIG] = ir.Attribute.parse(self._config(len(kinds)))
        return op.result

    def _config(self, loops: int) -> str:
        counts, steps = [1] * loops, [0] * loops
        counts[0], counts[self._loop(self.product.n)] = self.tile.parts, self.tile.shares
        for loop, extent in zip(self._loops[2:], self._inner[2:], strict=True):
            steps[loop] = extent
        if prod(self.product.extents[loop] for loop in self.product.taps) > _MOST_TAPS:
            for loop in self.product.taps:
                steps[self._loop(loop)] = 1
        is_small = self.tile.rows * self.tile.columns <= _SMALL
        steps[self._loops[1]] = 2 if is_small and self._inner[1] % 2 == 0 else 1
        return lowering_config(
            f"mma_kind = #iree_gpu.{self.instruction.layout}, promote_operands = [], "
            f"reduction = {steps}, subgroup_basis = [{counts}, {list(range(loops))}]"
        )


def _distribution(product: Product, tile: _Tile, target: Target) -> str:
    """Returns the configuration of the op that adds the parts of a tile.

    Lanes are first distributed along the innermost dim of the first result.
    """
    outer = product.outer
    extents = {product.m: tile.rows, product.n: tile.columns}
    inner = max(extents, key=product.c[0].index)
    (across,) = extents.keys() - {inner}
    count = tile.parts * tile.shares
    wavefronts = count & -count  # the others add the same elements
    thread, lanes, shares = ([1] * (outer + 1) for _ in range(3))
    thread[outer] = tile.parts
    results = tile.rows * tile.columns
    thread[inner] = min(_LOADED, results // (wavefronts * target.wavefront_size))
    most = target.wavefront_size
    if product.extents[across] < extents[across]:  # IREE has to cover a partial tile at once
        most = wavefronts * target.wavefront_size // extents[across]
    lanes[inner] = min(extents[inner] // thread[inner], most, target.wavefront_size)
    lanes[across] = target.wavefront_size // lanes[inner]
    shares[across] = min(wavefronts, extents[across] // lanes[across])
    shares[inner] = wavefronts // shares[across]
    workgroup = [*(extents.get(loop, 1) for loop in range(outer)), 0]
    order, basis = list(range(outer + 1)), [*shares, count // wavefronts]
    return lowering_config(
        f"lane_basis = [{lanes}, {order}], promote_operands = {list(range(len(product.b)))}, "
        f"subgroup_basis = [{basis}, {order}], thread = {thread}, workgroup = {workgroup}"
    )
