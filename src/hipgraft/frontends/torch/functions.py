"""Decompositions of functions that neither PyTorch nor torch-mlir decomposes.

Each function has the signature of its ATen op. Returning `NotImplemented` keeps the op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hipgraft.frontends.torch.pytorch import aten, torch


def hypot(a: Any, b: Any) -> Any:
    """Computes √(a² + b²), scaled by the larger operand, because its square may overflow."""
    a, b = a.abs(), b.abs()
    larger, smaller = torch.maximum(a, b), torch.minimum(a, b)
    length = larger * torch.sqrt(1 + (smaller / larger) ** 2)
    length = torch.where((larger == 0) | (smaller == larger), larger * 2**0.5, length)
    return torch.where((a == torch.inf) | (b == torch.inf), torch.inf, length)


def _distances(a: Any, b: Any, p: float, _mode: int | None) -> Any:
    """Computes the p-norms of all differences of rows: `[..., M, K]`, `[..., N, K]` to `[M, N]`."""
    return torch.linalg.vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, -1)


def _add_product(x: Any, matrix: Any, vector: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    product = torch.mv(matrix, vector) * alpha
    return product if beta == 0 else x * beta + product


def _cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    """Computes the cross entropy of logits `[N, C, ...]` or `[C]`, and classes or probabilities.

    Args:
        x: the logits.
        target: classes `[N, ...]`, or probabilities of the shape of `x`.
        weight: factors of the classes `[C]`.
        reduction: 0 for none, 1 for the mean, 2 for the sum.
        ignore_index: class of elements that do not count.
        label_smoothing: the share of the uniform distribution in the target.
    """
    dim = min(1, x.ndim - 1)
    logarithms = x.log_softmax(dim)
    weighted = logarithms
    if weight is not None:
        weighted = logarithms * weight.reshape(-1, *[1] * (x.ndim - dim - 1))
    if target.is_floating_point():
        target = target * (1 - label_smoothing) + label_smoothing / x.shape[dim]
        loss, count = -(weighted * target).sum(dim), x.numel() // x.shape[dim]
        return loss if reduction == 0 else loss.sum() / (count if reduction == 1 else 1)
    loss = aten.nll_loss_nd(logarithms, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return loss
    counts = target != ignore_index
    smooth = torch.where(counts, -weighted.sum(dim), 0.0)
    if reduction == 1:
        shares = counts if weight is None else counts * weight[torch.where(counts, target, 0)]
        smooth = smooth.sum() / shares.sum()
    elif reduction == 2:
        smooth = smooth.sum()
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / x.shape[dim])


def _block_diagonal(matrices: Sequence[Any]) -> Any:
    matrices = [torch.atleast_2d(one) for one in matrices]
    whole, before, rows = sum(one.shape[1] for one in matrices), 0, []
    for one in matrices:
        after = whole - before - one.shape[1]
        rows.append(torch.nn.functional.pad(one, (before, after)))
        before += one.shape[1]
    return torch.cat(rows)


def _norm(
    x: Any, order: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Computes vector norms; matrix norms stay."""
    count = x.ndim if dim is None else len(dim)
    if order is not None and count != 1:
        return NotImplemented
    return torch.linalg.vector_norm(x, 2 if order is None else order, dim, keepdim, dtype=dtype)


def _running(is_better: Callable[[Any, Any], Any]) -> Callable[[Any, int], tuple[Any, Any]]:
    """Returns the function that computes the best element so far, and its last index.

    Step k combines each element with the one 2^k before it, so that it covers 2^(k+1) elements.
    """

    def running(x: Any, dim: int) -> tuple[Any, Any]:
        if x.ndim == 0:
            return x.clone(), torch.zeros_like(x, dtype=torch.int64)
        values = x.movedim(dim, -1)
        extent, distance = values.shape[-1], 1
        places = torch.arange(extent, device=x.device).expand(values.shape)
        while distance < extent:
            later, earlier = values[..., distance:], values[..., :-distance]
            stays = is_better(later, earlier) | (later != later)
            best = torch.where(stays, later, earlier)
            place = torch.where(stays, places[..., distance:], places[..., :-distance])
            values = torch.cat([values[..., :distance], best], -1)
            places = torch.cat([places[..., :distance], place], -1)
            distance *= 2
        return values.movedim(-1, dim), places.movedim(-1, dim)

    return running


