"""Scaled dot-product attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.bindings import ir
from hipgraft.dialects import hipdnn
from hipgraft.tensor_builder import NoMatch, Tensor
from hipgraft.torch_to_hipdnn.converter import Conversion, Converter, TorchOp


def _sdpa(converter: Converter, op: TorchOp) -> Sequence[Tensor]:
    """`sdpa(q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa)`, [B, H, S, D]."""
    if op.constant(4):
        raise NoMatch("dropout", "attention with dropout")
    q, k, v = (_with_heads(op.float_tensor(i)) for i in range(3))
    mask = op.optional_tensor(3)
    scale = op.constant(6)
    shape = (*q.shape[:-1], v.shape[-1])
    o = hipdnn.sdpa(
        *[converter.materialize(tensor) for tensor in (q, k, v)],
        attn_mask=None if mask is None else converter.materialize(_mask(converter, mask, q, k)),
        attn_scale_value=1 / math.sqrt(q.shape[-1]) if scale is None else float(scale),
        **({"left_bound": -1, "right_bound": 0} if op.constant(5) else {}),
        result_type=ir.RankedTensorType.get(shape, op.result_element()),
        loc=converter.location,
    )
    return [converter.whole(o).reshape(op.result_shape())]


def _with_heads(tensor: Tensor) -> Tensor:
    if len(tensor.shape) not in (3, 4):
        raise NoMatch("attention-rank", f"attention of rank {len(tensor.shape)}")
    return tensor if len(tensor.shape) == 4 else tensor.through(tensor.view.insert(1))


def _mask(converter: Converter, mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """An additive mask as [B or 1, H or 1, Sq, Skv]; a boolean one becomes 0 and -inf."""
    if not mask.is_float:
        bounds = [converter.scalar(value, q) for value in (0.0, -math.inf)]
        mask = converter.pointwise("binary_select", [mask, *bounds], q.element_type)
    if len(mask.shape) == 3 and len(q.shape) == 4:
        mask = mask.through(mask.view.insert(1))
    rank_up = (1,) * (4 - len(mask.shape)) + mask.shape
    mask = mask.reshape(rank_up)
    return mask.through(mask.view.expand((*rank_up[:2], q.shape[2], k.shape[2])))


ATTENTION: dict[str, Conversion] = {"torch.aten.scaled_dot_product_attention": _sdpa}
"""Conversions by torch op name."""
