"""Gives convolutions with few filters to matrix instructions.

IREE 3.13.0 computes a convolution with less than half a tile of filters without matrix
instructions: one of 64 channels to 3, in f32 images of 48x48, takes 116 us on an MI300X by
estimate. A tile that is partly empty takes 11 us. With half a tile of filters, IREE's tiles have
256 positions, which may need more LDS than the target has.
"""

from __future__ import annotations

from math import prod

from hipgraft.codegen.iree.compilation_info import lowering_config, translation_info
from hipgraft.codegen.iree.linalg_loops import iterators, loops_of, tensor
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir

_TILE = 16
"""Filters and positions of a matrix instruction; the fewest products of a result."""

_DEPTH = 64
"""Products of a result in an iteration."""

_OPTIONS = (
    "prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, "
    "use_igemm_convolution = true"
)
_RDNA3, _RDNA4 = "gfx11", "gfx12"


def set_tiles_of(function: ir.Operation, op: ir.Operation, target: Target) -> bool:
    """Sets the configuration of a dispatch's op if it is a convolution with few filters.

    Args:
        function: the function of the dispatch, after the phase `executable-configurations`.
        op: its contraction.
        target: the target of the dispatch.

    Returns:
        Whether the op is such a convolution.
    """
    kinds, outer = iterators(op), iterators(op).count("parallel")
    x, w, *_ = (tensor(value) for value in op.operands)
    element = str(x.element_type)
    instruction = _instruction(element, target) if str(w.element_type) == element else None
    if len(op.operands) != 3 or "reduction" in kinds[:outer] or instruction is None:
        return False
    windows, filters, results = loops_of(op)
    own = [loop for loop in range(outer) if loop in filters]
    shapes = (x, w, tensor(op.results[0]))
    if -1 not in windows or len(own) != 1 or not all(one.has_static_shape for one in shapes):
        return False
    (filter_loop,) = own
    count = w.shape[filters.index(filter_loop)]
    depth = prod(w.shape) // count
    if filter_loop in windows or -1 in filters or count >= _TILE or depth < _TILE:
        return False
    extents = [tensor(op.results[0]).shape[results.index(loop)] for loop in range(outer)]
    inner = max(loop for loop in range(outer) if loop != filter_loop)
    name, step = instruction
    tile = [1] * outer
    tile[filter_loop], tile[inner] = _TILE, _TILE if extents[inner] <= _TILE else 2 * _TILE
    steps = max(1, min(_DEPTH, 1 << (depth - 1).bit_length()) // step)
    wavefronts = tile[inner] // _TILE
    ones = [1] * outer
    config = (
        f"mma_kind = #iree_gpu.mma_layout<{name}>, padding = {[*tile, steps * step]}, "
        f"promote_operands = [0, 1], reduction = {[*[0] * outer, steps]}, "
        f"subgroup = {[*ones, 0]}, workgroup = {[*tile, 0]}"
    )
    lanes = target.wavefront_size
    info = translation_info("TileAndFuse", wavefronts * lanes, lanes, _OPTIONS)
    op.attributes["lowering_config"] = ir.Attribute.parse(lowering_config(config))
    function.attributes["translation_info"] = ir.Attribute.parse(info)
    return True


def _instruction(element: str, target: Target) -> tuple[str, int] | None:
    """Returns a matrix instruction and its products per result; None if there is none."""
    if element not in target.matrix_elements:
        return None
    kind = element.upper()
    if target.name.startswith(_RDNA3):
        return f"WMMAR3_F32_16x16x16_{kind}", 16
    if target.name.startswith(_RDNA4):
        return f"WMMAR4_F32_16x16x16_{kind}", 16
    depth = 4 if element == "f32" else 16
    if element == "bf16" and target.name in ("gfx908", "gfx90a"):
        depth = 8
    return f"MFMA_F32_16x16x{depth}_{kind}", depth
