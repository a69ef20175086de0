"""Lowers convolutions to linalg's named ops with an explicit accumulator type.

IREE's GPU pipelines recognise named ops only: a strided 1x1 convolution in another form becomes a
reduction with one workgroup per output element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.context import Lowering, accumulator_type, lowers
from hipgraft.codegen.lowering.conv.direct import (
    convolve_directly,
    is_copied,
    is_read_directly,
    padded_copy,
    stored_order,
)
from hipgraft.codegen.lowering.conv.geometry import (
    ConvParams,
    channels_last,
    has_unit_window,
    image_order,
    is_depthwise,
    window_loops,
)
from hipgraft.codegen.lowering.conv.product import is_whole_image, multiplied, multiply_images
from hipgraft.codegen.lowering.conv.scalar import convolve_in_tiles, is_tiled, is_tiled_depthwise
from hipgraft.codegen.lowering.conv.split import (
    convolve_in_parts,
    has_few_positions,
    is_split,
    shares_sums,
)
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import padded, resized
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds.cuda_operands import confuses_factors
from hipgraft.codegen.workarounds.few_rows import fails_on_rows
from hipgraft.codegen.workarounds.filter_order import in_read_order
from hipgraft.codegen.workarounds.grouped_filters import group_filters_to_add
from hipgraft.codegen.workarounds.grouped_transposes import mixes_up_groups
from hipgraft.codegen.workarounds.grouped_unit_window import crashes_in_groups
from hipgraft.codegen.workarounds.image_order import has_swapped_dims
from hipgraft.codegen.workarounds.one_channel_dilation import ignores_dilation, with_second_channel
from hipgraft.codegen.workarounds.single_position import has_single_position
from hipgraft.codegen.workarounds.single_window import crop_unread
from hipgraft.codegen.workarounds.unmasked_rows import channels_to_pad, with_whole_channels
from hipgraft.dialects.hipdnn import ConvFpropOp, ConvMode
from hipgraft.ir.tensors import element_of, shape_of

# The op and the order of the filter's dims, by number of spatial dims.
_CHANNELS_FIRST = {
    1: ("linalg.conv_1d_ncw_fcw", (0, 1, 2)),
    2: ("linalg.conv_2d_nchw_fchw", (0, 1, 2, 3)),
    3: ("linalg.conv_3d_ncdhw_fcdhw", (0, 1, 2, 3, 4)),
}
_CHANNELS_LAST = {
    1: ("linalg.conv_1d_nwc_wcf", (2, 1, 0)),
    2: ("linalg.conv_2d_nhwc_fhwc", (0, 2, 3, 1)),
    3: ("linalg.conv_3d_ndhwc_dhwcf", (2, 3, 4, 1, 0)),
}
# One filter per channel; the filter has no channel dim of its own.
_DEPTHWISE_FIRST = {
    1: "linalg.depthwise_conv_1d_ncw_cw",
    2: "linalg.depthwise_conv_2d_nchw_chw",
    3: "linalg.depthwise_conv_3d_ncdhw_cdhw",
}
# The fewest products, and filters, that fill a matrix instruction. Sums of a multiple of
# `_LONG_SUM` products, and `_DEEP` channels, get tiles with much LDS.
_MATRIX, _LONG_SUM, _DEEP = 16, 128, 64

# Images with more elements take less time if their products are split into parts.
_LONG = 4096

_DEPTHWISE_LAST = {
    1: ("linalg.depthwise_conv_1d_nwc_wc", (1, 0)),
    2: ("linalg.depthwise_conv_2d_nhwc_hwc", (1, 2, 0)),
    3: ("linalg.depthwise_conv_3d_ndhwc_dhwc", (1, 2, 3, 0)),
}


@lowers(ConvFpropOp)
def lower_conv_fprop(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Pads, convolves into an accumulator, and rounds once."""
    x, w = operands_of(op, lowering)
    accumulator = accumulator_type(op, x.element, w.element)
    result = Tensor.logical("", shape_of(op.y), accumulator)
    convolution = convolve_within(lowering, ConvParams.of(op), x, w, result)
    return [lowering.emitter.cast(convolution, element_of(op.y))]


def operands_of(op: ConvFpropOp, lowering: Lowering) -> tuple[Tensor, Tensor]:
    """Returns activations, and filters in the order of a cross-correlation."""
    emitter = lowering.emitter
    x, w = (emitter.widened(lowering.tensor(value)) for value in (op.x, op.w))
    return x, flipped(emitter, w) if op.conv_mode is ConvMode.CONVOLUTION else w


