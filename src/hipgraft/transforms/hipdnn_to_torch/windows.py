"""Writes pooling and interpolation as ATen ops.

Torch's pooling is used if it has the same semantics. Otherwise windows are decomposed: for each
offset in the window, a strided slice holds that element of all windows; the slices are combined.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.windows import Window
from hipgraft.codegen.lowering.resample.resample import window_of
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.hipdnn_to_torch.expressions import Torch

_EXCLUDED = hipdnn.ResampleMode.AVGPOOL_EXCLUDE_PADDING
_PADDING = -1  # marks a position in the padding


def resample_fwd(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes the maximum or the mean of each window, and the positions of maxima."""
    assert isinstance(op, hipdnn.ResampleFwdOp)
    named = _named(t, op)
    if named is not None:
        return [named]
    x, window, y = _padded(t, op, t.read(op.x)), window_of(op), shape_of(op.y)
    offsets = _offsets(window)
    parts = [_part(t, x, window, offset, y[2:]) for offset in offsets]
    if op.resample_mode is not hipdnn.ResampleMode.MAXPOOL:
        total = parts[0]
        for part in parts[1:]:
            total = t.add(total, part)
        return [_divided(t, op, total, shape_of(op.x))]
    largest = parts[0]
    for part in parts[1:]:
        # NaN counts as the largest value.
        is_more = t.op("aten.logical_or", [t.test("gt", part, largest), t.test("ne", part, part)],
                       t.shape(part), "i1")  # fmt: skip
        largest = t.where(is_more, part, largest)
    if op.index is None:
        return [largest]
    return [largest, _index(t, op, parts, largest)]


