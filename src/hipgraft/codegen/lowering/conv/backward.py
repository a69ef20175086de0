"""Lowers gradients of convolutions as convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from hipgraft.codegen.lowering.context import Lowering, accumulator_type, alternative, lowers
from hipgraft.codegen.lowering.conv.convolution import convolve, convolve_within, flipped
from hipgraft.codegen.lowering.conv.direct import is_copied, padded_copy
from hipgraft.codegen.lowering.conv.geometry import ConvParams
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import (
    cropped,
    padded,
    positive,
    resized,
)
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.emit.windows import spread
from hipgraft.codegen.products import has_window_products
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds.cuda_operands import confuses_factors
from hipgraft.codegen.workarounds.few_rows import TILE_ROWS, fails_on_rows
from hipgraft.codegen.workarounds.grouped_filters import group_filters_to_add
from hipgraft.codegen.workarounds.image_order import has_swapped_dims
from hipgraft.codegen.workarounds.interleaved_products import fails_interleaved
from hipgraft.codegen.workarounds.one_channel_dilation import ignores_dilation
from hipgraft.codegen.workarounds.single_window import crop_unread
from hipgraft.codegen.workarounds.weight_gradient import starts_with_x
from hipgraft.dialects.hipdnn import ConvDgradOp, ConvMode, ConvWgradOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import element_of, shape_of

# The number of contiguous images that a lane loads as one vector, and the number of multiplications
# above which copies that make them contiguous pay off.
_BATCH = 8
_LARGE = 1 << 26


@lowers(ConvDgradOp)
def lower_conv_dgrad(op: ConvDgradOp, lowering: Lowering) -> Sequence[Tensor]:
    """Convolves `dy`, with zeros between its elements, with the transposed and reversed filters.

    If windows do not overlap, each element of `dx` is one product.
    """
    emitter, params = lowering.emitter, ConvParams.of(op)
    dy, w = (_factor(lowering, value) for value in (op.dy, op.w))
    if op.conv_mode is ConvMode.CONVOLUTION:
        w = flipped(emitter, w)
    shape = shape_of(op.dx)
    accumulator = accumulator_type(op, dy.element, w.element)
    if has_window_products(op) and not fails_interleaved(lowering.target, element_of(op.w)):
        dx = emitter.reshape(_windows_apart(emitter, dy, w, accumulator), shape)
        return [emitter.cast(dx, element_of(op.dx))]
    before = [span - 1 for span in params.spans(w.shape[2:])]
    span = [(extent - 1) * step + 1 for extent, step in zip(dy.shape[2:], op.stride, strict=True)]
    low = [reach - pad for reach, pad in zip(before, op.pre_padding, strict=True)]
    high = [
        x + pad - extent for x, pad, extent in zip(shape[2:], op.pre_padding, span, strict=True)
    ]
    filters = _turned(emitter, w, groups=shape[1] // w.shape[1])
    if max(op.stride) > 1:
        dy = spread(emitter, dy, op.stride, low, high)
        low = high = [0] * len(span)
    dy = cropped(emitter, dy, low, high)
    moves = ConvParams(positive(low), positive(high), [1] * len(span), op.dilation)
    result = Tensor.logical("", shape, accumulator)
    return [emitter.cast(convolve_within(lowering, moves, dy, filters, result), element_of(op.dx))]


def _factor(lowering: Lowering, value: ir.Value) -> Tensor:
    """Returns a factor in logical order and in a type that contractions support."""
    emitter, tensor = lowering.emitter, lowering.tensor(value)
    ordered = emitter.logical(emitter.widened(tensor))
    return emitter.materialized(ordered) if has_swapped_dims(tensor, lowering.target) else ordered


def _windows_apart(emitter: Emitter, dy: Tensor, w: Tensor, accumulator: str) -> Tensor:
    """Emits the products of `dy` [N, K, ...] and each position of the window of `w` [K, C, ...].

    Their result is `dx` [N, C, ...] where each spatial dim is split into images and window. The
    loops over channels come last, so that matrix instructions multiply these.
    """
    window = [f"r{dim}" for dim in range(w.rank - 2)]
    at = [f"p{dim}" for dim in range(w.rank - 2)]
    places = [name for pair in zip(at, window, strict=True) for name in pair]
    extents = [extent for pair in zip(dy.shape[2:], w.shape[2:], strict=True) for extent in pair]
    form = Tensor.logical("", (dy.shape[0], w.shape[1], *extents), accumulator)
    loops = ["n", *at, *window, "c", "k"]
    maps = [
        f"affine_map<({', '.join(loops)}) -> ({', '.join(dims)})>"
        for dims in (["n", "k", *at], ["k", "c", *window], ["n", "c", *places])
    ]
    kinds = ["parallel"] * (len(loops) - 1) + ["reduction"]
    return emitter.contraction("dx", dy, w, emitter.filled(form, 0), maps, kinds)


@lowers(ConvWgradOp)
def lower_conv_wgrad(op: ConvWgradOp, lowering: Lowering) -> Sequence[Tensor]:
    """Convolves `x` with `dy` as the filter; the batch takes the role of the channels."""
    if _is_large(op) and _fills_vectors(op) and _can_be_copied(op, lowering.target):
        return lower_wgrad_batch_last(op, lowering)
    emitter = lowering.emitter
    x, dy = (_factor(lowering, value) for value in (op.x, op.dy))
    shape = shape_of(op.dw)
    groups = x.shape[1] // shape[1]
    result = Tensor.logical("", shape, accumulator_type(op, x.element, dy.element))
    params = ConvParams.of(op)
    if is_copied(params, x, result, dy, lowering.target):
        params, x = padded_copy(emitter, params, x)
    x = padded(emitter, x, params.before, params.after)
    x = crop_unread(emitter, x, params.spans(shape[2:]), dy.shape[2:])
    if ignores_dilation(lowering.target, x.element, x.shape[0], dy.shape[2:], op.stride):
        x, dy = (resized(emitter, value, 0, 1) for value in (x, dy))
    if groups > 1:
        return _finished(op, lowering, _grouped_wgrad(lowering, params, x, dy, result))
    # Splitting this reduction costs more than it gains. Grouped reductions may be split, because
    # with many small groups an unsplit reduction takes minutes to compile.
    emitter.whole_reductions = True
    return _finished(op, lowering, _correlated(lowering, params, x, dy, result))


def _grouped_wgrad(
    lowering: Lowering, params: ConvParams, x: Tensor, dy: Tensor, result: Tensor
) -> Tensor:
    """Emits the products of each group, with channels as [groups, channels]."""
    emitter = lowering.emitter
    filters, channels, *window = result.shape
    groups = x.shape[1] // channels
    x, dy = (emitter.split_dim(value, 1, groups) for value in (x, dy))
    more = group_filters_to_add(lowering.target, x.element, filters // groups)
    dy = resized(emitter, dy, 2, more)
    shape = (groups, filters // groups + more, channels, *window)
    dw = _correlated(lowering, params, x, dy, Tensor.logical("", shape, result.element))
    return emitter.reshape(resized(emitter, dw, 1, -more), result.shape)


def _finished(op: ConvWgradOp, lowering: Lowering, dw: Tensor) -> list[Tensor]:
    if op.conv_mode is ConvMode.CONVOLUTION:
        dw = flipped(lowering.emitter, dw)
    return [lowering.emitter.cast(dw, element_of(op.dw))]


def _is_large(op: ConvWgradOp) -> bool:
    """Whether the work is worth two copies."""
    return prod(shape_of(op.dy)) * prod(shape_of(op.dw)[1:]) >= _LARGE


def _fills_vectors(op: ConvWgradOp) -> bool:
    return shape_of(op.x)[0] % _BATCH == 0


def _can_be_copied(op: ConvWgradOp, target: Target) -> bool:
    batch, channels, *_ = shape_of(op.x)
    is_single = channels == shape_of(op.dw)[1] and batch > 1
    return is_single and element_of(op.x) in target.matrix_elements


@alternative(ConvWgradOp, "batch-last", _can_be_copied)
def lower_wgrad_batch_last(op: ConvWgradOp, lowering: Lowering) -> Sequence[Tensor]:
    """Copies both operands batch last, so that the elements that are summed are contiguous."""
    emitter, shape = lowering.emitter, shape_of(op.dw)
    x, dy = (_factor(lowering, value) for value in (op.x, op.dy))
    swapped = (1, 0, *range(2, x.rank))
    last = (0, *range(2, x.rank), 1)
    result = Tensor.logical(
        "",
        tuple(shape[dim] for dim in swapped),
        accumulator_type(op, x.element, dy.element),
    )
    x, dy = (
        emitter.materialized(emitter.in_order(value.permuted(swapped), last)) for value in (x, dy)
    )
    moves = ConvParams.of(op)
    moves = replace(moves, stride=moves.dilation, dilation=moves.stride)
    return _finished(op, lowering, convolve(lowering, moves, x, dy, result).permuted(swapped))


def _correlated(
    lowering: Lowering, params: ConvParams, x: Tensor, dy: Tensor, result: Tensor
) -> Tensor:
    """Emits the products of `dy` [n, g, k, ...] and `x` [n, g, c, ...]; the dim g is optional."""
    emitter, spatial = lowering.emitter, len(params.stride)
    *outer, channels = result.shape[:-spatial]
    depth = prod(dy.shape[-spatial:]) * dy.shape[0]
    if set(result.shape[-spatial:]) == {1} and fails_on_rows(
        lowering.target, x.element, channels, depth
    ):
        # IREE would fuse the padding and the crop into the product, and fail.
        more = TILE_ROWS - channels
        x = emitter.barrier(resized(emitter, x, len(outer), more))
        wide = replace(result, shape=(*outer, TILE_ROWS, *result.shape[-spatial:]))
        dw = emitter.barrier(_correlated(lowering, params, x, dy, wide))
        return resized(emitter, dw, len(outer), -more)
    (x_map, dy_map, dw_map), kinds = _wgrad_loops(params, grouped=x.rank > spatial + 2)
    init = emitter.filled(result, 0)
    if confuses_factors(lowering.target, x) or not starts_with_x(lowering.target):
        return emitter.contraction("dw", dy, x, init, [dy_map, x_map, dw_map], kinds)
    return emitter.contraction("dw", x, dy, init, [x_map, dy_map, dw_map], kinds)


def _wgrad_loops(params: ConvParams, *, grouped: bool) -> tuple[list[str], list[str]]:
    """Returns maps to x [n, g, c, ...], dy [n, g, k, ...], dw [g, k, c, ...], and loop kinds."""
    group = ["g"] if grouped else []
    window = [f"r{dim}" for dim in range(len(params.stride))]
    out = [f"p{dim}" for dim in range(len(params.stride))]
    read = [
        f"{p} * {step} + {r} * {spread}"
        for p, r, step, spread in zip(out, window, params.stride, params.dilation, strict=True)
    ]
    parallel, reduced = [*group, "k", "c", *window], ["n", *out]
    loops = ", ".join([*parallel, *reduced])
    results = (["n", *group, "c", *read], ["n", *group, "k", *out], parallel)
    maps = [f"affine_map<({loops}) -> ({', '.join(result)})>" for result in results]
    return maps, ["parallel"] * len(parallel) + ["reduction"] * len(reduced)


def _turned(emitter: Emitter, w: Tensor, groups: int) -> Tensor:
    """Swaps output and input channels in each group, and reverses the window."""
    split = emitter.split_dim(w, 0, groups)
    swapped = emitter.logical(split.permuted((0, 2, 1, *range(3, split.rank))))
    turned = emitter.reshape(swapped, (groups * w.shape[1], w.shape[0] // groups, *w.shape[2:]))
    return flipped(emitter, turned) if prod(w.shape[2:]) > 1 else turned