def convolve_within(
    lowering: Lowering, params: ConvParams, x: Tensor, w: Tensor, result: Tensor
) -> Tensor:
    """Emits the convolution of `convolve` in the way that costs the least."""
    emitter, target = lowering.emitter, lowering.target
    splits = is_split(params, x, w, result, target)
    has_few = has_few_positions(w, result, target)
    is_long = splits and math.prod(x.shape[1:]) > _LONG and not has_few
    if is_whole_image(params, x, w) and not is_long:
        return multiply_images(lowering, x, w, result)
    if splits and not has_few and shares_sums(x, w, result, target):
        params, x = padded_copy(emitter, params, x)
    elif splits:
        return convolve_in_parts(emitter, params, x, w, result)
    first, is_last = tuple(range(x.rank)), _is_stored_last(lowering, result)
    orders = (channels_last(x.rank), first) if is_last else (first,)
    in_tiles = [
        order for order in orders if is_tiled_depthwise(params, x, w, result, order, target)
    ]
    if is_read_directly(params, x, w, target) and (is_last or not in_tiles):
        order = orders[0] if is_last else stored_order(x)
        return convolve_directly(emitter, params, x, w, result, order)
    if in_tiles:
        x = emitter.in_order(x, in_tiles[0])  # a single copy also transposes
    if is_copied(params, x, w, result, target):
        params, x = padded_copy(emitter, params, x)
    return convolve(lowering, params, x, w, result)


def _is_stored_last(lowering: Lowering, result: Tensor) -> bool:
    """Whether the container stores a result of this shape channels last."""
    orders = [
        image_order(replace(result, dims=order))
        for value, order in lowering.orders.items()
        if shape_of(value) == result.shape
    ]
    return channels_last(result.rank) in orders


def convolve(
    lowering: Lowering, params: ConvParams, x: Tensor, w: Tensor, result: Tensor
) -> Tensor:
    """Emits the convolution of `x` with `w`, in groups.

    Args:
        lowering: lowering of the container, which receives the ops.
        params: padding and steps of the window.
        x: activations [N, C, spatial...], channels first or last.
        w: filters [K, C / groups, window...].
        result: shape and accumulator type of the result [N, K, spatial...].

    Returns:
        The accumulated result, stored channels last if `x` is.
    """
    emitter, target = lowering.emitter, lowering.target
    # IREE 3.13.0 splits the reduction of convolutions with few results down to single products,
    # whose partial sums cost up to 400 times the convolution, or into parts that it cannot compile.
    emitter.whole_reductions = True
    _, channels, *window = w.shape
    is_misread = ignores_dilation(target, x.element, channels, window, params.dilation)
    if is_misread and not is_depthwise(x, w):
        x, w = with_second_channel(emitter, x, w)
    more = _filters_to_add(lowering.target, x, w)
    w = resized(emitter, w, 0, more)
    wide = replace(result, shape=(result.shape[0], result.shape[1] + more, *result.shape[2:]))
    return resized(emitter, _convolved(lowering, params, x, w, wide), 1, -more)


def _filters_to_add(target: Target, x: Tensor, w: Tensor) -> int:
    """Returns how many filters of zeros to append to few filters.

    If images are stored channels first, `few_filters.py` gives several filters to matrix
    instructions; IREE drops a dim of one filter. Otherwise IREE's own choice is not to matrix
    instructions, or to tiles that may need more LDS than the target has.
    """
    filters, channels, *window = w.shape
    is_dense = channels == x.shape[1] and not has_unit_window(w.shape)
    products = channels * math.prod(window)
    if not is_dense or products < _MATRIX or x.element not in target.matrix_elements:
        return 0
    if x.lies_in(range(x.rank)):
        return int(filters == 1)
    is_long = products % _LONG_SUM == 0 and x.element != "f32"
    needs_tile = 2 * filters < _MATRIX or channels >= _DEEP or is_long
    return max(0, _MATRIX - filters) if needs_tile else 0