def resample_bwd(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes dx: each element gathers from the windows that contain it."""
    assert isinstance(op, hipdnn.ResampleBwdOp)
    dy, shape, window = t.read(op.dy), shape_of(op.dx), window_of(op)
    if op.index is None:
        dy = _divided(t, op, dy, shape)
    spread = _spread(t, dy, op.stride, 0.0)
    index = here = None
    if op.index is not None:
        index = t.as_type(t.read(op.index, wide=False), "si64")
        index = _spread(t, t.binary("add", index, 1, 1), op.stride, 0)
        here = t.literal(range(1, math.prod(shape[2:]) + 1), [1, 1, *shape[2:]], "si64")
    total: ir.Value | None = None
    for offset in _offsets(window):
        part = _shifted(t, spread, window, offset, shape[2:])
        if index is not None and here is not None:
            found = t.test("eq", _shifted(t, index, window, offset, shape[2:]), here)
            part = t.where(found, part, 0.0)
        total = part if total is None else t.add(total, part)
    assert total is not None
    return [total]


def _named(t: Torch, op: hipdnn.ResampleFwdOp) -> ir.Value | None:
    """Writes torch's op for this form, if there is one."""
    rank, mode = len(op.window), str(op.resample_mode)
    if list(op.pre_padding) != list(op.post_padding) or op.index is not None:
        return None
    # torch limits padding to half a window.
    if any(2 * pad > size for pad, size in zip(op.pre_padding, op.window, strict=True)):
        return None
    window = [t.read(op.x), list(op.window), list(op.stride), list(op.pre_padding)]
    if mode == "MAXPOOL" and op.padding_mode is hipdnn.PaddingMode.NEG_INF_PAD:
        options = [[1] * rank, False]
        return t.op(f"aten.max_pool{rank}d", [*window, *options], shape_of(op.y))
    is_edge = op.padding_mode is hipdnn.PaddingMode.EDGE_VAL_PAD
    includes = mode == "AVGPOOL_INCLUDE_PADDING"
    if not mode.startswith("AVGPOOL") or (includes and is_edge):
        return None
    rest = [False, includes] if rank == 1 else [False, includes, None]
    return t.op(f"aten.avg_pool{rank}d", [*window, *rest], shape_of(op.y))


def _padded(t: Torch, op: hipdnn.ResampleFwdOp, x: ir.Value) -> ir.Value:
    """Returns padded x; for windows around the centre, only the part that they read."""
    window = window_of(op)
    excluded = op.resample_mode is _EXCLUDED
    if op.padding_mode is not hipdnn.PaddingMode.EDGE_VAL_PAD or excluded:
        lowest = op.padding_mode is hipdnn.PaddingMode.NEG_INF_PAD and not excluded
        return t.padded(x, window.before, window.after, -math.inf if lowest else 0.0)
    for dim, (before, after) in enumerate(zip(window.before, window.after, strict=True), 2):
        extent = t.shape(x)[dim]
        indices = [min(max(index, 0), extent - 1) for index in range(-before, extent + after)]
        x = t.taken(x, dim, t.literal(indices, [len(indices)], "si64"))
    return x


def _offsets(window: Window) -> list[tuple[int, ...]]:
    """Returns the offsets in a window, in row-major order."""
    return list(itertools.product(*(range(size) for size in window.size)))


def _part(
    t: Torch, x: ir.Value, window: Window, offset: Sequence[int], counts: Sequence[int]
) -> ir.Value:
    """Returns the elements at one offset of all windows."""
    for dim, (start, count, step) in enumerate(zip(offset, counts, window.stride, strict=True), 2):
        x = t.slice(x, dim, start, count, step)
    return x


def _divided(
    t: Torch, op: hipdnn.ResampleFwdOp | hipdnn.ResampleBwdOp, total: ir.Value, x: Sequence[int]
) -> ir.Value:
    """Divides by the number of elements that count in each window."""
    window = window_of(op)
    if op.resample_mode is not _EXCLUDED:
        return t.mul(total, 1 / math.prod(window.size))
    counts = t.shape(total)[2:]
    inside = [
        [
            sum(0 <= index * step - before + tap < extent for tap in range(size))
            for index in range(count)
        ]
        for count, step, before, size, extent in zip(
            counts, window.stride, window.before, window.size, x[2:], strict=True
        )
    ]
    factors = [1 / math.prod(numbers) for numbers in itertools.product(*inside)]
    return t.mul(total, t.literal(factors, [1, 1, *counts]))


def _index(
    t: Torch, op: hipdnn.ResampleFwdOp, parts: Sequence[ir.Value], largest: ir.Value
) -> ir.Value:
    """Writes the row-major positions of the first maxima that are not padding."""
    window, extents, counts = window_of(op), shape_of(op.x)[2:], shape_of(op.y)[2:]
    index = t.literal([_PADDING] * math.prod(counts), [1, 1, *counts], "si64")
    is_nan = t.test("ne", largest, largest)
    for part, offset in reversed(list(zip(parts, _offsets(window), strict=True))):
        indices = _indices(window, offset, extents, counts)
        position = t.literal(indices, [1, 1, *counts], "si64")
        is_nan_too = t.both(is_nan, t.test("ne", part, part))
        found = t.op("aten.logical_or", [t.test("eq", part, largest), is_nan_too],
                     t.shape(part), "i1")  # fmt: skip
        index = t.where(t.both(found, t.test("ge", position, 0)), position, index)
    return index


def _indices(
    window: Window, offset: Sequence[int], extents: Sequence[int], counts: Sequence[int]
) -> list[int]:
    """Writes the row-major position in x of each window's element at `offset`; -1 for padding."""
    indices: list[int] = []
    for position in itertools.product(*(range(count) for count in counts)):
        index = [
            p * step - before + tap
            for p, step, before, tap in zip(
                position, window.stride, window.before, offset, strict=True
            )
        ]
        inside = all(0 <= p < extent for p, extent in zip(index, extents, strict=True))
        flat = 0
        for p, extent in zip(index, extents, strict=True):
            flat = flat * extent + p
        indices.append(flat if inside else _PADDING)
    return indices


def _spread(t: Torch, x: ir.Value, stride: Sequence[int], value: float) -> ir.Value:
    """Spaces elements `stride` apart, with `value` between them."""
    for dim, step in enumerate(stride, 2):
        if step == 1:
            continue
        shape = t.shape(x)
        column = t.view(x, [*shape[: dim + 1], 1, *shape[dim + 1 :]])
        rest = len(shape) - dim - 1
        wide = t.padded(column, [0] * (rest + 1), [step - 1, *[0] * rest], value)
        wide = t.view(wide, [*shape[:dim], shape[dim] * step, *shape[dim + 1 :]])
        x = t.slice(wide, dim, 0, (shape[dim] - 1) * step + 1)
    return x


def _shifted(
    t: Torch, x: ir.Value, window: Window, offset: Sequence[int], extents: Sequence[int]
) -> ir.Value:
    """Writes the values of the windows' elements at `offset`, at their positions in dx."""
    low = [tap - before for tap, before in zip(offset, window.before, strict=True)]
    spans = zip(extents, low, t.shape(x)[2:], strict=True)
    high = [extent - before - span for extent, before, span in spans]
    value = 0.0 if str(x.type).endswith(("f32>", "f64>")) else 0
    return t.padded(x, low, high, value)
