"""Converts scaled dot-product attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.transforms.tensor_builder import Tensor
from hipgraft.transforms.torch_to_hipdnn.converter import Conversion, Converter, TorchOp


def _sdpa(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """Converts `sdpa(q, k, v, attn_mask, dropout_p, is_causal, scale, gqa)`, [B, H, S, D]."""
    _check_dropout(op.constant(4))
    q, k, v = (_with_heads(op.float_tensor(i)) for i in range(3))
    scores = _scores(converter, op.optional_tensor(3), q, k, op.constant(5), op.constant(6))
    shape = (*q.shape[:-1], v.shape[-1])
    o = hipdnn.sdpa(
        *[converter.materialize(tensor) for tensor in (q, k, v)],
        **scores,
        result_type=ir.RankedTensorType.get(shape, op.result_element()),
        loc=converter.location,
    )
    return [converter.whole(o).reshape(op.result_shape())]


def _sdpa_for_cpu(converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    """`sdpa_for_cpu(q, k, v, dropout_p, is_causal, attn_mask, scale)` to o and log-sum-exp."""
    _check_dropout(op.constant(3))
    q, k, v = (op.float_tensor(i) for i in range(3))
    scores = _scores(converter, op.optional_tensor(5), q, k, op.constant(4), op.constant(6))
    results = {"o": ir.RankedTensorType.get((*q.shape[:-1], v.shape[-1]), op.result_element())}
    if op.is_used(1):
        rows = (*q.shape[:-1], 1)
        results["stats"] = ir.RankedTensorType.get(rows, op.result_element(1))
    node = hipdnn.SdpaOp.build(
        *[converter.materialize(tensor) for tensor in (q, k, v)],
        scores.pop("attn_mask"),
        generate_stats=True if op.is_used(1) else None,
        results=results,
        loc=converter.location,
        **scores,
    )
    stats = None if node.stats is None else converter.whole(node.stats).reshape(op.result_shape(1))
    return [converter.whole(node.o), stats]


def _sdpa_for_cpu_backward(converter: Converter, op: TorchOp) -> Sequence[Tensor | None]:
    """`sdpa_for_cpu_backward(do, q, k, v, o, log_sum_exp, dropout_p, is_causal, mask, scale)`."""
    _check_dropout(op.constant(6))
    do, q, k, v, o, stats = (op.float_tensor(i) for i in range(6))
    stats = stats.reshape((*q.shape[:-1], 1))
    scores = _scores(converter, op.optional_tensor(8), q, k, op.constant(7), op.constant(9))
    gradients = hipdnn.sdpa_backward(
        *[converter.materialize(tensor) for tensor in (q, k, v, o, do, stats)],
        **scores,
        loc=converter.location,
    )
    return [converter.whole(value) for value in gradients]


def _check_dropout(probability: float) -> None:
    if probability:
        raise Declined("dropout", "attention with dropout")


def _scores(
    converter: Converter,
    mask: Tensor | None,
    q: Tensor,
    k: Tensor,
    causal: bool,
    scale: float | None,
) -> dict[str, Any]:
    """Returns the builders' arguments for masks, scale and causality of the scores."""
    if not q.shape[-1]:
        raise Declined("empty", "the heads have no elements")
    return {
        "attn_mask": None if mask is None else converter.materialize(_mask(converter, mask, q, k)),
        "attn_scale_value": 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale),
        **({"left_bound": -1, "right_bound": 0} if causal else {}),
    }


def _with_heads(tensor: Tensor) -> Tensor:
    if len(tensor.shape) not in (3, 4):
        raise Declined("attention-rank", f"attention of rank {len(tensor.shape)}")
    return tensor if len(tensor.shape) == 4 else tensor.through(tensor.view.insert(1))


def _mask(converter: Converter, mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """Returns an additive mask [B or 1, H or 1, Sq, Skv]; booleans become 0 and -inf."""
    if not mask.is_float:
        bounds = [converter.scalar(value, q) for value in (0.0, -math.inf)]
        mask = converter.pointwise("binary_select", [mask, *bounds], q.element_type)
    if len(mask.shape) == 3 and len(q.shape) == 4:
        mask = mask.through(mask.view.insert(1))
    rank_up = (1,) * (4 - len(mask.shape)) + mask.shape
    mask = mask.reshape(rank_up)
    return mask.through(mask.view.expand((*rank_up[:2], q.shape[2], k.shape[2])))


_FOR_CPU = "torch.aten._scaled_dot_product_flash_attention_for_cpu"

ATTENTION: dict[str, Conversion] = {
    "torch.aten.scaled_dot_product_attention": _sdpa,
    _FOR_CPU: _sdpa_for_cpu,
    f"{_FOR_CPU}_backward": _sdpa_for_cpu_backward,
}
"""Conversions by torch op name."""
