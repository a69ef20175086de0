"""Converts gradients of maximum and average pooling."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp
from hipgraft.transforms.torch_to_hipdnn.pooling import (
    average_mode,
    batched,
    check_dilation,
    post_padding,
)


def _max_pool_backward(rank: int, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`max_pool_backward(dy, x, window, stride, padding, dilation, ceil_mode, positions)`."""
    check_dilation(op.per_dim(5, rank))
    narrow = ir.IntegerType.get_signless(32)
    index = converter.pointwise("identity", [batched(op.tensor(7), rank)], narrow)
    return [_gradient(rank, converter, op, "MAXPOOL", index)]


def _avg_pool_backward(rank: int, converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`avg_pool_backward(dy, x, window, stride, padding, ceil_mode, includes_pad, divisor)`."""
    if op.constant(7) is not None:
        raise Declined("divisor", "hipDNN's average has no divisor of its own")
    padding = op.per_dim(4, rank)
    mode = average_mode(padding, ceil=op.constant(5), includes=op.constant(6))
    return [_gradient(rank, converter, op, mode, None)]


def _gradient(
    rank: int, converter: Converter, op: TorchOp, mode: str, index: Tensor | None
) -> Tensor:
    """Emits the gradient of the pooling's operand."""
    dy, x = (batched(op.float_tensor(i), rank) for i in range(2))
    window, stride, padding = (op.per_dim(i, rank) for i in range(2, 5))
    stride = stride or window
    dx = hipdnn.resample_bwd(
        converter.materialize(dy),
        None if index is None else converter.materialize(index),
        resample_mode=mode,
        padding_mode="NEG_INF_PAD" if index is not None else "ZERO_PAD",
        window=window,
        stride=stride,
        pre_padding=padding,
        post_padding=post_padding(dy.shape[2:], x.shape[2:], window, stride, padding),
        result_type=ir.RankedTensorType.get(x.shape, op.result_element()),
        loc=converter.location,
    )
    return converter.whole(dx).reshape(op.result_shape())


def _table() -> dict[str, Conversion]:
    table: dict[str, Conversion] = {}
    for rank in (2, 3):
        maximum = f"torch.aten.max_pool{rank}d_with_indices_backward"
        table[maximum] = partial(_max_pool_backward, rank)
        table[f"torch.aten.avg_pool{rank}d_backward"] = partial(_avg_pool_backward, rank)
    return table


POOLING_GRADIENTS: dict[str, Conversion] = _table()
"""Conversions by torch op name."""
