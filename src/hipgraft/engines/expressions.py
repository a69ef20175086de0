"""Evaluates the expressions of rules: a subset of Python's, without loops and side effects.

An expression such as `a.dims[-2] % 16 == 0 and absent(attn_mask)` may contain names, attributes of
tensors, indices, numbers, texts, lists, arithmetic, comparisons, `and`, `or`, `not` and the
functions in `FUNCTIONS`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from hipgraft.engines.graph import Node, Tensor
from hipgraft.engines.wording import shown_value

LENGTH = 1000
"""The most characters of an expression."""

Scope = Callable[[str], Any]
"""Returns the value of a name."""


def _present(value: Any) -> bool:
    return value is not None and value != []


def _absent(value: Any) -> bool:
    return not _present(value)


def _product(values: list[int]) -> int:
    return prod(values)


def _starts_with(text: str, start: str) -> bool:
    return text.startswith(start)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "absent": _absent,
    "len": len,
    "max": max,
    "min": min,
    "present": _present,
    "product": _product,
    "starts_with": _starts_with,
    "sum": sum,
}

TENSOR_ATTRIBUTES = ("type", "rank", "dims", "strides", "size", "virtual", "constant")

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: _number(a) * _number(b),
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: _number(a) % b,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: lambda a: not a,
    ast.USub: lambda a: -a,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def _number(value: Any) -> Any:
    # Multiplying a text or list by a number could make it arbitrarily long.
    if not isinstance(value, int | float):
        raise TypeError(f"{value} is no number")
    return value


class ExpressionError(ValueError):
    """A text is not a valid expression of a rule."""


class Expression:
    """A parsed expression.

    Attributes:
        text: text of the expression.
        paths: the names in it with their attributes, e.g. `("a", "dims")`, in order.
    """

    def __init__(self, text: str):
        """Parses an expression.

        Raises:
            ExpressionError: the text is malformed, or has a form that rules do not support.
        """
        self.text = text
        if len(text) > LENGTH:
            raise ExpressionError(f"it has more than {LENGTH} characters")
        try:
            self._body = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            why = error.msg if isinstance(error, SyntaxError) else str(error)
            raise ExpressionError(f"'{text}' is no expression: {why}") from None
        self.paths: list[tuple[str, ...]] = []
        self._check(self._body)

    def holds(self, scope: Scope) -> bool:
        """Returns whether the expression is true; an expression without a value is false."""
        try:
            return bool(_value(self._body, scope))
        except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
            return False

    def found(self, scope: Scope) -> str:
        """Returns the values of its names as messages show them."""
        shown: dict[str, str] = {}
        for path in self.paths:
            value = scope(path[0])
            for name in path[1:]:
                value = attribute(value, name)
            if not isinstance(value, Tensor | Node | type(None)) and not _are_tensors(value):
                shown[".".join(path)] = shown_value(value)
        return ", ".join(f"{name} = {value}" for name, value in shown.items())

    def _check(self, node: ast.expr) -> None:
        """Checks an expression recursively, and records the names."""
        if isinstance(node, ast.Name | ast.Attribute):
            path = tuple(_path(node))
            if path not in self.paths:
                self.paths.append(path)
            return
        _check_form(node)
        if isinstance(node, ast.Call):
            inner: Sequence[ast.AST] = node.args
        else:
            inner = list(ast.iter_child_nodes(node))
        for one in inner:
            if isinstance(one, ast.expr):
                self._check(one)


def _path(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id.removesuffix("_")]
    if isinstance(node, ast.Attribute):
        return [*_path(node.value), node.attr.removesuffix("_")]
    raise ExpressionError(f"'{ast.unparse(node)}' has no attributes")


def _check_form(node: ast.expr) -> None:
    allowed = (
        ast.BoolOp,
        ast.UnaryOp,
        ast.BinOp,
        ast.Compare,
        ast.Call,
        ast.Subscript,
        ast.Slice,
        ast.List,
        ast.Tuple,
        ast.Constant,
    )
    text = ast.unparse(node)
    if not isinstance(node, allowed):
        raise ExpressionError(f"'{text}' is not allowed in rules")
    if isinstance(node, ast.Call) and (
        not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords
    ):
        raise ExpressionError(f"'{text}' calls none of {', '.join(FUNCTIONS)}")
    operators: list[Any] = [getattr(node, "op", None), *getattr(node, "ops", ())]
    known = (*_ARITHMETIC, *_UNARY, *_COMPARISONS, ast.And, ast.Or, type(None))
    if not all(isinstance(one, known) for one in operators):
        raise ExpressionError(f"'{text}' has an operator that rules do not have")


def _value(node: ast.expr, scope: Scope) -> Any:
    return _VALUES[type(node)](node, scope)


def _bool_op(node: Any, scope: Scope) -> Any:
    results = (_value(one, scope) for one in node.values)
    return all(results) if isinstance(node.op, ast.And) else any(results)


def _compare(node: Any, scope: Scope) -> bool:
    left = _value(node.left, scope)
    for operator, one in zip(node.ops, node.comparators, strict=True):
        right = _value(one, scope)
        if not _COMPARISONS[type(operator)](left, right):
            return False
        left = right
    return True


def _call(node: Any, scope: Scope) -> Any:
    return FUNCTIONS[node.func.id](*(_value(one, scope) for one in node.args))


def _binary(node: Any, scope: Scope) -> Any:
    return _ARITHMETIC[type(node.op)](_value(node.left, scope), _value(node.right, scope))


def _slice(node: Any, scope: Scope) -> slice:
    bounds = (node.lower, node.upper, node.step)
    return slice(*(None if one is None else _value(one, scope) for one in bounds))


_VALUES: dict[type[ast.expr], Callable[[Any, Scope], Any]] = {
    ast.Name: lambda node, scope: scope(node.id.removesuffix("_")),
    ast.Attribute: lambda node, scope: attribute(
        _value(node.value, scope), node.attr.removesuffix("_")
    ),
    ast.Constant: lambda node, scope: node.value,
    ast.List: lambda node, scope: [_value(one, scope) for one in node.elts],
    ast.Tuple: lambda node, scope: [_value(one, scope) for one in node.elts],
    ast.BoolOp: _bool_op,
    ast.UnaryOp: lambda node, scope: _UNARY[type(node.op)](_value(node.operand, scope)),
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.Call: _call,
    ast.Subscript: lambda node, scope: _value(node.value, scope)[_value(node.slice, scope)],
    ast.Slice: _slice,
}


def attribute(value: Any, name: str) -> Any:
    """Returns an attribute of a tensor, or a tensor or attribute of a node; maps None to None."""
    if isinstance(value, Node):
        return value.value(name)
    return None if value is None else getattr(value, name)


def _are_tensors(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, Tensor) for one in value)  # pyright: ignore[reportUnknownVariableType]
