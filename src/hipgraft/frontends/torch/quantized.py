"""Decompositions of the ops that PyTorch's PT2E quantization inserts into exported programs.

The ops exist once a package that quantizes has registered them. IREE lowers them, too, but only
with scales that are numbers of f32, and in kernels of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hipgraft.frontends.torch.pytorch import torch


def quantize_per_tensor(
    x: Any, scale: Any, zero_point: Any, low: int, high: int, dtype: Any
) -> Any:
    """Divides by a scale, rounds half to even, clamps, and converts to integers."""
    quotients = torch.round(x.to(torch.float32) * (1.0 / scale))
    return torch.clamp(quotients + zero_point, low, high).to(dtype)


def dequantize_per_tensor(
    x: Any,
    scale: Any,
    zero_point: Any,
    low: int,
    high: int,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Any:
    """Returns integers times a scale."""
    wanted = out_dtype or torch.float32
    return ((x.to(torch.float32) - zero_point) * scale).to(wanted)


def quantize_per_channel(
    x: Any, scales: Any, zero_points: Any, axis: int, low: int, high: int, dtype: Any
) -> Any:
    """Quantizes like `quantize_per_tensor`, with one scale per index of a dimension."""
    scales, zero_points = (_along(one, x, axis) for one in (scales, zero_points))
    return quantize_per_tensor(x, scales, zero_points, low, high, dtype)


def dequantize_per_channel(
    x: Any,
    scales: Any,
    zero_points: Any,
    axis: int,
    low: int,
    high: int,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Any:
    """Dequantizes like `dequantize_per_tensor`, with one scale per index of a dimension."""
    scales = _along(scales, x, axis)
    zero_points = 0 if zero_points is None else _along(zero_points, x, axis)
    return dequantize_per_tensor(x, scales, zero_points, low, high, dtype, out_dtype=out_dtype)


def _along(values: Any, x: Any, axis: int) -> Any:
    shape = [1] * x.dim()
    shape[axis] = -1
    return values.to(torch.float32).reshape(shape)


_RULES: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("quantize_per_tensor", "default"): quantize_per_tensor,
    ("quantize_per_tensor", "tensor"): quantize_per_tensor,
    ("dequantize_per_tensor", "default"): dequantize_per_tensor,
    ("dequantize_per_tensor", "tensor"): dequantize_per_tensor,
    ("quantize_per_channel", "default"): quantize_per_channel,
    ("dequantize_per_channel", "default"): dequantize_per_channel,
}


def quantized_decompositions() -> dict[Any, Callable[..., Any]]:
    """Returns the decompositions by `OpOverload`; none if no package has registered the ops."""
    space = torch.ops.quantized_decomposed
    return {
        getattr(getattr(space, name), overload): rule
        for (name, overload), rule in _RULES.items()
        if hasattr(space, name) and hasattr(getattr(space, name), overload)
    }
