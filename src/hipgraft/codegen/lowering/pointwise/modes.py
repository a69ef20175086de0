"""The formulas of hipDNN's pointwise modes.

A formula takes the arithmetic of the compute type, the op (for its attributes) and the operands in
that type. The operands of backward modes are the gradient `dy` and the forward op's input `x`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.dialects.hipdnn import PointwiseMode as Mode
from hipgraft.dialects.hipdnn import PointwiseOp

Unary = Callable[[Arithmetic, PointwiseOp, Scalar], Scalar]
Binary = Callable[[Arithmetic, PointwiseOp, Scalar, Scalar], Scalar]

_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715


def _add_square(m: Arithmetic, op: PointwiseOp, a: Scalar, b: Scalar) -> Scalar:
    return m.add(a, m.mul(b, b))


def _elu(m: Arithmetic, op: PointwiseOp, x: Scalar) -> Scalar:
    alpha = _or(op.elu_alpha, 1)
    below = m.mul(m.constant(alpha), m.sub(m.math("exp", x), m.constant(1)))
    return m.select("gt", x, 0, x, below)


def _elu_bwd(m: Arithmetic, op: PointwiseOp, dy: Scalar, x: Scalar) -> Scalar:
    slope = m.mul(m.constant(_or(op.elu_alpha, 1)), m.math("exp", x))
    return m.mul(dy, m.select("gt", x, 0, m.constant(1), slope))


def _normal_cdf(m: Arithmetic, x: Scalar) -> Scalar:
    scaled = m.mul(x, m.constant(math.sqrt(0.5)))
    return m.affine(0.5, m.math("erf", scaled), 0.5)


def _gelu(m: Arithmetic, op: PointwiseOp, x: Scalar) -> Scalar:
    return m.mul(x, _normal_cdf(m, x))


def _gelu_bwd(m: Arithmetic, op: PointwiseOp, dy: Scalar, x: Scalar) -> Scalar:
    exponent = m.mul(m.constant(-0.5), x, x)
    density = m.mul(m.constant(1 / math.sqrt(2 * math.pi)), m.exponential(exponent))
    return m.mul(dy, m.add(_normal_cdf(m, x), m.mul(x, density)))


def _approximate_cdf(m: Arithmetic, x: Scalar) -> Scalar:
    # (1 + tanh(z)) / 2 equals the sigmoid of 2z, which is cheaper.
    cubic = m.affine(2 * _TANH_SCALE * _TANH_CUBIC, m.mul(x, x), 2 * _TANH_SCALE)
    return m.sigmoid(m.mul(x, cubic))


def _gelu_tanh(m: Arithmetic, op: PointwiseOp, x: Scalar) -> Scalar:
    return m.mul(x, _approximate_cdf(m, x))


def _gelu_tanh_bwd(m: Arithmetic, op: PointwiseOp, dy: Scalar, x: Scalar) -> Scalar:
    s = _approximate_cdf(m, x)
    inner = m.affine(6 * _TANH_CUBIC * _TANH_SCALE, m.mul(x, x), 2 * _TANH_SCALE)
    slope = m.mul(x, s, m.sub(m.constant(1), s), inner)
    return m.mul(dy, m.add(s, slope))


def _relu(m: Arithmetic, op: PointwiseOp, x: Scalar) -> Scalar:
    # Comparisons with NaN are false, so that NaN is kept; AMDGPU's maximum would return the bound.
    low, slope = _or(op.relu_lower_clip, 0), _or(op.relu_lower_clip_slope, 0)
    below = m.affine(slope, m.sub(x, m.constant(low)), low) if slope else m.constant(low)
    result = m.select("le", x, low, below, x)
    if op.relu_upper_clip is None or math.isinf(op.relu_upper_clip):
        return result
    return m.select("ge", x, op.relu_upper_clip, m.constant(op.relu_upper_clip), result)


def _relu_bwd(m: Arithmetic, op: PointwiseOp, dy: Scalar, x: Scalar) -> Scalar:
    below = m.mul(dy, m.constant(_or(op.relu_lower_clip_slope, 0)))
    result = m.select("le", x, _or(op.relu_lower_clip, 0), below, dy)
    if op.relu_upper_clip is None or math.isinf(op.relu_upper_clip):
        return result
    return m.select("gt", x, op.relu_upper_clip, m.constant(0), result)


def _sigmoid_bwd(m: Arithmetic, op: PointwiseOp, dy: Scalar, x: Scalar) -> Scalar:
    s = m.sigmoid(x)
    return m.mul(dy, s, m.sub(m.constant(1), s))


def _softplus(m: Arithmetic, op: PointwiseOp, x: Scalar) -> Scalar:
    # max(z, 0) + log1p(exp(-|z|)) does not overflow, in contrast to log(1 + exp(z)).
    beta = _or(op.softplus_beta, 1)
    z = m.mul(m.constant(beta), x)
    tail = m.math("log1p", m.math("exp", m.negate(m.absolute(z))))
    return m.div(m.add(m.maximum(z, m.constant(0)), tail), m.constant(beta))


def _softplus_bwd(m: Arithmetic, op: PointwiseOp, dy: Scalar, x: Scalar) -> Scalar:
    return m.mul(dy, m.sigmoid(m.mul(m.constant(_or(op.softplus_beta, 1)), x)))


def _swish(m: Arithmetic, op: PointwiseOp, x: Scalar) -> Scalar:
    return m.mul(x, m.sigmoid(m.mul(m.constant(_or(op.swish_beta, 1)), x)))


def _swish_bwd(m: Arithmetic, op: PointwiseOp, dy: Scalar, x: Scalar) -> Scalar:
    z = m.mul(m.constant(_or(op.swish_beta, 1)), x)
    s = m.sigmoid(z)
    return m.mul(dy, m.add(s, m.mul(z, s, m.sub(m.constant(1), s))))


def _tanh_bwd(m: Arithmetic, op: PointwiseOp, dy: Scalar, x: Scalar) -> Scalar:
    return m.mul(dy, _one_minus_square(m, m.math("tanh", x)))


def _one_minus_square(m: Arithmetic, t: Scalar) -> Scalar:
    return m.sub(m.constant(1), m.mul(t, t))


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _math(name: str) -> Unary:
    return lambda m, op, x: m.math(name, x)


def _binary(method: Callable[[Arithmetic, Scalar, Scalar], Scalar]) -> Binary:
    return lambda m, op, a, b: method(m, a, b)


UNARY: dict[Mode, Unary] = {
    Mode.ABS: lambda m, op, x: m.absolute(x),
    Mode.CEIL: _math("ceil"),
    Mode.COS: _math("cos"),
    Mode.ELU_FWD: _elu,
    Mode.ERF: _math("erf"),
    Mode.EXP: _math("exp"),
    Mode.FLOOR: _math("floor"),
    Mode.GELU_APPROX_TANH_FWD: _gelu_tanh,
    Mode.GELU_FWD: _gelu,
    Mode.LOG: _math("log"),
    Mode.NEG: lambda m, op, x: m.negate(x),
    Mode.RECIPROCAL: lambda m, op, x: m.reciprocal(x),
    Mode.RELU_FWD: _relu,
    Mode.RSQRT: _math("rsqrt"),
    Mode.SIGMOID_FWD: lambda m, op, x: m.sigmoid(x),
    Mode.SIN: _math("sin"),
    Mode.SOFTPLUS_FWD: _softplus,
    Mode.SQRT: _math("sqrt"),
    Mode.SWISH_FWD: _swish,
    Mode.TAN: _math("tan"),
    Mode.TANH_FWD: _math("tanh"),
}

BINARY: dict[Mode, Binary] = {
    Mode.ADD: _binary(Arithmetic.add),
    Mode.ADD_SQUARE: _add_square,
    Mode.DIV: _binary(Arithmetic.div),
    Mode.ELU_BWD: _elu_bwd,
    Mode.GELU_APPROX_TANH_BWD: _gelu_tanh_bwd,
    Mode.GELU_BWD: _gelu_bwd,
    Mode.MAX_OP: _binary(lambda m, a, b: m.pick("gt", a, b)),
    Mode.MIN_OP: _binary(lambda m, a, b: m.pick("lt", a, b)),
    Mode.MOD: _binary(Arithmetic.mod),
    Mode.MUL: _binary(lambda m, a, b: m.mul(a, b)),
    Mode.POW: _binary(Arithmetic.power),
    Mode.RELU_BWD: _relu_bwd,
    Mode.SIGMOID_BWD: _sigmoid_bwd,
    Mode.SOFTPLUS_BWD: _softplus_bwd,
    Mode.SUB: _binary(Arithmetic.sub),
    Mode.SWISH_BWD: _swish_bwd,
    Mode.TANH_BWD: _tanh_bwd,
}

COMPARISONS: dict[Mode, str] = {
    Mode.CMP_EQ: "eq",
    Mode.CMP_GE: "ge",
    Mode.CMP_GT: "gt",
    Mode.CMP_LE: "le",
    Mode.CMP_LT: "lt",
    Mode.CMP_NEQ: "ne",
}

LOGICAL: dict[Mode, str] = {
    Mode.LOGICAL_AND: "arith.andi",
    Mode.LOGICAL_OR: "arith.ori",
}

# The modes with integer arithmetic; other modes convert integers to floating point.
ON_INTEGERS = frozenset(
    {
        Mode.ABS,
        Mode.ADD,
        Mode.ADD_SQUARE,
        Mode.DIV,
        Mode.MAX_OP,
        Mode.MIN_OP,
        Mode.MOD,
        Mode.MUL,
        Mode.NEG,
        Mode.POW,
        Mode.RELU_FWD,
        Mode.RELU_BWD,
        Mode.SUB,
    }
)
