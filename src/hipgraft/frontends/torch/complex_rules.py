"""Computes ATen ops on complex tensors, which are pairs of real ones.

Each rule has the signature of its op; complex operands and results are `Parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from hipgraft.frontends.torch.complex_numbers import (
    Parts,
    bilinear,
    matmul,
    multiply,
    parts,
    whole,
)
from hipgraft.frontends.torch.fourier import FOURIER
from hipgraft.frontends.torch.functions import hypot
from hipgraft.frontends.torch.pytorch import aten, torch

_Rule = Callable[..., Any]

_REAL = {
    torch.complex32: torch.float16,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}


def _each(compute: _Rule) -> _Rule:
    """Returns the rule of an op that is linear in its first operand: the op runs on both parts."""

    def on_parts(first: Any, *others: Any, **options: Any) -> Any:
        if isinstance(first, list):
            pairs: list[Any] = [whole(one) for one in cast("list[Any]", first)]
            given = [[pair[half] for pair in pairs] for half in range(2)]
        else:
            given = list(whole(first))
        results = [compute(half, *others, **options) for half in given]
        if isinstance(results[0], list | tuple):
            return [Parts(*pair) for pair in zip(*results, strict=True)]
        return Parts(*results)

    return on_parts


def _both(compute: _Rule) -> _Rule:
    """Returns the rule of an op that moves elements of its first two operands."""

    def on_parts(first: Any, second: Any, *others: Any, **options: Any) -> Parts:
        pairs = zip(whole(first), whole(second), strict=True)
        return Parts(*(compute(*pair, *others, **options) for pair in pairs))

    return on_parts


def _sum(sign: int) -> _Rule:
    def add(a: Any, b: Any, *, alpha: Any = 1) -> Parts:
        (ar, ai), (br, bi) = parts(a), multiply(b, sign * alpha)
        imag = ai if bi is None else bi if ai is None else ai + bi
        real = ar + br
        zero = torch.zeros_like(real)
        return Parts(real, zero if imag is None else imag + zero)

    return add


def _divide(a: Any, b: Any) -> Parts:
    real, imag = parts(b)
    if imag is None:
        return Parts(*(one / real for one in whole(a)))
    size = real * real + imag * imag
    return multiply(a, Parts(real / size, -imag / size))


def _power(a: Any, exponent: Any) -> Parts:
    if not isinstance(exponent, int) or exponent < 1:
        return NotImplemented
    result = a
    for _ in range(exponent - 1):
        result = multiply(result, a)
    return result


def _exponential(a: Parts) -> Parts:
    size = a.real.exp()
    return Parts(size * a.imag.cos(), size * a.imag.sin())


def _to_copy(a: Any, *, dtype: Any = None, **_: Any) -> Any:
    if dtype is None or dtype in _REAL:
        return Parts(*(one if dtype is None else one.to(_REAL[dtype]) for one in whole(a)))
    return parts(a).real.to(dtype)


def _full(size: Any, value: Any, *, dtype: Any = None, device: Any = None, **_: Any) -> Parts:
    options = {"dtype": _REAL[dtype or torch.complex64], "device": device}
    return Parts(*(torch.full(size, half, **options) for half in whole(value)))


def _zeros(size: Any, *_: Any, **options: Any) -> Parts:
    return _full(size, 0.0, **options)


def _full_like(a: Any, value: Any, *, dtype: Any = None, **_: Any) -> Parts:
    real = parts(a).real
    kind = real.dtype if dtype is None else _REAL[dtype]
    return Parts(*(torch.full_like(real, half, dtype=kind) for half in whole(value)))


def _zeros_like(a: Any, **options: Any) -> Parts:
    return _full_like(a, 0.0, **options)


def _pad(a: Parts, amounts: Any, value: Any = 0.0) -> Parts:
    pairs = zip(a, whole(value), strict=True)
    return Parts(*(aten.constant_pad_nd.default(x, amounts, one) for x, one in pairs))


def _einsum(equation: str, operands: Sequence[Any], **_: Any) -> Parts:
    if len(operands) == 1:
        return Parts(*(torch.einsum(equation, one) for one in whole(operands[0])))
    if len(operands) != 2:
        return NotImplemented
    return bilinear(lambda a, b: torch.einsum(equation, a, b), *operands)


def _real(a: Parts) -> Any:
    return a.real


def _imaginary(a: Parts) -> Any:
    return a.imag


def _absolute(a: Parts) -> Any:
    return hypot(a.real, a.imag)


def _angle(a: Parts) -> Any:
    return torch.atan2(a.imag, a.real)


def _conjugate(a: Parts) -> Parts:
    return Parts(a.real, -a.imag)


def _reciprocal(a: Parts) -> Parts:
    return _divide(1.0, a)


def _polar(size: Any, angle: Any) -> Parts:
    return Parts(size * angle.cos(), size * angle.sin())


def _from_real(x: Any) -> Parts:
    return Parts(x[..., 0], x[..., 1])


def _as_real(a: Parts) -> Any:
    return torch.stack([a.real, a.imag], -1)


def _where(condition: Any, a: Any, b: Any) -> Parts:
    pairs = zip(whole(a), whole(b), strict=True)
    return Parts(*(torch.where(condition, *pair) for pair in pairs))


def _index_put(a: Any, indices: Any, b: Any, accumulate: bool = False) -> Parts:
    pairs = zip(whole(a), whole(b), strict=True)
    return Parts(*(torch.index_put(x, indices, y, accumulate) for x, y in pairs))


_LINEAR = (
    "_unsafe_view", "alias", "as_strided", "cat", "clone", "contiguous",
    "cumsum", "detach", "diagonal", "expand", "flatten.using_ints", "flip", "gather",
    "index.Tensor", "index_select", "lift_fresh_copy", "mean", "mean.dim", "movedim.int", "neg",
    "permute", "repeat", "reshape", "resolve_conj", "resolve_neg", "roll", "select.int",
    "slice.Tensor", "split.Tensor", "split_with_sizes", "squeeze", "squeeze.dim", "squeeze.dims",
    "stack", "sum", "sum.dim_IntList", "t", "transpose.int", "tril", "triu", "unbind.int",
    "unflatten.int", "unfold", "unsqueeze", "view",
)  # fmt: skip
_LINEAR_IN_TWO = ("copy", "select_scatter", "slice_scatter")

_BY_NAME: dict[str, _Rule] = {
    "_conj": _conjugate,
    "_conj_physical": _conjugate,
    "_to_copy": _to_copy,
    "abs": _absolute,
    "add.Scalar": _sum(1),
    "add.Tensor": _sum(1),
    "angle": _angle,
    "bmm": matmul,
    "complex": Parts,
    "conj": _conjugate,
    "conj_physical": _conjugate,
    "constant_pad_nd": _pad,
    "div.Scalar": _divide,
    "div.Tensor": _divide,
    "einsum": _einsum,
    "empty.memory_format": _zeros,
    "empty_strided": _zeros,
    "exp": _exponential,
    "full": _full,
    "full_like": _full_like,
    "imag": _imaginary,
    "index_put": _index_put,
    "matmul": matmul,
    "mm": matmul,
    "mul.Scalar": multiply,
    "mul.Tensor": multiply,
    "mv": matmul,
    "polar": _polar,
    "pow.Tensor_Scalar": _power,
    "real": _real,
    "reciprocal": _reciprocal,
    "sub.Scalar": _sum(-1),
    "sub.Tensor": _sum(-1),
    "view_as_complex": _from_real,
    "view_as_real": _as_real,
    "where.ScalarOther": _where,
    "where.ScalarSelf": _where,
    "where.self": _where,
    "zeros": _zeros,
    "zeros_like": _zeros_like,
}


def _op(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


RULES: dict[Any, _Rule] = {
    **{op: _each(op) for op in map(_op, _LINEAR)},
    **{op: _both(op) for op in map(_op, _LINEAR_IN_TWO)},
    **{_op(name): rule for name, rule in _BY_NAME.items()},
    **FOURIER,
}
"""The rules by `OpOverload`."""
