"""Lowers convolutions without matrix instructions, in tiles of filters and adjacent positions.

Depthwise convolutions use no matrix instructions on any target. A work item that computes several
adjacent results reads each row of the window once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from hipgraft.codegen.iree.compilation_info import largest_divisor
from hipgraft.codegen.lowering.conv.geometry import ConvParams, has_unit_window, is_depthwise
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.matmul.scalar_tiles import (
    Loop,
    lacks_matrix_instructions,
    lanes_in_use,
    tile_info,
    unrolled,
    width,
)
from hipgraft.codegen.target import Target, TargetKind

# Filters per work item, each at several positions.
_FILTERS = 2

# The fewest and the most adjacent results of one channel that a work item computes. Such tiles pay
# for a padded copy of the image if each of its elements is read more than `_READS` times.
_FEWEST_RESULTS, _RESULTS = 3, 8
_READS = 9

# The most products of such a work item that are unrolled with channels last: LLVM does not unroll
# the loop over 56, whose results then take four times as long.
_MOST_UNROLLED = 49

# The share of a wavefront's lanes that must have tiles: with tiles in all lanes, this lowering
# takes 2.2 instructions where IREE's own takes 3.6.
_LANES = 0.6


def is_tiled(x: Tensor, w: Tensor, result: Tensor, target: Target) -> bool:
    """Returns whether tiles make an ungrouped convolution that is stored channels first cheaper."""
    if not lacks_matrix_instructions(target, x.element) or width(result.shape[-1]) == 1:
        return False
    loops = _loops(w.shape, result.shape, range(result.rank), depthwise=False)
    return lanes_in_use(target, loops) > _LANES


def is_tiled_depthwise(
    params: ConvParams, x: Tensor, w: Tensor, result: Tensor, order: Sequence[int], target: Target
) -> bool:
    """Returns whether tiles make a depthwise convolution that is stored in `order` cheaper."""
    if target.kind is not TargetKind.AMDGPU or not is_depthwise(x, w):
        return False
    results = _adjacent_results(w.shape, result.shape, order)
    reads = prod((*w.shape[2:], *result.shape[2:]))
    image = prod(map(sum, zip(params.before, x.shape[2:], params.after, strict=True)))
    return reads > _READS * image and results >= _FEWEST_RESULTS


def convolve_in_tiles(
    emitter: Emitter, params: ConvParams, x: Tensor, w: Tensor, init: Tensor
) -> Tensor:
    """Emits an ungrouped or a depthwise convolution.

    Args:
        emitter: emitter that receives the ops.
        params: steps of the window.
        x: activations [N, C, spatial...], padded, stored in the order of `init`.
        w: filters [K, C, window...], or [K, 1, window...].
        init: initial value of the result [N, K, spatial...]; a depthwise convolution's may be
            stored channels last.
    """
    order, y, w = init.dims, init, emitter.logical(w)
    stride, dilation = params.stride, params.dilation
    if has_unit_window(w.shape) and max(stride) == 1:
        # IREE collapses contiguous dims and then drops the tiles, so the dims are collapsed here.
        x, w, y = (emitter.reshape(value, _in_line(value.shape)) for value in (x, w, y))
        order, stride, dilation = y.dims, [1], [1]
    depthwise = is_depthwise(x, w)
    loops = _loops(w.shape, y.shape, order, depthwise)
    names = [loop.name for loop in loops]
    of_x, of_w, of_y = _terms(stride, dilation, "k" if depthwise else "c")
    of_x, of_y = ([each[dim] for dim in order] for each in (of_x, of_y))
    values = [x.permuted(order), w, y.permuted(order)]
    terms = [of_x, of_w, of_y]
    maps = [_map(names, value.shape, each) for value, each in zip(values, terms, strict=True)]
    a, b, start = (emitter.reshape(value, _long(value.shape)) for value in values)
    info = tile_info(emitter.target, loops)
    sums = emitter.contraction("conv", a, b, start, maps, [loop.kind for loop in loops], info)
    sums = emitter.reshape(sums, values[2].shape)
    sums = sums.permuted([order.index(dim) for dim in range(y.rank)])
    return sums if y is init else emitter.reshape(sums, init.shape)


def _terms(stride: Sequence[int], dilation: Sequence[int], channel: str) -> list[list[list[str]]]:
    """Returns the terms of the index in each dim of the activations, filters and results."""
    out, window = (_names(letter, stride) for letter in "or")
    spatial = [
        [f"{o} * {step}", f"{r} * {spread}"]
        for o, r, step, spread in zip(out, window, stride, dilation, strict=True)
    ]
    return [
        [["n"], [channel], *spatial],
        [["k"], ["c"], *([r] for r in window)],
        [["n"], ["k"], *([o] for o in out)],
    ]


def _loops(
    w: Sequence[int], result: Sequence[int], order: Sequence[int], depthwise: bool
) -> list[Loop]:
    """Returns the loops over more than one element, outermost first."""
    batch, filters, *spatial = result
    _, channels, *window = w
    out = [Loop(name, extent) for name, extent in zip(_names("o", spatial), spatial, strict=True)]
    row = _adjacent_results(w, result, order) if depthwise else width(spatial[-1])
    out[-1] = Loop(out[-1].name, spatial[-1], tile=row)
    reduced = [channels, *window]
    taps = zip(["c", *_names("r", window)], reduced, unrolled(reduced), strict=True)
    tile = 1 if depthwise else gcd(filters, _FILTERS)
    parallel = [Loop("n", batch, rank=1), Loop("k", filters, tile=tile), *out]
    loops = [
        *(parallel[dim] for dim in order),
        *(Loop(name, extent, "reduction", tile) for name, extent, tile in taps),
    ]
    return [loop for loop in loops if loop.extent > 1]


def _adjacent_results(w: Sequence[int], result: Sequence[int], order: Sequence[int]) -> int:
    """Returns how many adjacent results of a depthwise convolution a work item computes."""
    most = _RESULTS
    if order[-1] == 1:
        *_, products = unrolled(w)
        most = min(most, _MOST_UNROLLED // products) if products > 1 else 1
    return largest_divisor(result[-1], most)


def _names(letter: str, dims: Sequence[int]) -> list[str]:
    return [f"{letter}{dim}" for dim in range(len(dims))]


def _map(loops: Sequence[str], shape: Sequence[int], terms: Sequence[Sequence[str]]) -> str:
    """Writes an indexing map without dims and loops of extent 1."""
    sums = [
        " + ".join(term for term in each if term.split()[0] in loops)
        for extent, each in zip(shape, terms, strict=True)
        if extent > 1
    ]
    return f"affine_map<({', '.join(loops)}) -> ({', '.join(sums)})>"


def _in_line(shape: Sequence[int]) -> list[int]:
    return [*shape[:2], prod(shape[2:])]


def _long(shape: Sequence[int]) -> list[int]:
    return [extent for extent in shape if extent > 1]