def _search(
    rows: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Counts the elements of sorted rows `[..., N]` before each of the values `[..., M]`."""
    rows = rows if sorter is None else torch.gather(rows, -1, sorter)
    if isinstance(values, torch.Tensor):
        rows = rows.unsqueeze(-2) if rows.ndim > 1 else rows
        values = values.unsqueeze(-1)
    after = rows > values if right or side == "right" else rows >= values
    return (~after).sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def _integer_power(x: Any, exponent: Any) -> Any:
    if x.is_floating_point() or x.is_complex() or isinstance(exponent, float) or exponent < 0:
        return NotImplemented
    result, square = torch.ones_like(x), x
    while exponent:
        result = result * square if exponent & 1 else result
        exponent >>= 1
        square = square * square if exponent else square
    return result


def _put(x: Any, indices: Any, source: Any, accumulate: bool = False) -> Any:
    flat = x.reshape(-1).index_put((indices.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def _bags(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Any, Any, Any, Any]:
    """Computes means (mode 1) or maxima (mode 2) of the rows of each bag; 0 for an empty bag.

    Returns:
        The result; for gradients, the bag of each index, the number of indices of each bag, and
        the indices that have the maxima.
    """
    if mode == 0 or indices.ndim != 1:
        return NotImplemented
    starts = offsets[:-1] if include_last_offset else offsets
    place = torch.arange(indices.shape[0], device=indices.device)
    bag = (starts <= place.unsqueeze(-1)).sum(-1) - 1
    is_in = bag == torch.arange(starts.shape[0], device=indices.device).unsqueeze(-1)
    if padding_idx >= 0:
        is_in = is_in & (indices != padding_idx)
    rows, counts = weight[indices], is_in.sum(-1)
    if mode == 1:
        found = torch.matmul(is_in.to(weight.dtype), rows) / counts.clamp(min=1).unsqueeze(-1)
        return found.to(weight.dtype), bag, counts, torch.zeros_like(counts)
    found, where = torch.where(is_in.unsqueeze(-1), rows, -torch.inf).max(1)
    found = torch.where(counts.unsqueeze(-1) == 0, 0.0, found)
    return found.to(weight.dtype), bag, counts, indices[where]


def _triangle(x: Any) -> Any:
    return (1 - x).clamp(min=0)


def _cubic(x: Any) -> Any:
    """The kernel of cubic convolution with a = -0.5."""
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))


def _resized(kernel: Callable[[Any], Any]) -> Callable[..., Any]:
    """Returns the function that resizes images `[N, C, H, W]` by a kernel in input pixels."""

    def resized(
        x: Any,
        size: Sequence[int],
        align_corners: bool,
        rows_scale: float | None = None,
        columns_scale: float | None = None,
    ) -> Any:
        wide = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32)
        scales = (rows_scale, columns_scale)
        rows, columns = (
            _weights(kernel, taken, made, scale, align_corners, wide)
            for taken, made, scale in zip(x.shape[-2:], size, scales, strict=True)
        )
        return torch.matmul(torch.matmul(rows, wide), columns.mT).to(x.dtype)

    return resized


def _weights(
    kernel: Callable[[Any], Any],
    taken: int,
    made: int,
    scale: float | None,
    align_corners: bool,
    like: Any,
) -> Any:
    """Returns the weight of each input element in each result, `[made, taken]`."""
    ratio = 1 / scale if scale else taken / made
    if align_corners:
        ratio = (taken - 1) / (made - 1) if made > 1 else 0.0
    options = {"dtype": like.dtype, "device": like.device}
    center = (torch.arange(made, **options).unsqueeze(-1) + 0.5) * ratio
    distance = (torch.arange(taken, **options) + 0.5 - center).abs()
    weights = kernel(distance / max(ratio, 1.0))
    return weights / weights.sum(-1, keepdim=True)


def _nearest(op: Any) -> Callable[..., Any]:
    """Applies PyTorch's own rule to scales that torch-mlir rounds, such as 1.7; other ops stay."""
    rule = torch._decomp.decomposition_table[op]

    def resized(x: Any, size: Any, scales: Sequence[float] | None) -> Any:
        if scales is None or all(float(one).is_integer() for one in scales):
            return NotImplemented
        return rule(x, size, scales)

    return resized


_NEAREST = [getattr(aten, f"upsample_nearest{rank}d").vec for rank in (1, 2, 3)]

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    aten._cdist_forward.default: _distances,
    aten._embedding_bag.default: _bags,
    aten._embedding_bag_forward_only.default: _bags,
    aten._upsample_bicubic2d_aa.default: _resized(_cubic),
    aten._upsample_bilinear2d_aa.default: _resized(_triangle),
    aten.addmv.default: _add_product,
    aten.block_diag.default: _block_diagonal,
    aten.cross_entropy_loss.default: _cross_entropy,
    aten.cummax.default: _running(torch.ge),
    aten.cummin.default: _running(torch.le),
    aten.hypot.default: hypot,
    aten.linalg_norm.default: _norm,
    aten.pow.Tensor_Scalar: _integer_power,
    aten.put.default: _put,
    aten.searchsorted.Scalar: _search,
    aten.searchsorted.Tensor: _search,
    **{op: _nearest(op) for op in _NEAREST},
}
"""The decompositions by `OpOverload`."""
