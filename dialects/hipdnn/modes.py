"""Defines the operands, the attributes and the expression of each pointwise mode."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from hipgraft.dialects.hipdnn.arithmetic import Arithmetic, Binary, ModeParameters, Unary, V

_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715


@dataclass(frozen=True)
class ModeInfo:
    """A pointwise mode.

    Attributes:
        operands: roles of `in_0`, `in_1`, `in_2`; their number is the mode's arity.
        formula: definition of `out_0`, for the documentation.
        attributes: names of the attributes that the mode uses.
        unary: expression of a mode with one operand.
        binary: expression of a mode with two operands.
        predicate: whether the result is boolean.
        on_truth: whether operands are first converted to booleans.
        on_integers: whether integers are computed as integers, not converted to floats.
        file_order: order of operands in hipDNN's files, if it differs.
    """

    operands: tuple[str, ...]
    formula: str
    attributes: tuple[str, ...] = ()
    unary: Unary | None = None
    binary: Binary | None = None
    predicate: bool = False
    on_truth: bool = False
    on_integers: bool = False
    file_order: tuple[str, ...] | None = None


def _add_square(m: Arithmetic[V], p: ModeParameters, a: V, b: V) -> V:
    return m.add(a, m.mul(b, b))


def _elu(m: Arithmetic[V], p: ModeParameters, x: V) -> V:
    alpha = p.elu_alpha
    below = m.mul(m.constant(alpha), m.sub(m.math("exp", x), m.constant(1)))
    return m.select("gt", x, 0, x, below)


def _elu_bwd(m: Arithmetic[V], p: ModeParameters, dy: V, x: V) -> V:
    slope = m.mul(m.constant(p.elu_alpha), m.math("exp", x))
    return m.mul(dy, m.select("gt", x, 0, m.constant(1), slope))


def _normal_cdf(m: Arithmetic[V], x: V) -> V:
    scaled = m.mul(x, m.constant(math.sqrt(0.5)))
    return m.affine(0.5, m.math("erf", scaled), 0.5)


def _gelu(m: Arithmetic[V], p: ModeParameters, x: V) -> V:
    return m.mul(x, _normal_cdf(m, x))


def _gelu_bwd(m: Arithmetic[V], p: ModeParameters, dy: V, x: V) -> V:
    exponent = m.mul(m.constant(-0.5), x, x)
    density = m.mul(m.constant(1 / math.sqrt(2 * math.pi)), m.exponential(exponent))
    return m.mul(dy, m.add(_normal_cdf(m, x), m.mul(x, density)))


def _approximate_cdf(m: Arithmetic[V], x: V) -> V:
    # (1 + tanh(z)) / 2 equals the sigmoid of 2z, which is cheaper to compute.
    cubic = m.affine(2 * _TANH_SCALE * _TANH_CUBIC, m.mul(x, x), 2 * _TANH_SCALE)
    return m.sigmoid(m.mul(x, cubic))


def _gelu_tanh(m: Arithmetic[V], p: ModeParameters, x: V) -> V:
    return m.mul(x, _approximate_cdf(m, x))


def _gelu_tanh_bwd(m: Arithmetic[V], p: ModeParameters, dy: V, x: V) -> V:
    s = _approximate_cdf(m, x)
    inner = m.affine(6 * _TANH_CUBIC * _TANH_SCALE, m.mul(x, x), 2 * _TANH_SCALE)
    slope = m.mul(x, s, m.sub(m.constant(1), s), inner)
    return m.mul(dy, m.add(s, slope))


def _relu(m: Arithmetic[V], p: ModeParameters, x: V) -> V:
    # Comparisons with NaN are false, so that NaN is kept; AMDGPU's maximum would return the bound.
    low, slope = p.relu_lower_clip, p.relu_lower_clip_slope
    below = m.affine(slope, m.sub(x, m.constant(low)), low) if slope else m.constant(low)
    result = m.select("le", x, low, below, x)
    if math.isinf(p.relu_upper_clip):
        return result
    return m.select("ge", x, p.relu_upper_clip, m.constant(p.relu_upper_clip), result)


def _relu_bwd(m: Arithmetic[V], p: ModeParameters, dy: V, x: V) -> V:
    below = m.mul(dy, m.constant(p.relu_lower_clip_slope))
    result = m.select("le", x, p.relu_lower_clip, below, dy)
    if math.isinf(p.relu_upper_clip):
        return result
    return m.select("gt", x, p.relu_upper_clip, m.constant(0), result)


def _sigmoid_bwd(m: Arithmetic[V], p: ModeParameters, dy: V, x: V) -> V:
    s = m.sigmoid(x)
    return m.mul(dy, s, m.sub(m.constant(1), s))


def _softplus(m: Arithmetic[V], p: ModeParameters, x: V) -> V:
    # max(z, 0) + log1p(exp(-|z|)) does not overflow, in contrast to log(1 + exp(z)).
    beta = p.softplus_beta
    z = m.mul(m.constant(beta), x)
    tail = m.math("log1p", m.math("exp", m.negate(m.absolute(z))))
    return m.div(m.add(m.maximum(z, m.constant(0)), tail), m.constant(beta))


def _softplus_bwd(m: Arithmetic[V], p: ModeParameters, dy: V, x: V) -> V:
    return m.mul(dy, m.sigmoid(m.mul(m.constant(p.softplus_beta), x)))


def _swish(m: Arithmetic[V], p: ModeParameters, x: V) -> V:
    return m.mul(x, m.sigmoid(m.mul(m.constant(p.swish_beta), x)))


def _swish_bwd(m: Arithmetic[V], p: ModeParameters, dy: V, x: V) -> V:
    z = m.mul(m.constant(p.swish_beta), x)
    s = m.sigmoid(z)
    return m.mul(dy, m.add(s, m.mul(z, s, m.sub(m.constant(1), s))))


def _tanh_bwd(m: Arithmetic[V], p: ModeParameters, dy: V, x: V) -> V:
    return m.mul(dy, _one_minus_square(m, m.math("tanh", x)))


def _one_minus_square(m: Arithmetic[V], t: V) -> V:
    return m.sub(m.constant(1), m.mul(t, t))


def _math(name: str) -> Unary:
    def expression(m: Arithmetic[V], p: ModeParameters, x: V) -> V:
        return m.math(name, x)

    return expression


_RELU = ("relu_lower_clip", "relu_upper_clip", "relu_lower_clip_slope")
_X = ("x",)
_AB = ("a", "b")
_DY_X = ("dy", "x")


def _comparison(sign: str, predicate: str) -> ModeInfo:
    def expression(m: Arithmetic[V], p: ModeParameters, a: V, b: V) -> V:
        return m.compare(predicate, a, b)

    return ModeInfo(_AB, f"a {sign} b", binary=expression, predicate=True, on_integers=True)


class PointwiseMode(StrEnum):
    """What a pointwise op computes."""

    info: ModeInfo

    def __new__(cls, name: str, info: ModeInfo) -> Self:
        """Creates the mode `name`."""
        mode = str.__new__(cls, name)
        mode._value_ = name
        mode.info = info
        return mode

    ABS = "abs", ModeInfo(_X, "|x|", unary=lambda m, p, x: m.absolute(x), on_integers=True)
    ADD = "add", ModeInfo(_AB, "a + b", binary=lambda m, p, a, b: m.add(a, b), on_integers=True)
    ADD_SQUARE = "add_square", ModeInfo(_AB, "a + b²", binary=_add_square, on_integers=True)
    BINARY_SELECT = (
        "binary_select",
        ModeInfo(
            ("mask", "on_true", "on_false"),
            "on_true where mask ≠ 0, else on_false",
            file_order=("on_true", "on_false", "mask"),
        ),
    )
    CEIL = "ceil", ModeInfo(_X, "⌈x⌉", unary=_math("ceil"))
    CMP_EQ = "cmp_eq", _comparison("=", "eq")
    CMP_GE = "cmp_ge", _comparison("≥", "ge")
    CMP_GT = "cmp_gt", _comparison(">", "gt")
    CMP_LE = "cmp_le", _comparison("≤", "le")
    CMP_LT = "cmp_lt", _comparison("<", "lt")
    CMP_NEQ = "cmp_neq", _comparison("≠", "ne")
    COS = "cos", ModeInfo(_X, "cos x", unary=_math("cos"))
    DIV = "div", ModeInfo(_AB, "a / b", binary=lambda m, p, a, b: m.div(a, b), on_integers=True)
    ELU_BWD = "elu_bwd", ModeInfo(_DY_X, "dy · elu'(x)", ("elu_alpha",), binary=_elu_bwd)
    ELU_FWD = (
        "elu_fwd",
        ModeInfo(_X, "x where x > 0, else elu_alpha · (eˣ - 1)", ("elu_alpha",), unary=_elu),
    )
    ERF = "erf", ModeInfo(_X, "erf x", unary=_math("erf"))
    EXP = "exp", ModeInfo(_X, "eˣ", unary=_math("exp"))
    FLOOR = "floor", ModeInfo(_X, "⌊x⌋", unary=_math("floor"))
    GELU_APPROX_TANH_BWD = (
        "gelu_approx_tanh_bwd",
        ModeInfo(_DY_X, "dy · gelu_approx_tanh'(x)", binary=_gelu_tanh_bwd),
    )
    GELU_APPROX_TANH_FWD = (
        "gelu_approx_tanh_fwd",
        ModeInfo(_X, "x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))", unary=_gelu_tanh),
    )
    GELU_BWD = "gelu_bwd", ModeInfo(_DY_X, "dy · gelu'(x)", binary=_gelu_bwd)
    GELU_FWD = "gelu_fwd", ModeInfo(_X, "x/2 · (1 + erf(x / √2))", unary=_gelu)
    GEN_INDEX = "gen_index", ModeInfo(_X, "index along axis, in the shape of x", ("axis",))
    IDENTITY = "identity", ModeInfo(_X, "x, converted to the result's type")
    LOG = "log", ModeInfo(_X, "ln x", unary=_math("log"))
    LOGICAL_AND = (
        "logical_and",
        ModeInfo(
            _AB,
            "a ≠ 0 and b ≠ 0",
            binary=lambda m, p, a, b: m.both(a, b),
            predicate=True,
            on_truth=True,
        ),
    )
    LOGICAL_NOT = (
        "logical_not",
        ModeInfo(
            _X,
            "x = 0",
            unary=lambda m, p, x: m.compare("eq", x, m.constant(0)),
            predicate=True,
            on_truth=True,
        ),
    )
    LOGICAL_OR = (
        "logical_or",
        ModeInfo(
            _AB,
            "a ≠ 0 or b ≠ 0",
            binary=lambda m, p, a, b: m.either(a, b),
            predicate=True,
            on_truth=True,
        ),
    )
    MAX_OP = (
        "max_op",
        ModeInfo(
            _AB,
            "larger of a and b",
            binary=lambda m, p, a, b: m.pick("gt", a, b),
            on_integers=True,
        ),
    )
    MIN_OP = (
        "min_op",
        ModeInfo(
            _AB,
            "smaller of a and b",
            binary=lambda m, p, a, b: m.pick("lt", a, b),
            on_integers=True,
        ),
    )
    MOD = (
        "mod",
        ModeInfo(
            _AB, "remainder of a / b", binary=lambda m, p, a, b: m.mod(a, b), on_integers=True
        ),
    )
    MUL = "mul", ModeInfo(_AB, "a · b", binary=lambda m, p, a, b: m.mul(a, b), on_integers=True)
    NEG = "neg", ModeInfo(_X, "-x", unary=lambda m, p, x: m.negate(x), on_integers=True)
    POW = "pow", ModeInfo(_AB, "aᵇ", binary=lambda m, p, a, b: m.power(a, b), on_integers=True)
    RECIPROCAL = "reciprocal", ModeInfo(_X, "1 / x", unary=lambda m, p, x: m.reciprocal(x))
    RELU_BWD = (
        "relu_bwd",
        ModeInfo(
            _DY_X,
            "dy · slope where x ≤ lower, 0 where x > upper, else dy",
            _RELU,
            binary=_relu_bwd,
            on_integers=True,
        ),
    )
    RELU_FWD = (
        "relu_fwd",
        ModeInfo(
            _X,
            "slope · (x - lower) + lower where x ≤ lower, upper where x ≥ upper, else x",
            _RELU,
            unary=_relu,
            on_integers=True,
        ),
    )
    RSQRT = "rsqrt", ModeInfo(_X, "1 / √x", unary=_math("rsqrt"))
    SIGMOID_BWD = (
        "sigmoid_bwd",
        ModeInfo(_DY_X, "dy · σ(x) · (1 - σ(x))", binary=_sigmoid_bwd),
    )
    SIGMOID_FWD = (
        "sigmoid_fwd",
        ModeInfo(_X, "σ(x) = 1 / (1 + e⁻ˣ)", unary=lambda m, p, x: m.sigmoid(x)),
    )
    SIN = "sin", ModeInfo(_X, "sin x", unary=_math("sin"))
    SOFTPLUS_BWD = (
        "softplus_bwd",
        ModeInfo(_DY_X, "dy · σ(softplus_beta · x)", ("softplus_beta",), binary=_softplus_bwd),
    )
    SOFTPLUS_FWD = (
        "softplus_fwd",
        ModeInfo(
            _X,
            "ln(1 + exp(softplus_beta · x)) / softplus_beta",
            ("softplus_beta",),
            unary=_softplus,
        ),
    )
    SQRT = "sqrt", ModeInfo(_X, "√x", unary=_math("sqrt"))
    SUB = "sub", ModeInfo(_AB, "a - b", binary=lambda m, p, a, b: m.sub(a, b), on_integers=True)
    SWISH_BWD = "swish_bwd", ModeInfo(_DY_X, "dy · swish'(x)", ("swish_beta",), binary=_swish_bwd)
    SWISH_FWD = "swish_fwd", ModeInfo(_X, "x · σ(swish_beta · x)", ("swish_beta",), unary=_swish)
    TAN = "tan", ModeInfo(_X, "tan x", unary=_math("tan"))
    TANH_BWD = (
        "tanh_bwd",
        ModeInfo(_DY_X, "dy · (1 - tanh² x)", binary=_tanh_bwd),
    )
    TANH_FWD = "tanh_fwd", ModeInfo(_X, "tanh x", unary=_math("tanh"))
