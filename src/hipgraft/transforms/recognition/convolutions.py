"""Folds constant factors and summands per channel into a convolution's filters and bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.recognition.constants import (
    Array,
    build_constant,
    constant_array,
    is_float_constant,
    rounded,
)
from hipgraft.transforms.recognition.exactness import is_exact_in_f16
from hipgraft.transforms.recognition.values import (
    Rules,
    check_interior,
    is_narrow,
    mode_of,
    readers,
)


@dataclass(frozen=True)
class _Affine:
    """`factor · x + summand`, each a number per channel or one for all."""

    factor: Array
    summand: Array

    def then(self, after: _Affine) -> _Affine:
        """Returns this map followed by `after`."""
        return _Affine(self.factor * after.factor, self.summand * after.factor + after.summand)


def fold_batchnorm(op: ir.Operation, rules: Rules) -> str | None:
    """Folds ops after a convolution with constant filters into it; `op` is the convolution.

    Folds batch normalisation with constant statistics, and products and sums with constants per
    channel. Sums alone stay, because they are a bias already.
    """
    if not is_float_constant(op.operands[1]):
        return None
    root, total = op.results[0], _Affine(np.ones(1), np.zeros(1))
    while len(found := readers(root)) == 1 and (step := _step(found[0], root)) is not None:
        root, total = found[0].results[0], total.then(step)
    if (total.factor == 1).all():
        return None
    filters = constant_array(op.operands[1])
    if filters is None:
        return None
    if element_type_of(op.operands[1]) == ir.F32Type.get() and all(
        map(is_exact_in_f16, op.operands)
    ):
        raise Declined("exact", "scaled filters would not be exact in f16, as both operands are")
    check_interior(root, list(op.operands), rules)
    scaled = filters.astype(np.float64) * total.factor.reshape(-1, *[1] * (filters.ndim - 1))
    _replace(
        op, root, rounded(scaled, filters.dtype, axes=tuple(range(1, filters.ndim))), total.summand
    )
    return "conv_fprop with scaled filters"


def _step(op: ir.Operation, x: ir.Value) -> _Affine | None:
    """Returns the map that `op` applies to `x`; None if it is not affine, or depends on inputs."""
    rule = _STEPS.get(mode_of(op) or op.name)
    if rule is None or op.results[0].type != x.type:
        return None
    position = list(op.operands).index(x)
    others = [_per_channel(each, x) for i, each in enumerate(op.operands) if i != position]
    known = [each for each in others if each is not None]
    return rule(position, *known) if len(known) == len(others) else None


def _add(_: int, summand: Array) -> _Affine:
    return _Affine(np.ones(1), summand)


def _sub(position: int, other: Array) -> _Affine:
    return _Affine(np.ones(1), -other) if position == 0 else _Affine(-np.ones(1), other)


def _mul(_: int, factor: Array) -> _Affine:
    return _Affine(factor, np.zeros(1))


def _div(position: int, divisor: Array) -> _Affine | None:
    return _Affine(1 / divisor, np.zeros(1)) if position == 0 and divisor.all() else None


def _normalize(_: int, mean: Array, inverse: Array, scale: Array, bias: Array) -> _Affine:
    return _Affine(scale * inverse, bias - mean * scale * inverse)


def _normalize_by_variance(
    position: int, mean: Array, variance: Array, scale: Array, bias: Array, epsilon: Array
) -> _Affine | None:
    if (variance + epsilon <= 0).any():
        return None
    return _normalize(position, mean, 1 / np.sqrt(variance + epsilon), scale, bias)


_STEPS: dict[str, Callable[..., _Affine | None]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "hipdnn.batchnorm_inference": _normalize,
    "hipdnn.batchnorm_inference_variance_ext": _normalize_by_variance,
}


def _per_channel(value: ir.Value, x: ir.Value) -> Array | None:
    """Returns `value` as an f64 constant per channel of `x`; None if it is not such a constant."""
    shape, channels = shape_of(value), shape_of(x)[1]
    if prod(shape) != 1 and (len(shape) != len(shape_of(x)) or prod(shape) != shape[1]):
        return None
    elements = constant_array(value)
    if elements is None or elements.size not in (1, channels):
        return None
    return elements.reshape(-1).astype(np.float64)


def _replace(op: ir.Operation, root: ir.Value, filters: Array, summand: Array) -> None:
    """Replaces `root` by the convolution with `filters`, and its sum with `summand`."""
    last = ir.OpResult(root).owner.operation
    with ir.InsertionPoint(last), last.location:
        made = build_constant(filters, element_type_of(op.operands[1]), "scaled")
        scaled = op.clone().operation
        scaled.operands[1] = made
        result = scaled.results[0]
        if summand.any():
            shape = (1, summand.size, *[1] * (len(shape_of(root)) - 2))
            element = element_type_of(root)
            wide = ir.F32Type.get() if is_narrow(element) else element
            bias = summand.astype(numpy_dtype(wide)).reshape(shape)
            bias = build_constant(bias, wide, "bias")
            result = hipdnn.pointwise(result, bias, mode="add", result_type=root.type)
    root.replace_all_uses_with(result)
