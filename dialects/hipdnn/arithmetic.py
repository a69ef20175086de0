"""Defines the arithmetic in which the expressions of pointwise modes are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, TypeVar

V = TypeVar("V")
"""A value of the arithmetic: an SSA value, or another representation of a number."""


class Arithmetic(Protocol[V]):
    """The operations that expressions consist of, all in one type.

    Lowerings and conversions implement it. At least one operand of each operation depends on the
    mode's operands.
    """

    def constant(self, value: float, /) -> V:
        """Returns a constant."""
        ...

    def add(self, a: V, b: V, /) -> V:
        """Returns a + b."""
        ...

    def sub(self, a: V, b: V, /) -> V:
        """Returns a - b."""
        ...

    def mul(self, *factors: V) -> V:
        """Returns the product of two or more factors, from the left."""
        ...

    def div(self, a: V, b: V, /) -> V:
        """Returns a / b; integers round towards zero."""
        ...

    def mod(self, a: V, b: V, /) -> V:
        """Returns the remainder of a / b with the sign of a."""
        ...

    def power(self, a: V, b: V, /) -> V:
        """Returns a to the b."""
        ...

    def pick(self, predicate: str, a: V, b: V, /) -> V:
        """Returns `a <predicate> b ? a : b`, and NaN if either operand is NaN."""
        ...

    def maximum(self, a: V, b: V, /) -> V:
        """Returns the maximum."""
        ...

    def absolute(self, x: V, /) -> V:
        """Returns |x|."""
        ...

    def negate(self, x: V, /) -> V:
        """Returns -x."""
        ...

    def reciprocal(self, x: V, /) -> V:
        """Returns 1 / x."""
        ...

    def math(self, name: str, x: V, /) -> V:
        """Returns the function of MLIR's math dialect, for floats only."""
        ...

    def exponential(self, x: V, /) -> V:
        """Returns exp(x) with an error of at most |x| + 2 ulp."""
        ...

    def sigmoid(self, x: V, /) -> V:
        """Returns 1 / (1 + exp(-x))."""
        ...

    def affine(self, scale: float, x: V, shift: float, /) -> V:
        """Returns scale · x + shift."""
        ...

    def compare(self, predicate: str, a: V, b: V, /) -> V:
        """Returns a truth value; `predicate` is one of eq, ne, lt, le, gt, ge."""
        ...

    def select(self, predicate: str, x: V, bound: float, yes: V, no: V, /) -> V:
        """Returns `x <predicate> bound ? yes : no`."""
        ...

    def both(self, a: V, b: V, /) -> V:
        """Returns whether two truth values are true."""
        ...

    def either(self, a: V, b: V, /) -> V:
        """Returns whether one of two truth values is true."""
        ...


@dataclass(frozen=True)
class ModeParameters:
    """The attributes that expressions read, with the defaults of absent ones."""

    relu_lower_clip: float = 0.0
    relu_upper_clip: float = math.inf
    relu_lower_clip_slope: float = 0.0
    swish_beta: float = 1.0
    elu_alpha: float = 1.0
    softplus_beta: float = 1.0


class Unary(Protocol):
    """The expression of a mode with one operand."""

    def __call__(self, m: Arithmetic[V], p: ModeParameters, x: V, /) -> V: ...  # noqa: D102


class Binary(Protocol):
    """The expression of a mode with two operands."""

    def __call__(self, m: Arithmetic[V], p: ModeParameters, a: V, b: V, /) -> V: ...  # noqa: D102
