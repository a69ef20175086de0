"""Gives convolutions with few filters to matrix instructions.

IREE 3.13.0 computes a convolution with less than half a tile of filters without matrix
instructions: one of 64 channels to 3, in f32 images of 48x48, takes 116 us on an MI300X by
estimate. A tile that is partly empty takes 11 us. With half a tile of filters, IREE's tiles have
256 positions, which may need more LDS than the target has.
"""

from __future__ import annotations

from math import prod

from hipgraft.codegen.iree.compilation_info import lowering_config, translation_info
from hipgraft.codegen.iree.linalg_loops import iterators, loops_in, loops_of, tensor
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import indexing_maps, ir

_TILE = 16
"""Filters and positions of a matrix instruction; the fewest products of a result."""

_DEPTH = 64
"""Products of a result in an iteration."""

_OPTIONS = (
    "prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, "
    "use_igemm_convolution = true"
)
_BODY = {"arith.mulf", "arith.addf", "linalg.yield"}
_RDNA3, _RDNA4 = "gfx11", "gfx12"
_CDNA1_AND_2 = ("gfx908", "gfx90a")


def set_tiles_of(function: ir.Operation, op: ir.Operation, target: Target) -> bool:
    """Sets the configuration of a dispatch's op if it is a convolution with few filters.

    Args:
        function: the function of the dispatch, after the phase `executable-configurations`.
        op: its contraction.
        target: the target of the dispatch.

    Returns:
        Whether the op is such a convolution.
    """
    filters, instruction = _filters_of(op), _instruction(op, target)
    if filters is None or instruction is None:
        return False
    (x, w, y), (_, taps, results) = map(tensor, op.operands), loops_of(op)
    outer, count = y.rank, w.shape[taps.index(filters)]
    depth = prod(w.shape) // count
    if count >= _TILE or depth < _TILE or str(x.element_type) != str(w.element_type):
        return False
    inner = max(loop for loop in range(outer) if loop != filters)
    name, step = instruction
    tile = [1] * outer
    tile[filters] = _TILE
    tile[inner] = _TILE if y.shape[results.index(inner)] <= _TILE else 2 * _TILE
    steps = max(1, min(_DEPTH, 1 << (depth - 1).bit_length()) // step)
    config = (
        f"mma_kind = #iree_gpu.mma_layout<{name}>, padding = {[*tile, steps * step]}, "
        f"promote_operands = [0, 1], reduction = {[*[0] * outer, steps]}, "
        f"subgroup = {[*[1] * outer, 0]}, workgroup = {[*tile, 0]}"
    )
    lanes = target.wavefront_size
    info = translation_info("TileAndFuse", tile[inner] // _TILE * lanes, lanes, _OPTIONS)
    op.attributes["lowering_config"] = ir.Attribute.parse(lowering_config(config))
    function.attributes["translation_info"] = ir.Attribute.parse(info)
    return True


def _filters_of(op: ir.Operation) -> int | None:
    """Returns the loop over the filters of a convolution of static shape; None for another op."""
    kinds, loops = iterators(op), loops_of(op)
    body = {one.operation.name for one in op.regions[0].blocks[0].operations}
    is_static = all(tensor(value).has_static_shape for value in op.operands)
    if len(loops) != 3 or body - {"arith.extf"} != _BODY or not is_static:
        return None
    windows, taps, results = loops
    outer = range(kinds.count("parallel"))
    own = [loop for loop in outer if loop in taps]
    is_plain = sorted(results) == [*outer] and "reduction" not in kinds[: len(outer)]
    is_window = -1 in windows and -1 not in taps and is_plain and _is_one_sum(op, len(outer))
    return own[0] if is_window and len(own) == 1 and own[0] not in windows else None


def _is_one_sum(op: ir.Operation, outer: int) -> bool:
    """Whether both factors store the elements of a sum in the same order, without a loop between.

    IREE then collapses the loops of the sum to one, which has one tile. Windows that cover an image
    in some dim, so that the result has one position there, are left to IREE: LLVM does not finish
    compiling some of those with gaps.
    """
    windows, taps, _ = (ir.AffineMapAttr(each).value.results for each in indexing_maps(op))
    read = [loops_in(each) for each in windows]
    summed = [[loop for loop in loops if loop >= outer] for loops in read]
    places = [place for place, loops in enumerate(summed) if loops]
    channels = [place for place in places if min(read[place]) >= outer]
    if len(channels) != 1:
        return False
    is_adjacent = places == [*range(places[0], places[-1] + 1)]
    order = [loop for each in taps for loop in loops_in(each) if loop >= outer]
    is_same = [loop for place in places for loop in summed[place]] == order
    return is_adjacent and is_same


def _instruction(op: ir.Operation, target: Target) -> tuple[str, int] | None:
    is_wide = str(tensor(op.operands[-1]).element_type) == "f32"
    element = str(tensor(op.operands[0]).element_type)
    return matrix_instruction(element, target) if is_wide else None


def matrix_instruction(element: str, target: Target) -> tuple[str, int] | None:
    """Returns the matrix instruction with f32 sums in tiles of 16x16, and its extent of K.

    None if the target's matrix instructions do not multiply the elements.
    """
    if element not in target.matrix_elements:
        return None
    kind = element.upper()
    if target.name.startswith(_RDNA3):
        return f"WMMAR3_F32_16x16x16_{kind}", 16
    if target.name.startswith(_RDNA4):
        return f"WMMAR4_F32_16x16x16_{kind}", 16
    depth = 4 if element == "f32" else 16
    if element == "bf16" and target.name in _CDNA1_AND_2:
        depth = 8
    return f"MFMA_F32_16x16x{depth}_{kind}", depth
