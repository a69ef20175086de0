"""Writes pointwise modes as ATen ops."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from hipgraft.dialects.hipdnn import HipdnnOp, PointwiseMode, PointwiseOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import is_float
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.hipdnn_to_torch.expressions import Number, Torch, tensor
from hipgraft.transforms.hipdnn_to_torch.writer import Constant


def _relu(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    """Writes `slope · (x - low) + low` up to the lower clip, x above it up to the upper clip."""
    x, p = operands[0], op.parameters
    low, slope = p.relu_lower_clip, p.relu_lower_clip_slope
    high = None if math.isinf(p.relu_upper_clip) else p.relu_upper_clip
    if not slope:
        return t.unary("clamp", x, low, high)
    if not low and high is None:
        return t.unary("leaky_relu", x, slope)
    line = t.add(t.mul(t.sub(x, low), slope), low)
    above = x if high is None else t.unary("clamp", x, None, high)
    return t.where(t.test("le", x, low), line, above)


def _select(t: Torch, _: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    mask, on_true, on_false = operands
    return t.where(t.test("ne", mask, 0), on_true, on_false)


def _elu(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    return t.unary("elu", operands[0], op.parameters.elu_alpha, 1, 1)


def _softplus(t: Torch, op: PointwiseOp, operands: Sequence[ir.Value]) -> ir.Value:
    # Above the threshold torch returns x, which is within one ulp of the exact result there.
    return t.unary("softplus", operands[0], op.parameters.softplus_beta, 20.0)


def _gen_index(t: Torch, op: PointwiseOp, _: Sequence[ir.Value]) -> ir.Value:
    shape = shape_of(op.out_0)
    return t.expand(t.positions(shape, op.axis or 0), shape)


class _Arithmetic:
    """Implements the arithmetic of expressions in ATen; constants stay Python numbers."""

    def __init__(self, t: Torch):
        self.t = t

    def constant(self, value: float) -> Number:
        return value

    def add(self, a: Number, b: Number) -> Number:
        return self.t.add(a, b)

    def sub(self, a: Number, b: Number) -> Number:
        return self.t.sub(a, b)

    def mul(self, *factors: Number) -> Number:
        rest = [one for one in factors if isinstance(one, ir.Value) or one != 1]
        return functools.reduce(self.t.mul, rest)

    def div(self, a: Number, b: Number) -> Number:
        if is_float(self.t.wide):
            return self._both("div.Tensor", a, b)
        return self._both("div.Tensor_mode", a, b, "trunc")

    def mod(self, a: Number, b: Number) -> Number:
        return self._both("fmod.Tensor", a, b)

    def power(self, a: Number, b: Number) -> Number:
        return self._both("pow.Tensor_Tensor", a, b)

    def pick(self, predicate: str, a: Number, b: Number) -> Number:
        return self._both({"gt": "maximum", "lt": "minimum"}[predicate], a, b)

    def maximum(self, a: Number, b: Number) -> Number:
        return self.pick("gt", a, b)

    def absolute(self, x: Number) -> Number:
        return self.math("abs", x)

    def negate(self, x: Number) -> Number:
        return self.math("neg", x)

    def reciprocal(self, x: Number) -> Number:
        return self.math("reciprocal", x)

    def math(self, name: str, x: Number) -> Number:
        return self.t.unary(name, tensor(x))

    def exponential(self, x: Number) -> Number:
        return self.math("exp", x)

    def sigmoid(self, x: Number) -> Number:
        return self.t.sigmoid(tensor(x))

    def affine(self, scale: float, x: Number, shift: float) -> Number:
        return self.add(self.mul(x, scale), shift)

    def compare(self, predicate: str, a: Number, b: Number) -> Number:
        return self.t.test(predicate, tensor(a), b)

    def select(self, predicate: str, x: Number, bound: float, yes: Number, no: Number) -> Number:
        return self.t.where(self.t.test(predicate, tensor(x), bound), yes, no)

    def both(self, a: Number, b: Number) -> Number:
        return self.t.both(tensor(a), tensor(b))

    def either(self, a: Number, b: Number) -> Number:
        return self.t.either(tensor(a), tensor(b))

    def _both(self, name: str, a: Number, b: Number, *rest: Constant) -> Number:
        return self.t.joined(name, tensor(a), tensor(b), *rest)


# Modes that are a single ATen op.
_NAMED: dict[str, Callable[[Torch, PointwiseOp, Sequence[ir.Value]], ir.Value]] = {
    "binary_select": _select,
    "elu_fwd": _elu,
    "gelu_fwd": lambda t, op, operands: t.unary("gelu", operands[0], "none"),
    "gelu_bwd": lambda t, op, operands: t.joined("gelu_backward", operands[0], operands[1], "none"),
    "gen_index": _gen_index,
    "relu_fwd": _relu,
    "softplus_fwd": _softplus,
}


def pointwise(t: Torch, op: HipdnnOp) -> Sequence[ir.Value]:
    """Writes a mode in the arithmetic's type, as hipDNN computes it."""
    assert isinstance(op, PointwiseOp)
    if op.mode is PointwiseMode.IDENTITY:
        return [t.read(op.in_0, wide=False)]
    info, operands = op.mode.info, [t.read(value) for value in op.inputs]
    if op.mode in _NAMED:
        return [_NAMED[op.mode](t, op, operands)]
    if info.unary is not None:
        return [tensor(info.unary(_Arithmetic(t), op.parameters, *operands))]
    if info.binary is not None:
        return [tensor(info.binary(_Arithmetic(t), op.parameters, *operands))]
    raise Declined("mode", f"torch has no op for mode '{op.mode}'")
