"""Pooling, which rocMLIR has dropped but older modules have."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.dialects.migraphx import MigraphxOp
from hipgraft.migraphx_to_hipdnn.contractions import split_padding
from hipgraft.migraphx_to_hipdnn.converter import Conversion, Converter, tensor_type
from hipgraft.tensor_builder import NoMatch, Tensor

_MODES = {
    "max": ("MAXPOOL", "NEG_INF_PAD"),
    # MIGraphX counts no padding.
    "average": ("AVGPOOL_EXCLUDE_PADDING", "ZERO_PAD"),
}


def _pooling(converter: Converter, op: MigraphxOp) -> Sequence[Tensor]:
    mode = op.string("mode")
    if mode not in _MODES:
        raise NoMatch("pooling-mode", f"expected mode 'max' or 'average', but found '{mode}'")
    resample_mode, padding_mode = _MODES[mode]
    window = _window(op)
    low, high = split_padding(op, len(window))
    y = hipdnn.resample_fwd(
        converter.materialize(converter.operand(op, "input")),
        resample_mode=resample_mode,
        padding_mode=padding_mode,
        window=window,
        stride=op.ints("stride"),
        pre_padding=low,
        post_padding=_reaching(op, window, low, high),
        result_type=tensor_type(op.output()),
        loc=converter.location,
    )
    return [converter.whole(y)]


def _window(op: MigraphxOp) -> list[int]:
    names = [name for name in ("length", "lengths") if name in op.operation.attributes]
    if not names:
        raise NoMatch("window", "requires attribute 'length'")
    window = op.ints(names[0])
    spatial = len(op.input().shape) - 2
    if not len(window) == len(op.ints("stride")) == spatial:
        raise NoMatch("rank", f"expected {spatial} spatial dimensions in 'length' and 'stride'")
    return window


def _reaching(
    op: MigraphxOp, window: Sequence[int], low: Sequence[int], high: Sequence[int]
) -> list[int]:
    """The padding behind each dimension with which the last window fits; more with `ceil_mode`."""
    extents, results = op.input().extents[2:], op.output().extents[2:]
    padding: list[int] = []
    for dim, (extent, count, step) in enumerate(
        zip(extents, results, op.ints("stride"), strict=True)
    ):
        needed = (count - 1) * step + window[dim] - extent - low[dim]
        expected = _positions(extent + low[dim] + high[dim] - window[dim], step, _rounds_up(op))
        if count != expected:
            raise NoMatch(
                "result-shape",
                f"expected {expected} windows in spatial dimension {dim}, but its result has "
                f"{count}",
            )
        padding.append(max(needed, high[dim]))
    return padding


def _positions(room: int, step: int, rounds_up: bool) -> int:
    return (-(-room // step) if rounds_up else room // step) + 1


def _rounds_up(op: MigraphxOp) -> bool:
    return "ceil_mode" in op.operation.attributes and op.int("ceil_mode") != 0


POOLING: dict[str, Conversion] = {"pooling": _pooling}
"""Conversions by mnemonic."""
