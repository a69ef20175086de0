"""Normalises arithmetic of a few unknowns, so that one pattern covers all of its spellings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.transforms.recognition.values import mode_of, splat_value, through_widenings

Polynomial = dict[tuple[int, ...], float]
"""Coefficients by the exponent of each unknown."""

_HIGHEST_DEGREE = 4
_DEEPEST = 10


def polynomial(
    value: ir.Value, unknowns: Sequence[ir.Value], depth: int = _DEEPEST
) -> Polynomial | None:
    """Reads a value as a polynomial of `unknowns`, None if it is not a small one.

    Args:
        value: the value to read, through widening casts.
        unknowns: values at which reading stops, before widening casts.
        depth: largest number of ops to follow.
    """
    value = through_widenings(value)
    for index, unknown in enumerate(unknowns):
        if value == unknown:
            return {tuple(int(index == i) for i in range(len(unknowns))): 1.0}
    number = splat_value(value)
    if number is not None:
        return {(0,) * len(unknowns): number}
    op = defining_op(value)
    if op is None or depth == 0 or mode_of(op) not in ("add", "sub", "mul", "div", "neg", "pow"):
        return None
    terms = [polynomial(operand, unknowns, depth - 1) for operand in op.operands]
    known = [term for term in terms if term is not None]
    return None if len(known) < len(terms) else _combined(str(mode_of(op)), known)


def _combined(mode: str, terms: Sequence[Polynomial]) -> Polynomial | None:
    if mode == "neg":
        return _scaled(terms[0], -1)
    left, right = terms
    if mode in ("add", "sub"):
        return _sum(left, right if mode == "add" else _scaled(right, -1))
    if mode == "mul":
        return _product(left, right)
    constant = _constant(right)
    if constant is None:
        return None
    if mode == "div":
        return None if constant == 0 else _scaled(left, 1 / constant)
    return _power(left, constant)


def _scaled(terms: Polynomial, factor: float) -> Polynomial:
    return {exponents: factor * value for exponents, value in terms.items()}


def _sum(left: Polynomial, right: Polynomial) -> Polynomial:
    keys = left.keys() | right.keys()
    return {key: left.get(key, 0.0) + right.get(key, 0.0) for key in keys}


def _product(left: Polynomial, right: Polynomial) -> Polynomial | None:
    result: Polynomial = {}
    for a, x in left.items():
        for b, y in right.items():
            key = tuple(map(sum, zip(a, b, strict=True)))
            if sum(key) > _HIGHEST_DEGREE:
                return None
            result[key] = result.get(key, 0.0) + x * y
    return result


def _power(base: Polynomial, exponent: float) -> Polynomial | None:
    if exponent not in (1.0, 2.0, 3.0):
        return None
    result: Polynomial | None = base
    for _ in range(int(exponent) - 1):
        result = None if result is None else _product(result, base)
    return result


def _constant(terms: Polynomial) -> float | None:
    return next(iter(terms.values())) if all(not any(key) for key in terms) else None


def is_close(
    terms: Polynomial | None, expected: Mapping[tuple[int, ...], float], tolerance: float
) -> bool:
    """Whether two polynomials have the same coefficients, to a relative `tolerance`."""
    if terms is None:
        return False
    return all(
        math.isclose(terms.get(key, 0.0), expected.get(key, 0.0), rel_tol=tolerance)
        for key in terms.keys() | expected.keys()
    )
