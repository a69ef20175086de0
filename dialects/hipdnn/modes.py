"""The operands and the formula of each pointwise mode."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.dialects.hipdnn.enums import PointwiseMode

_RELU = ("relu_lower_clip", "relu_upper_clip", "relu_lower_clip_slope")
_X = ("x",)
_AB = ("a", "b")
_DY_X = ("dy", "x")


@dataclass(frozen=True)
class ModeInfo:
    """A pointwise mode.

    Attributes:
        operands: what `in_0`, `in_1`, `in_2` are; their number is the mode's arity.
        formula: what `out_0` is.
        attributes: names of the attributes that mean something in the mode.
        predicate: whether the result is true or false.
    """

    operands: tuple[str, ...]
    formula: str
    attributes: tuple[str, ...] = ()
    predicate: bool = False


MODES: dict[PointwiseMode, ModeInfo] = {
    PointwiseMode.ABS: ModeInfo(_X, "|x|"),
    PointwiseMode.ADD: ModeInfo(_AB, "a + b"),
    PointwiseMode.ADD_SQUARE: ModeInfo(_AB, "a + b²"),
    PointwiseMode.BINARY_SELECT: ModeInfo(
        ("mask", "on_true", "on_false"), "on_true where mask ≠ 0, else on_false"
    ),
    PointwiseMode.CEIL: ModeInfo(_X, "⌈x⌉"),
    PointwiseMode.CMP_EQ: ModeInfo(_AB, "a = b", predicate=True),
    PointwiseMode.CMP_GE: ModeInfo(_AB, "a ≥ b", predicate=True),
    PointwiseMode.CMP_GT: ModeInfo(_AB, "a > b", predicate=True),
    PointwiseMode.CMP_LE: ModeInfo(_AB, "a ≤ b", predicate=True),
    PointwiseMode.CMP_LT: ModeInfo(_AB, "a < b", predicate=True),
    PointwiseMode.CMP_NEQ: ModeInfo(_AB, "a ≠ b", predicate=True),
    PointwiseMode.COS: ModeInfo(_X, "cos x"),
    PointwiseMode.DIV: ModeInfo(_AB, "a / b"),
    PointwiseMode.ELU_BWD: ModeInfo(_DY_X, "dy · elu'(x)", ("elu_alpha",)),
    PointwiseMode.ELU_FWD: ModeInfo(_X, "x where x > 0, else elu_alpha · (eˣ - 1)", ("elu_alpha",)),
    PointwiseMode.ERF: ModeInfo(_X, "erf x"),
    PointwiseMode.EXP: ModeInfo(_X, "eˣ"),
    PointwiseMode.FLOOR: ModeInfo(_X, "⌊x⌋"),
    PointwiseMode.GELU_APPROX_TANH_BWD: ModeInfo(_DY_X, "dy · gelu_approx_tanh'(x)"),
    PointwiseMode.GELU_APPROX_TANH_FWD: ModeInfo(
        _X, "x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))"
    ),
    PointwiseMode.GELU_BWD: ModeInfo(_DY_X, "dy · gelu'(x)"),
    PointwiseMode.GELU_FWD: ModeInfo(_X, "x/2 · (1 + erf(x / √2))"),
    PointwiseMode.GEN_INDEX: ModeInfo(_X, "index along axis, in the shape of x", ("axis",)),
    PointwiseMode.IDENTITY: ModeInfo(_X, "x, converted to the result's type"),
    PointwiseMode.LOG: ModeInfo(_X, "ln x"),
    PointwiseMode.LOGICAL_AND: ModeInfo(_AB, "a ≠ 0 and b ≠ 0", predicate=True),
    PointwiseMode.LOGICAL_NOT: ModeInfo(_X, "x = 0", predicate=True),
    PointwiseMode.LOGICAL_OR: ModeInfo(_AB, "a ≠ 0 or b ≠ 0", predicate=True),
    PointwiseMode.MAX_OP: ModeInfo(_AB, "larger of a and b"),
    PointwiseMode.MIN_OP: ModeInfo(_AB, "smaller of a and b"),
    PointwiseMode.MOD: ModeInfo(_AB, "remainder of a / b"),
    PointwiseMode.MUL: ModeInfo(_AB, "a · b"),
    PointwiseMode.NEG: ModeInfo(_X, "-x"),
    PointwiseMode.POW: ModeInfo(_AB, "aᵇ"),
    PointwiseMode.RECIPROCAL: ModeInfo(_X, "1 / x"),
    PointwiseMode.RELU_BWD: ModeInfo(
        _DY_X, "dy · slope where x ≤ lower, 0 where x > upper, else dy", _RELU
    ),
    PointwiseMode.RELU_FWD: ModeInfo(
        _X, "slope · (x - lower) + lower where x ≤ lower, upper where x ≥ upper, else x", _RELU
    ),
    PointwiseMode.RSQRT: ModeInfo(_X, "1 / √x"),
    PointwiseMode.SIGMOID_BWD: ModeInfo(_DY_X, "dy · σ(x) · (1 - σ(x))"),
    PointwiseMode.SIGMOID_FWD: ModeInfo(_X, "σ(x) = 1 / (1 + e⁻ˣ)"),
    PointwiseMode.SIN: ModeInfo(_X, "sin x"),
    PointwiseMode.SOFTPLUS_BWD: ModeInfo(_DY_X, "dy · σ(softplus_beta · x)", ("softplus_beta",)),
    PointwiseMode.SOFTPLUS_FWD: ModeInfo(
        _X, "ln(1 + exp(softplus_beta · x)) / softplus_beta", ("softplus_beta",)
    ),
    PointwiseMode.SQRT: ModeInfo(_X, "√x"),
    PointwiseMode.SUB: ModeInfo(_AB, "a - b"),
    PointwiseMode.SWISH_BWD: ModeInfo(_DY_X, "dy · swish'(x)", ("swish_beta",)),
    PointwiseMode.SWISH_FWD: ModeInfo(_X, "x · σ(swish_beta · x)", ("swish_beta",)),
    PointwiseMode.TAN: ModeInfo(_X, "tan x"),
    PointwiseMode.TANH_BWD: ModeInfo(_DY_X, "dy · (1 - tanh² x)"),
    PointwiseMode.TANH_FWD: ModeInfo(_X, "tanh x"),
}
