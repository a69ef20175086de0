"""hipDNN's pointwise modes in double precision, from their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def cdf(x: Array) -> Array:
    return 0.5 * (1 + _erf(x / math.sqrt(2)))


def pdf(x: Array) -> Array:
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_tanh_slope(x: Array) -> Array:
    step = 1e-6
    return (gelu_tanh(x + step) - gelu_tanh(x - step)) / (2 * step)


def relu(x: Array, lower: float = 0, upper: float = math.inf, slope: float = 0) -> Array:
    return np.where(x <= lower, slope * (x - lower) + lower, np.where(x >= upper, upper, x))


def relu_bwd(
    dy: Array, x: Array, lower: float = 0, upper: float = math.inf, slope: float = 0
) -> Array:
    return dy * np.where(x <= lower, slope, np.where(x > upper, 0, 1))


def elu(x: Array, alpha: float = 1) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def elu_bwd(dy: Array, x: Array, alpha: float = 1) -> Array:
    return dy * np.where(x > 0, 1, alpha * np.exp(np.minimum(x, 0)))


def softplus(x: Array, beta: float = 1) -> Array:
    return np.logaddexp(0, beta * x) / beta


def swish_bwd(dy: Array, x: Array, beta: float = 1) -> Array:
    s = sigmoid(beta * x)
    return dy * (s + beta * x * s * (1 - s))


MODES: dict[str, Callable[..., Array]] = {
    "abs": np.abs,
    "add": np.add,
    "add_square": lambda a, b: a + b * b,
    "binary_select": lambda mask, a, b: np.where(mask != 0, a, b),
    "ceil": np.ceil,
    "cmp_eq": np.equal,
    "cmp_ge": np.greater_equal,
    "cmp_gt": np.greater,
    "cmp_le": np.less_equal,
    "cmp_lt": np.less,
    "cmp_neq": np.not_equal,
    "cos": np.cos,
    "div": np.divide,
    "elu_bwd": elu_bwd,
    "elu_fwd": elu,
    "erf": _erf,
    "exp": np.exp,
    "floor": np.floor,
    "gelu_approx_tanh_bwd": lambda dy, x: dy * gelu_tanh_slope(x),
    "gelu_approx_tanh_fwd": gelu_tanh,
    "gelu_bwd": lambda dy, x: dy * (cdf(x) + x * pdf(x)),
    "gelu_fwd": lambda x: x * cdf(x),
    "gen_index": lambda x, axis: np.indices(x.shape)[axis],
    "identity": lambda x: x,
    "log": np.log,
    "logical_and": np.logical_and,
    "logical_not": np.logical_not,
    "logical_or": np.logical_or,
    "max_op": np.maximum,
    "min_op": np.minimum,
    "mod": np.fmod,
    "mul": np.multiply,
    "neg": np.negative,
    "pow": np.power,
    "reciprocal": np.reciprocal,
    "relu_bwd": relu_bwd,
    "relu_fwd": relu,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid_bwd": lambda dy, x: dy * sigmoid(x) * (1 - sigmoid(x)),
    "sigmoid_fwd": sigmoid,
    "sin": np.sin,
    "softplus_bwd": lambda dy, x, beta=1: dy * sigmoid(beta * x),
    "softplus_fwd": softplus,
    "sqrt": np.sqrt,
    "sub": np.subtract,
    "swish_bwd": swish_bwd,
    "swish_fwd": lambda x, beta=1: x * sigmoid(beta * x),
    "tan": np.tan,
    "tanh_bwd": lambda dy, x: dy * (1 - np.tanh(x) ** 2),
    "tanh_fwd": np.tanh,
}
