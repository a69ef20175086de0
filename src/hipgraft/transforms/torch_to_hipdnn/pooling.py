"""Converts maximum and average pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from operator import add

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.tensor_reductions import reduce
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp
from hipgraft.transforms.torch_to_hipdnn.padding import padded_operand


def batched(tensor: Tensor, rank: int) -> Tensor:
    """Views `[C, spatial...]` as `[1, C, spatial...]`."""
    return tensor if len(tensor.shape) == rank + 2 else tensor.through(tensor.view.insert(0))


def _resample(
    converter: Converter,
    op: TorchOp,
    mode: str,
    *,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> Tensor:
    """Emits a pooling whose windows start `padding` elements before the tensor."""
    results = {"y": op.result_element()}
    return _resampled(converter, op, mode, window, stride, padding, results)[0]


def _with_positions(
    converter: Converter,
    op: TorchOp,
    *,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> list[Tensor]:
    """Emits a pooling to maxima and their positions, which torch counts in 64 bits."""
    results = {"y": op.result_element(), "index": ir.IntegerType.get_signless(32)}
    y, index = _resampled(converter, op, "MAXPOOL", window, stride, padding, results)
    return [y, converter.pointwise("identity", [index], op.result_element(1))]


def _resampled(
    converter: Converter,
    op: TorchOp,
    mode: str,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    results: dict[str, ir.Type],
) -> list[Tensor]:
    rank = len(window)
    x, before, after = padded_operand(op, rank)
    x = batched(x, rank)
    counts = op.result_shape()[-rank:]
    shape = [*x.shape[:2], *counts]
    extents = [*map(sum, zip(before, x.shape[2:], after, strict=True))]
    past = post_padding(counts, extents, window, stride, padding)
    node = hipdnn.ResampleFwdOp.build(
        converter.materialize(x),
        resample_mode=mode,
        padding_mode="NEG_INF_PAD" if mode == "MAXPOOL" else "ZERO_PAD",
        window=window,
        stride=stride,
        pre_padding=[*map(add, padding, before)],
        post_padding=[*map(add, past, after)],
        generate_index=True if "index" in results else None,
        results={name: ir.RankedTensorType.get(shape, kind) for name, kind in results.items()},
        loc=converter.location,
    )
    found = node.operation.results
    return [converter.whole(value).reshape(op.result_shape()) for value in found]


def post_padding(
    counts: Sequence[int],
    extents: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> list[int]:
    """Returns the elements that the last of `counts` windows reads past the end, or `padding`.

    Raises:
        Declined: the number of values differs from the number of dimensions.
    """
    if len({len(counts), len(extents), len(window), len(stride), len(padding)}) > 1:
        raise Declined("pooling-rank", "its windows have more or fewer dimensions than its operand")
    return [
        max(pad, (count - 1) * step + size - extent - pad)
        for count, step, size, extent, pad in zip(
            counts, stride, window, extents, padding, strict=True
        )
    ]


def _max_pool(rank: int, converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    """`max_pool(x, window, stride, padding, dilation, ceil_mode)`, with positions or without."""
    others = range(1, len(op.operation.results))
    window, stride, padding, dilation = (op.per_dim(i, rank) for i in range(1, 5))
    check_dilation(dilation)
    windows = {"window": window, "stride": stride or window, "padding": padding}
    if any(op.is_used(index) for index in others):
        return _with_positions(converter, op, **windows)
    y = _resample(converter, op, "MAXPOOL", **windows)
    return [y, *(None for _ in others)]


def check_dilation(dilation: Sequence[int]) -> None:
    """Declines windows with gaps.

    Raises:
        Declined: there are gaps.
    """
    if any(step != 1 for step in dilation):
        raise Declined("dilated-pooling", "hipDNN's windows have no dilation")


def _avg_pool(rank: int, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`avg_pool(x, window, stride, padding, ceil_mode, count_include_pad, divisor)`."""
    window, padding = op.per_dim(1, rank), op.per_dim(3, rank)
    steps = op.integers(2)
    if len(steps) == 2 * rank:  # torch-mlir's ONNX importer appends the dilation to the stride
        stride, dilation = steps[:rank], steps[rank:]
        check_dilation(dilation)
    else:
        stride = op.per_dim(2, rank)
    if len(op) > 6 and op.constant(6) is not None:
        raise Declined("divisor", "hipDNN's average has no divisor of its own")
    x, before, after = padded_operand(op, rank)
    padded = any((*before, *after))
    if (
        not padded
        and list(x.shape[-rank:]) == window
        and not any(padding)
        and math.prod(window) > 1
    ):
        dims = range(len(x.shape) - rank, len(x.shape))
        return [reduce(converter, "AVG", x, dims, op.result_element()).reshape(op.result_shape())]
    includes = padded or op.constant(5)
    mode = average_mode([*padding, *before, *after], ceil=op.constant(4), includes=includes)
    return [_resample(converter, op, mode, window=window, stride=stride or window, padding=padding)]


def average_mode(padding: Sequence[int], *, ceil: bool, includes: bool) -> str:
    """Returns hipDNN's mode for an average.

    Raises:
        Declined: there is no such mode.
    """
    if not includes or not any(padding):
        return "AVGPOOL_EXCLUDE_PADDING"
    if ceil:
        raise Declined("ceil-mode", "torch counts only some of the padding of the last windows")
    return "AVGPOOL_INCLUDE_PADDING"


def _adaptive_pool(
    mode: str, reduction: str, rank: int, converter: Converter, op: TorchOp
) -> Sequence[Tensor | None]:
    """Converts pooling to given extents: equal windows, or a reduction for a single window."""
    others = range(1, len(op.operation.results))
    if any(op.is_used(index) for index in others):
        raise Declined("index-used", "hipDNN counts positions of maxima in 32 bits, torch in 64")
    x = op.float_tensor(0)
    extents, counts = x.shape[-rank:], op.result_shape()[-rank:]
    if any(extent % count for extent, count in zip(extents, counts, strict=True)):
        raise Declined("uneven-windows", "the windows have different extents")
    window = [extent // count for extent, count in zip(extents, counts, strict=True)]
    if math.prod(counts) == 1 < math.prod(extents):
        dims = range(len(x.shape) - rank, len(x.shape))
        y = reduce(converter, reduction, x, dims, op.result_element())
    else:
        y = _resample(converter, op, mode, window=window, stride=window, padding=[0] * rank)
    return [y, *(None for _ in others)]


def _table() -> dict[str, Conversion]:
    table: dict[str, Conversion] = {}
    for rank in (1, 2, 3):
        table[f"torch.aten.max_pool{rank}d"] = partial(_max_pool, rank)
        table[f"torch.aten.max_pool{rank}d_with_indices"] = partial(_max_pool, rank)
        table[f"torch.aten.avg_pool{rank}d"] = partial(_avg_pool, rank)
        for prefix in ("", "_"):
            table[f"torch.aten.{prefix}adaptive_avg_pool{rank}d"] = partial(
                _adaptive_pool, "AVGPOOL_EXCLUDE_PADDING", "AVG", rank
            )
        table[f"torch.aten.adaptive_max_pool{rank}d"] = partial(
            _adaptive_pool, "MAXPOOL", "MAX", rank
        )
    return table


POOLING: dict[str, Conversion] = _table()
"""Conversions by torch op name."""
