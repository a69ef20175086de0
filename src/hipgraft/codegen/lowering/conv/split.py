"""Splits the sums of convolutions with few positions, which do not fill a GPU unsplit.

A convolution of 512 channels in images of 7x7 has 112 tiles, each of which sums 4,608 products one
after the other. Matrix instructions convolve parts of the channels as a batch, and a second
dispatch adds the results of the parts and fuses the ops that follow. Where the compiler does not
convolve by matrix instructions, the elements of all windows are copied to rows of a matrix first,
whose K dim is split. With very few positions, one unsplit product of these rows takes less time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.iree.shared_sums import shares_windows
from hipgraft.codegen.iree.vector_tiles import has_few_rows
from hipgraft.codegen.lowering.conv.direct import clamped, read_or_zero
from hipgraft.codegen.lowering.conv.geometry import (
    ConvParams,
    channels_last,
    has_unit_window,
    image_order,
    window_loops,
)
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import padded
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.matmul.matmul import multiply
from hipgraft.codegen.lowering.reduction.reduction import reduce_dims
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds.filter_order import in_read_order
from hipgraft.codegen.workarounds.single_window import crop_unread
from hipgraft.dialects.hipdnn import ReductionMode
from hipgraft.ir.element_types import bit_width

_FEWEST_PARTS, _MOST_PARTS = 4, 8
_DEPTH = 16
"""Extents of matrix instructions, which the products of a part fill."""

_FEW_ROWS = 256
"""The most positions for which there are so many parts."""

_MOST_POSITIONS = 1024
"""With more positions, the windows and the results of the parts outweigh the convolution."""

# The forms for which parts are the default, where wavefronts do not share sums. By estimate for
# gfx942, each saves at least 5 us, because the time between two launches is uncertain
# (docs/timing.md): a 3x3 convolution of 512 channels in f16 images of 7x7 takes 12 instead of 28
# us, one of 256 channels in f32 images of 14x14 takes 12 instead of 30 us, and without shared sums
# a 1x1 convolution of 2,048 channels in f16 images of 7x7 takes 8 instead of 19 us. With 256
# channels in f16 images of 14x14 both take 14 us. With more results they have enough workgroups.
# Channels last, 16-bit elements load faster: 512 channels in 7x7 then take 19 us in one launch and
# 13 in three.
_BYTES = 4608
_LAST_BYTES = 9216
_FEW_BYTES = 3840  # of 1x1 windows, and of few positions, whose windows are copied to one product
_FEW_ELEMENTS = 1 << 16
_NARROW_BITS = 16

# For CUDA, IREE convolves without matrix instructions: measured on an H100, a 3x3 convolution of
# 128 channels in f16 images of 28x28 takes 35 instead of 42 us and one of 256 channels in 14x14
# takes 27 instead of 71; on an H200, one of 64 channels in f32 images of 28x28 takes 28 instead of
# 31 us, and a 1x1 convolution of 960 channels in 7x7 15 instead of 29. RDNA's GPUs have fewer
# compute units.
_MANY_PRODUCTS = 576
_MANY_ON_RDNA = 1024
_FEW_ON_RDNA = 512


def can_split(x: Tensor, w: Tensor, result: Tensor) -> bool:
    """Returns whether `convolve_in_parts` supports a convolution."""
    is_divided = _parts(w, result) > 1
    return x.shape[1] == w.shape[1] and is_divided and _positions(result) <= _MOST_POSITIONS


def is_split(params: ConvParams, x: Tensor, w: Tensor, result: Tensor, target: Target) -> bool:
    """Returns whether `convolve_in_parts` is the cheapest lowering."""
    depth, positions = math.prod(w.shape[1:]), _positions(result)
    is_unit, bits = has_unit_window(w.shape), bit_width(w.element) or 0
    many = _MANY_ON_RDNA if target.is_rdna else _MANY_PRODUCTS
    is_deep = w.shape[0] >= _DEPTH and depth >= many
    if target.kind is TargetKind.CPU or not is_deep or not can_split(x, w, result):
        return False
    is_matrix = x.element in target.matrix_elements
    is_padded = any((*params.before, *params.after))
    if not is_unit and not is_padded and shares_sums(x, w, result, target):
        return False
    if has_few_positions(w, result, target):
        return is_unit or not is_matrix or depth * bits // 8 > _FEW_BYTES
    is_large = is_unit and w.shape[0] * positions > _FEW_ELEMENTS
    if is_large or (not is_padded and shares_sums(x, w, result, target)):
        return False
    if is_matrix:
        is_fast = bits <= _NARROW_BITS and image_order(x) == channels_last(x.rank)
        most = _LAST_BYTES if is_fast else _FEW_BYTES if is_unit else _BYTES
        return depth * bits // 8 > most
    return is_unit or not target.is_rdna or positions <= _FEW_ON_RDNA


def shares_sums(x: Tensor, w: Tensor, result: Tensor, target: Target) -> bool:
    """Whether the wavefronts of a workgroup share the sums of a convolution without padding."""
    is_unit, last = has_unit_window(w.shape), channels_last(x.rank)
    is_one_row = is_unit and x.shape[2:] == result.shape[2:]
    row = math.prod(result.shape[2:]) if is_one_row else result.shape[-1]
    is_stored = is_unit or image_order(x) == image_order(w) == last
    return is_stored and shares_windows(target, x.element, w.shape, row)


def convolve_in_parts(
    emitter: Emitter, params: ConvParams, x: Tensor, w: Tensor, result: Tensor
) -> Tensor:
    """Emits the convolution of `x` with `w` as sums of parts of their K dim.

    If there are so few positions that wavefronts sum the results of each filter, it emits one
    product.

    Args:
        emitter: emitter that receives the ops.
        params: padding and steps of the window.
        x: activations [N, C, spatial...].
        w: filters [K, C, window...].
        result: shape and accumulator type of the result [N, K, spatial...].

    Returns:
        The accumulated result.
    """
    emitter.whole_reductions = True
    if has_few_positions(w, result, emitter.target):
        return _sum_of_windows(emitter, params, x, w, result, 1)
    parts = _channel_parts(x, w, result, emitter.target)
    if parts > 1:
        return _sum_of_channels(emitter, params, x, w, result, parts)
    return _sum_of_windows(emitter, params, x, w, result, _parts(w, result))


def _channel_parts(x: Tensor, w: Tensor, result: Tensor, target: Target) -> int:
    """Returns the number of parts of the channels that matrix instructions convolve, 1 for none.

    With channels last, IREE 3.13.0 multiplies elements of a part by the filters of another.
    """
    is_matrix = x.element in target.matrix_elements and not has_unit_window(w.shape)
    is_first = image_order(x) == tuple(range(x.rank))
    divisors = (parts for parts in _counts(result) if w.shape[1] % parts == 0)
    return next(divisors, 1) if is_matrix and is_first else 1


def _sum_of_channels(
    emitter: Emitter, params: ConvParams, x: Tensor, w: Tensor, result: Tensor, parts: int
) -> Tensor:
    """Convolves parts of the channels as a batch, and adds their results."""
    x = padded(emitter, emitter.logical(x), params.before, params.after)
    x = crop_unread(emitter, x, params.spans(w.shape[2:]), result.shape[2:])
    w = in_read_order(emitter, w, range(w.rank))
    x, w = (emitter.split_dim(value, 1, parts) for value in (emitter.logical(x), w))
    shape = (result.shape[0], parts, *result.shape[1:])
    init = emitter.filled(Tensor.logical("", shape, result.element), 0)
    maps, kinds = window_loops(params, x.rank - 3, "fg")
    sums = emitter.contraction("conv", x, w, init, maps, kinds)
    total = reduce_dims(emitter, ReductionMode.ADD, sums, [1], result.element)
    return total.without_unit_dim(1)


def _sum_of_windows(
    emitter: Emitter, params: ConvParams, x: Tensor, w: Tensor, result: Tensor, parts: int
) -> Tensor:
    """Multiplies parts of the elements of all windows, and adds their products.

    Returns:
        The sums, stored channels last.
    """
    batch, filters, *positions = result.shape
    rows, depth = _positions(result), math.prod(w.shape[1:])
    order = image_order(w)
    w = emitter.in_order(w, order)
    is_moved = any((*params.before, *params.after)) or max(params.stride) > 1
    is_whole = has_unit_window(w.shape) and not is_moved
    last = channels_last(x.rank)
    windows = x.permuted(last) if is_whole else _windows(emitter, params, x, w, result, order)
    a, b = (
        emitter.reshape(value, (size, depth))
        for value, size in ((windows, rows), (w.permuted(order), filters))
    )
    if parts == 1:
        total = multiply(emitter, a, b.permuted((1, 0)), (rows, filters), result.element)
    else:
        a, b = (
            emitter.reshape(value, (size, parts, depth // parts))
            for value, size in ((a, rows), (b, filters))
        )
        a, b = a.permuted((1, 0, 2)), b.permuted((1, 2, 0))
        products = multiply(emitter, a, b, (parts, rows, filters), result.element)
        total = reduce_dims(emitter, ReductionMode.ADD, products, [0], result.element)
        total = emitter.reshape(total, (rows, filters))
    total = emitter.reshape(total, (batch, *positions, filters))
    return total.permuted((0, total.rank - 1, *range(1, total.rank - 1)))


def _windows(
    emitter: Emitter,
    params: ConvParams,
    x: Tensor,
    w: Tensor,
    result: Tensor,
    order: Sequence[int],
) -> Tensor:
    """Materializes the elements of all windows [N, positions..., K] in the order of filters.

    A selection yields 0 for elements outside the image, because a padded image would take two more
    steps: a fill and a copy.
    """
    spatial = len(params.stride)
    places = {dim: 1 + spatial + n for n, dim in enumerate(order[1:])}

    def position(scalars: ScalarEmitter, dim: int) -> Scalar:
        factors = (
            (scalars.index(1 + dim), params.stride[dim]),
            (scalars.index(places[2 + dim]), params.dilation[dim]),
        )
        start, tap = (
            scalars.op("arith.muli", index, scalars.constant(factor, "index"))
            for index, factor in factors
        )
        before = scalars.constant(-params.before[dim], "index")
        return scalars.op("arith.addi", scalars.op("arith.addi", start, tap), before)

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        outer = [scalars.index(0), scalars.index(places[1])]
        along = [clamped(scalars, position(scalars, n), x.shape[2 + n]) for n in range(spatial)]
        return [read_or_zero(scalars, x, outer, along)]

    shape = (result.shape[0], *result.shape[2:], *(w.shape[dim] for dim in order[1:]))
    init = emitter.empty(Tensor.logical("", shape, x.element))
    return emitter.materialized(emitter.generic("windows", [], [init], body, shape=shape)[0])


def has_few_positions(w: Tensor, result: Tensor, target: Target) -> bool:
    """Whether there are so few positions that wavefronts sum the results of each filter."""
    depth, bits = math.prod(w.shape[1:]), bit_width(w.element)
    return has_few_rows(_positions(result), depth, w.shape[0], bits, target)


def _parts(w: Tensor, result: Tensor) -> int:
    """Returns the number of equal parts of K that matrix instructions fill, 1 for none."""
    depth = math.prod(w.shape[1:])
    return next((parts for parts in _counts(result) if depth % (parts * _DEPTH) == 0), 1)


def _counts(result: Tensor) -> range:
    """Returns numbers of parts, the best first: fewer if there are many results to store."""
    most = _MOST_PARTS if _positions(result) <= _FEW_ROWS else _MOST_PARTS // 2
    return range(most, _FEWEST_PARTS - 1, -1)


def _positions(result: Tensor) -> int:
    return result.shape[0] * math.prod(result.shape[2:])