def _convolved(
    lowering: Lowering, params: ConvParams, x: Tensor, w: Tensor, result: Tensor
) -> Tensor:
    emitter, first, last = lowering.emitter, tuple(range(x.rank)), channels_last(x.rank)
    groups = x.shape[1] // w.shape[1]
    depthwise = is_depthwise(x, w)
    is_single = has_single_position(x, w.shape[2:], result.shape[2:], groups, lowering.target)
    if is_single or has_swapped_dims(x, lowering.target):
        x = emitter.materialized(emitter.in_order(x, first))
    is_last = image_order(x) == last
    more = channels_to_pad(lowering.target, x, w, result.shape, params.stride)
    is_misread = more > 0 and max(params.stride) == 1 and not (is_last and groups == 1)
    if not depthwise and (
        is_misread or _fails_as_convolution(lowering.target, x, w, result, is_last)
    ):
        return multiplied(lowering, params, x, w, result)
    order = last if is_last and (depthwise or groups == 1) else first
    in_tiles = is_tiled_depthwise(params, x, w, result, order, lowering.target)
    x = padded(emitter, emitter.in_order(x, order), params.before, params.after)
    x = crop_unread(emitter, x, params.spans(w.shape[2:]), result.shape[2:])
    init = emitter.filled(replace(result, dims=order), 0)
    if in_tiles:
        return convolve_in_tiles(emitter, params, x, w, init)
    if depthwise:
        return _depthwise(emitter, params, x, w, init)
    if groups > 1:
        emitter.late_transposes |= mixes_up_groups(lowering.target)
        return _grouped(lowering, params, x, in_read_order(emitter, w, range(w.rank)), init, more)
    if order == first and is_tiled(x, w, result, lowering.target):
        return convolve_in_tiles(emitter, params, x, w, init)
    if order == first:
        x, w = with_whole_channels(emitter, x, w, 1, more)
    name, filter_order = (_CHANNELS_LAST if order == last else _CHANNELS_FIRST)[x.rank - 2]
    operands = [x, in_read_order(emitter, w, filter_order)]
    return emitter.named("conv", name, operands, init, params.text)


def _fails_as_convolution(
    target: Target, x: Tensor, w: Tensor, result: Tensor, is_last: bool
) -> bool:
    """Whether IREE fails on a convolution with a 1x1 window unless it is emitted as a product."""
    groups, positions = x.shape[1] // w.shape[1], math.prod(result.shape[2:])
    fails = confuses_factors(target, x) or crashes_in_groups(target, groups, positions)
    fails &= positions > 1 and not is_last
    fails |= fails_on_rows(target, x.element, x.shape[0] * positions, w.shape[1])
    return fails and has_unit_window(w.shape)


def flipped(emitter: Emitter, w: Tensor) -> Tensor:
    """Returns filters with their window reversed in each dim."""

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        indices = [scalars.index(dim) for dim in range(w.rank)]
        for dim in range(2, w.rank):
            last = scalars.constant(w.shape[dim] - 1, "index")
            indices[dim] = scalars.op("arith.subi", last, indices[dim])
        return [scalars.element(w, *indices)]

    init = emitter.empty(Tensor.logical("", w.shape, w.element))
    return emitter.generic("flipped", [], [init], body, shape=w.shape)[0]


def _depthwise(emitter: Emitter, params: ConvParams, x: Tensor, w: Tensor, init: Tensor) -> Tensor:
    taps = emitter.reshape(w, (w.shape[0], *w.shape[2:]))
    name = _DEPTHWISE_FIRST[x.rank - 2]
    if x.dims[-1] == 1:
        name, order = _DEPTHWISE_LAST[x.rank - 2]
        taps = emitter.in_order(taps, order)
    return emitter.named("conv", name, [x, taps], init, params.text)


def _grouped(
    lowering: Lowering, params: ConvParams, x: Tensor, w: Tensor, init: Tensor, channels: int
) -> Tensor:
    """Splits channels into [groups, channels], and pads these; 1-D becomes 2-D of height 1."""
    emitter = lowering.emitter
    groups = x.shape[1] // w.shape[1]
    split_x = (x.shape[0], groups, w.shape[1], *x.shape[2:])
    split_w = (groups, w.shape[0] // groups, *w.shape[1:])
    split_y = (init.shape[0], groups, split_w[1], *init.shape[2:])
    x, w, y = (
        emitter.reshape(value, shape)
        for value, shape in ((x, split_x), (w, split_w), (init, split_y))
    )
    x, w = with_whole_channels(emitter, x, w, 2, channels)
    more = group_filters_to_add(lowering.target, x.element, split_w[1])
    if more:
        w = resized(emitter, w, 1, more)
        wide = (*split_y[:2], split_y[2] + more, *split_y[3:])
        y = emitter.filled(Tensor.logical("", wide, init.element), 0)
    spatial = x.rank - 3
    if spatial == 2:
        name = "linalg.conv_2d_ngchw_gfchw"
        conv = emitter.named("conv", name, [x, w], y, params.text)
    else:
        maps, kinds = window_loops(params, spatial, "gf")
        conv = emitter.contraction("conv", x, w, y, maps, kinds)
    return emitter.reshape(resized(emitter, conv, 2, -more), init.shape)
