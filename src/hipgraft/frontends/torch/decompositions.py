"""Selects the PyTorch ops to decompose before import, and their decompositions.

PyTorch decomposes most ops. Decompositions of ops that hipgraft converts are omitted at first,
because hipDNN has an op for them; if the graph does not compile without them, they are used, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from hipgraft.frontends.torch.functions import FUNCTIONS
from hipgraft.frontends.torch.pytorch import aten, fx_decompositions, torch
from hipgraft.frontends.torch.quantized import quantized_decompositions
from hipgraft.ir.bindings import ir, make_context
from hipgraft.transforms.torch_to_hipdnn import CONVERSIONS

Decompositions = Mapping[Any, Callable[..., Any]]
"""The decompositions by `OpOverload`."""


def all_decompositions() -> Decompositions:
    """Returns the decompositions to ops that torch-mlir and IREE mostly support."""
    return {**_all(), **quantized_decompositions()}


def default_decompositions() -> Decompositions:
    """Returns the decompositions of ops that hipgraft does not convert."""
    return {**_default(), **quantized_decompositions()}


@cache
def _all() -> Decompositions:
    table = {**fx_decompositions.get_decomposition_table(), **_OWN}
    # PyTorch's rule returns no logarithms; `legalize_attention` rewrites the op.
    del table[aten._scaled_dot_product_flash_attention_for_cpu.default]
    return table


@cache
def _default() -> Decompositions:
    table = _all()
    context = make_context()
    return {op: rule for op, rule in table.items() if op in _OWN or not _stays(op, context)}


def _stays(op: Any, context: ir.Context) -> bool:
    """Whether hipgraft converts an op that torch-mlir can import."""
    name = f"torch.{op._schema.name.replace('::', '.')}"
    overload = op._overloadname
    name = name if overload == "default" else f"{name}.{overload}"
    return name in CONVERSIONS and context.is_registered_operation(name)


def native_dropout(x: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """Decomposes dropout, and draws the mask as PyTorch's own CPU kernel does."""
    if not train or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    mask = aten.bernoulli.p(torch.empty_like(x, dtype=torch.bool), 1 - p)
    return x * mask * (1 / (1 - p)), mask


def as_strided_scatter(
    x: Any, source: Any, size: Any, strides: Any, offset: int | None = None
) -> Any:
    """Replaces the elements at strided offsets in the memory of a row-major tensor."""
    if not x.is_contiguous() or x.storage_offset():
        return NotImplemented
    places = torch.full((), offset or 0, device=x.device, dtype=torch.int64)
    for extent, stride in zip(size, strides, strict=True):
        places = places.unsqueeze(-1) + stride * torch.arange(extent, device=x.device)
    flat = x.reshape(-1).index_put((places.reshape(-1),), source.reshape(-1))
    return flat.view(x.shape)


