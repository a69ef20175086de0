"""Convolutions without matrix instructions, in tiles of filters and neighbouring positions."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import TYPE_CHECKING

from hipgraft.codegen.lowering.conv_product import has_unit_window
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.scalar_tiles import Loop, tile_info, unrolled, width
from hipgraft.codegen.lowering.tensor import Tensor

if TYPE_CHECKING:
    from hipgraft.codegen.lowering.convolution import Sliding

# Filters of a work item, beside several positions.
_FILTERS = 2


def convolve_in_tiles(
    emitter: Emitter, sliding: Sliding, x: Tensor, w: Tensor, init: Tensor
) -> Tensor:
    """Emits a convolution in one group.

    Args:
        emitter: where the ops go.
        sliding: how the window moves.
        x: activations [N, C, spatial...], padded, stored as its logical type says.
        w: filters [K, C, window...].
        init: what the result [N, K, spatial...] starts from, stored likewise.
    """
    values = [emitter.logical(value) for value in (x, w, init)]
    stride, dilation = sliding.stride, sliding.dilation
    if has_unit_window(w.shape) and max(stride) == 1:
        # IREE makes one dim of those that lie together, and forgets the tiles.
        values = [emitter.reshape(value, _in_line(value.shape)) for value in values]
        stride, dilation = [1], [1]
    loops = _loops(values[1].shape, values[2].shape)
    names = [loop.name for loop in loops]
    terms = _terms(stride, dilation)
    maps = [_map(names, value.shape, each) for value, each in zip(values, terms, strict=True)]
    a, b, start = (emitter.reshape(value, _long(value.shape)) for value in values)
    info = tile_info(emitter.target, loops)
    sums = emitter.contraction("conv", a, b, start, maps, [loop.kind for loop in loops], info)
    return emitter.reshape(emitter.reshape(sums, values[2].shape), init.shape)


def _terms(stride: Sequence[int], dilation: Sequence[int]) -> list[list[list[str]]]:
    """Returns what adds up to the place in each dim of the activations, filters and results."""
    out, window = (_names(letter, stride) for letter in "or")
    places = [
        [f"{o} * {step}", f"{r} * {spread}"]
        for o, r, step, spread in zip(out, window, stride, dilation, strict=True)
    ]
    return [
        [["n"], ["c"], *places],
        [["k"], ["c"], *([r] for r in window)],
        [["n"], ["k"], *([o] for o in out)],
    ]


def _loops(w: Sequence[int], result: Sequence[int]) -> list[Loop]:
    """Returns the loops over more than one element, outermost first."""
    batch, filters, *places = result
    _, channels, *window = w
    out = [Loop(name, extent) for name, extent in zip(_names("o", places), places, strict=True)]
    out[-1] = Loop(out[-1].name, places[-1], tile=width(places[-1]))
    reduced = [channels, *window]
    taps = zip(["c", *_names("r", window)], reduced, unrolled(reduced), strict=True)
    loops = [
        Loop("n", batch, rank=1),
        Loop("k", filters, tile=gcd(filters, _FILTERS)),
        *out,
        *(Loop(name, extent, "reduction", tile) for name, extent, tile in taps),
    ]
    return [loop for loop in loops if loop.extent > 1]


def _names(letter: str, dims: Sequence[int]) -> list[str]:
    return [f"{letter}{dim}" for dim in range(len(dims))]


def _map(loops: Sequence[str], shape: Sequence[int], terms: Sequence[Sequence[str]]) -> str:
    """Writes an indexing map; dims of one element and loops of one turn are left out."""
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
