"""Implements complex arithmetic on pairs of real tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hipgraft.frontends.torch.pytorch import torch


class Parts(NamedTuple):
    """The real and the imaginary part of a complex tensor; the latter is None if it is 0."""

    real: Any
    imag: Any


def parts(value: Any) -> Parts:
    """Returns the parts of a complex or real tensor or number."""
    if isinstance(value, Parts):
        return value
    return Parts(value.real, value.imag) if isinstance(value, complex) else Parts(value, None)


def whole(value: Any) -> tuple[Any, Any]:
    """Returns both parts of a tensor or number, with zeros as the imaginary part of a real one."""
    real, imag = parts(value)
    if imag is not None:
        return real, imag
    return real, torch.zeros_like(real) if isinstance(real, torch.Tensor) else 0.0


def bilinear(compute: Callable[[Any, Any], Any], a: Any, b: Any) -> Parts:
    """Applies a function that is linear in both operands."""
    (ar, ai), (br, bi) = parts(a), parts(b)
    if bi is None:
        return Parts(compute(ar, br), None if ai is None else compute(ai, br))
    if ai is None:
        return Parts(compute(ar, br), compute(ar, bi))
    return Parts(compute(ar, br) - compute(ai, bi), compute(ar, bi) + compute(ai, br))


def multiply(a: Any, b: Any) -> Parts:
    """Multiplies elements."""
    return bilinear(lambda x, y: x * y, a, b)


def matmul(a: Any, b: Any) -> Parts:
    """Multiplies matrices, or a matrix and a vector."""
    return bilinear(torch.matmul, a, b)