def multi_head_attention(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    heads: int,
    weight: Any,
    bias: Any,
    out_weight: Any,
    out_bias: Any,
    mask: Any = None,
    need_weights: bool = True,
    average_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """Decomposes PyTorch's fused attention with projections, `[B, N, embed_dim]`, unmasked."""
    if mask is not None:
        return NotImplemented
    inputs = zip((query, key, value), weight.chunk(3), bias.chunk(3), strict=True)
    parts = [torch.nn.functional.linear(x, w, b) for x, w, b in inputs]
    q, k, v = (x.unflatten(-1, (heads, embed_dim // heads)).transpose(1, 2) for x in parts)
    result = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    result = result.transpose(1, 2).flatten(2)
    projected = torch.nn.functional.linear(result, out_weight, out_bias)
    if not need_weights:
        return projected, None
    weights = (torch.matmul(q, k.transpose(-2, -1)) * _scale(q, None)).softmax(-1)
    return projected, weights.mean(1) if average_weights else weights


def encoder_layer(
    x: Any,
    embed_dim: int,
    heads: int,
    weight: Any,
    bias: Any,
    out_weight: Any,
    out_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    epsilon: float,
    weight_1: Any,
    bias_1: Any,
    weight_2: Any,
    bias_2: Any,
    up_weight: Any,
    up_bias: Any,
    down_weight: Any,
    down_bias: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    """Decomposes PyTorch's fused transformer layer, `[B, N, embed_dim]`, without a mask."""
    if mask is not None:
        return NotImplemented
    linear, shape = torch.nn.functional.linear, (embed_dim,)

    def attend(x: Any) -> Any:
        projections = (weight, bias, out_weight, out_bias)
        return multi_head_attention(x, x, x, embed_dim, heads, *projections, None, False)[0]

    def feed_forward(x: Any) -> Any:
        wide = linear(x, up_weight, up_bias)
        wide = torch.nn.functional.gelu(wide) if use_gelu else wide.relu()
        return linear(wide, down_weight, down_bias)

    def norm_1(x: Any) -> Any:
        return torch.nn.functional.layer_norm(x, shape, weight_1, bias_1, epsilon)

    def norm_2(x: Any) -> Any:
        return torch.nn.functional.layer_norm(x, shape, weight_2, bias_2, epsilon)

    if norm_first:
        x = x + attend(norm_1(x))
        return x + feed_forward(norm_2(x))
    x = norm_1(x + attend(x))
    return norm_2(x + feed_forward(x))


def attention(
    q: Any,
    k: Any,
    v: Any,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, Any]:
    """Computes attention and the logarithms of the sums of its exponentials.

    Args:
        q: queries `[B, H, M, D]`.
        k: keys `[B, H, N, D]`.
        v: values `[B, H, N, E]`.
        dropout: must be 0.
        causal: whether query i attends to the first i + 1 keys only.
        attn_mask: mask that is added to the logits, broadcast to `[B, H, M, N]`.
        scale: factor of the logits; 1 / √D by default.

    Returns:
        The result `[B, H, M, E]`, and `[B, H, M]` in f32.
    """
    logits = _logits(q, k, causal, attn_mask, scale)
    # A query that may attend to no key has zeros as its result.
    largest = logits.amax(-1, keepdim=True).clamp(min=torch.finfo(logits.dtype).min)
    powers = (logits - largest).exp()
    sums = powers.sum(-1, keepdim=True)
    sums = torch.where(sums == 0, 1.0, sums)
    result = torch.matmul(powers / sums, v.to(powers.dtype)).to(q.dtype)
    return _rows_outside(result), (largest + sums.log()).squeeze(-1)


def attention_backward(
    gradient: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    logsumexp: Any,
    dropout: float,
    causal: bool,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> tuple[Any, Any, Any]:
    """Computes the gradients of q, k and v from `attention`'s results and the first's gradient."""
    weights = (_logits(q, k, causal, attn_mask, scale) - logsumexp.unsqueeze(-1)).exp()
    wide = weights.dtype
    gradient, result = gradient.to(wide), out.to(wide)
    dv = torch.matmul(weights.transpose(-2, -1), gradient)
    change = torch.matmul(gradient, v.to(wide).transpose(-2, -1))
    change = weights * (change - (gradient * result).sum(-1, keepdim=True))
    change = change * _scale(q, scale)
    dq = torch.matmul(change, k.to(wide))
    dk = torch.matmul(change.transpose(-2, -1), q.to(wide))
    gradients = (dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype))
    dq, dk, dv = map(_rows_outside, gradients)
    return dq, dk, dv


def _rows_outside(x: Any) -> Any:
    """Stores `[B, H, M, D]` as `[B, M, H, D]`, as PyTorch's own kernel does."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def _logits(q: Any, k: Any, causal: bool, mask: Any, scale: float | None) -> Any:
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    logits = torch.matmul(q.to(wide), k.to(wide).transpose(-2, -1)) * _scale(q, scale)
    if causal:
        rows = torch.arange(q.shape[-2], device=q.device).unsqueeze(-1)
        columns = torch.arange(k.shape[-2], device=q.device)
        logits = torch.where(columns > rows, float("-inf"), logits)
    return logits if mask is None else logits + mask.to(wide)


def _scale(q: Any, scale: float | None) -> float:
    return q.shape[-1] ** -0.5 if scale is None else scale


def multiply_add(a: Any, b: Any, c: Any) -> Any:
    """Decomposes the fused operator of PyTorch's optimizers, which adds a rounding."""
    return a * b + c


def adaptive_pool_backward(gradient: Any, x: Any) -> Any:
    """Computes the gradient of images `[..., H, W]` whose windows were averaged."""
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    rows, columns = (
        _shares(taken, made, x.device).to(wide)
        for taken, made in zip(x.shape[-2:], gradient.shape[-2:], strict=True)
    )
    return torch.matmul(torch.matmul(rows.mT, gradient.to(wide)), columns).to(x.dtype)


def _shares(taken: int, made: int, device: Any) -> Any:
    """Returns the share of each element in each average, `[made, taken]`."""
    place = torch.arange(taken, device=device)
    window = torch.arange(made, device=device).unsqueeze(-1)
    start, stop = window * taken // made, ((window + 1) * taken + made - 1) // made
    return ((place >= start) & (place < stop)).double() / (stop - start)


def _each(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function that computes on lists of tensors, as optimizers do."""

    def on_lists(tensors: Sequence[Any], *others: Any, **options: Any) -> list[Any]:
        return [
            compute(one, *(x[i] if isinstance(x, list | tuple) else x for x in others), **options)
            for i, one in enumerate(tensors)
        ]

    return on_lists


def _on_lists() -> dict[Any, Callable[..., Any]]:
    found = {aten._foreach_norm.Scalar: _each(torch.linalg.vector_norm)}
    for name in ("add", "sub", "mul", "div"):
        packet = getattr(aten, f"_foreach_{name}")
        for overload in ("Scalar", "List", "Tensor", "ScalarList"):
            if overload in packet.overloads():
                found[getattr(packet, overload)] = _each(getattr(torch, name))
    for name in ("abs", "exp", "log", "neg", "reciprocal", "sqrt"):
        found[getattr(aten, f"_foreach_{name}").default] = _each(getattr(torch, name))
    return found


# Releases before 2.13 lack this op.
_PRIMS = {torch.ops.prims.fma.default: multiply_add} if hasattr(torch.ops.prims, "fma") else {}

_OWN: Decompositions = {
    aten._adaptive_avg_pool2d_backward.default: adaptive_pool_backward,
    aten._native_multi_head_attention.default: multi_head_attention,
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
    aten.as_strided_scatter.default: as_strided_scatter,
    aten.native_dropout.default: native_dropout,
    **FUNCTIONS,
    **_PRIMS,
    **_on_lists(),
}
