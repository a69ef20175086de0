"""Recognises GELU, in both forms, and swish from their arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.recognition.polynomials import is_close, polynomial
from hipgraft.transforms.recognition.values import (
    Rules,
    check_interior,
    mode_of,
    only_reader,
    splat_value,
    through_widenings,
)

_Coefficients = Mapping[tuple[int, ...], float]

_SLOPE = math.sqrt(2 / math.pi)
_TANH_ARGUMENT: _Coefficients = {(1,): _SLOPE, (3,): 0.044715 * _SLOPE}
_ERF_ARGUMENT: _Coefficients = {(1,): math.sqrt(0.5)}
# The polynomial x / 2 · (1 + t) of x and t, the error function or the hyperbolic tangent.
_GELU: _Coefficients = {(1, 0): 0.5, (1, 1): 0.5}
_SWISH: _Coefficients = {(1, 1): 1.0}

_LONGEST_ASCENT = 4


def recognize_gelu(op: ir.Operation, rules: Rules) -> str | None:
    """Replaces `x / 2 · (1 + erf(x / √2))`; `op` is the error function."""
    x = _unknown(op, _ERF_ARGUMENT)
    if x is None:
        return None
    root = _root(op, x, _GELU)
    if root is None:
        raise Declined("no-gelu", "erf(x / √2) is not followed by x / 2 · (1 + erf)")
    return _replace(root, x, "gelu_fwd", rules)


def recognize_tanh_gelu(op: ir.Operation, rules: Rules) -> str | None:
    """Replaces `x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))`; `op` is the tanh."""
    x = _unknown(op, _TANH_ARGUMENT)
    if x is None:
        return None
    root = _root(op, x, _GELU)
    if root is None:
        raise Declined("no-gelu", "the tanh of a gelu is not followed by x / 2 · (1 + tanh)")
    return _replace(root, x, "gelu_approx_tanh_fwd", rules)


def recognize_swish(op: ir.Operation, rules: Rules) -> str | None:
    """Replaces `x · σ(beta · x)`; `op` is the sigmoid. A sigmoid alone is not a near miss."""
    for x in _candidates(op.operands[0]):
        terms = polynomial(op.operands[0], [x])
        root = None if terms is None or terms.keys() != {(1,)} else _root(op, x, _SWISH)
        if root is not None and terms is not None:
            beta = terms[(1,)]
            return _replace(root, x, "swish_fwd", rules, None if beta == 1 else beta)
    return None


def _unknown(op: ir.Operation, argument: _Coefficients) -> ir.Value | None:
    """Returns the value of which the op's operand is the polynomial `argument`, if any."""
    tolerance = _tolerance(op)
    for x in _candidates(op.operands[0]):
        if is_close(polynomial(op.operands[0], [x]), argument, tolerance):
            return x
    return None


def _candidates(value: ir.Value) -> Iterator[ir.Value]:
    """Yields the values that may be the unknown of a polynomial expression, outermost first."""
    level = [through_widenings(value)]
    for _ in range(_LONGEST_ASCENT + 1):
        yield from level
        made = [op for op in map(defining_op, level) if mode_of(op) is not None and op is not None]
        inner = [through_widenings(operand) for op in made for operand in op.operands]
        level = list(dict.fromkeys(value for value in inner if splat_value(value) is None))


def _root(op: ir.Operation, x: ir.Value, expected: _Coefficients) -> ir.Value | None:
    """Returns the indirect user of `op` that is the polynomial `expected` of x and its result."""
    t, value = op.results[0], op.results[0]
    for _ in range(_LONGEST_ASCENT):
        reader = only_reader(value)
        # Its other reader may be a cast to torch instead of arithmetic on builtin tensors.
        if reader is None or mode_of(reader) is None:
            return None
        value = reader.results[0]
        if shape_of(value) != shape_of(x):
            return None
        if is_close(polynomial(value, [x, t]), expected, _tolerance(op)):
            return value
    return None


def _tolerance(op: ir.Operation) -> float:
    """Returns the relative error of a product of two constants of the op's type."""
    element = element_type_of(op.results[0])
    if isinstance(element, ir.F16Type):
        return 2.0**-9
    return 2.0**-6 if isinstance(element, ir.BF16Type) else 2.0**-19


def _replace(
    root: ir.Value, x: ir.Value, mode: str, rules: Rules, beta: float | None = None
) -> str:
    """Builds the activation before the op that ends the arithmetic, and replaces that op."""
    check_interior(root, [x], rules)
    end = defining_op(root)
    assert end is not None
    with ir.InsertionPoint(end):
        y = hipdnn.pointwise(
            x,
            mode=mode,
            swish_beta=beta,
            result_type=root.type,
            loc=end.location,
        )
    root.replace_all_uses_with(y)
    return mode
