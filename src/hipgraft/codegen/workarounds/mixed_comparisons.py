"""Comparisons of a tensor with a number of the other kind."""

from __future__ import annotations

import math

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.io import walk
from hipgraft.ir.torch_dialect import (
    aten_name,
    constant_float,
    constant_int,
    extents_and_element,
    torch_op,
)

MIXED_COMPARISONS = Workaround(
    name="mixed-comparisons",
    fault="torch-mlir folds the comparison of a constant tensor of floats with an integer, or of "
    "integers with a float, to a malformed constant.",
    effect=Effect.CRASH,
    targets="all",
    remedy="The number becomes one of the tensor's kind, and the comparison stays equivalent.",
)

_ORDERS = ("gt", "ge", "lt", "le", "eq", "ne")
_NAMES = {f"aten.{order}.Scalar": order for order in _ORDERS}
_ABOVE = {"gt": "never", "ge": "never", "eq": "never", "lt": "always", "le": "always"}
_BELOW = {"gt": "always", "ge": "always", "eq": "never", "lt": "never", "le": "never"}
_BETWEEN = {"gt": "gt", "ge": "gt", "lt": "le", "le": "le", "eq": "never"}


def match_numbers(module: ir.Module) -> None:
    """Makes each constant that a tensor is compared with one of the tensor's kind, in place."""
    for op in [op for op in walk(module.operation) if mixes_kinds(op)]:
        x, number = op.operands
        value = _number(number)
        _, element = extents_and_element(x.type) or ([], "")
        order = _NAMES[aten_name(op) or ""]
        with ir.InsertionPoint(op), op.location:
            if "f" in element:
                made = constant_float(float(value))
            else:
                order, whole = whole_comparison(order, value, element)
                made = constant_int(whole)
            found = torch_op(f"aten.{order}.Scalar", [x, made], [op.results[0].type])
        op.results[0].replace_all_uses_with(found.result)
        op.erase()


@MIXED_COMPARISONS.avoids
def mixes_kinds(op: ir.Operation) -> bool:
    """Whether an op compares a tensor with a constant of the other kind."""
    if aten_name(op) not in _NAMES:
        return False
    x, number = op.operands
    maker = defining_op(number)
    _, element = extents_and_element(x.type) or ([], "i1")
    kinds = {"torch.constant.int": "f" in element, "torch.constant.float": "f" not in element}
    return maker is not None and element != "i1" and kinds.get(maker.name, False)


def _number(value: ir.Value) -> float:
    maker = defining_op(value)
    assert maker is not None
    attribute = maker.attributes["value"]
    is_float = maker.name == "torch.constant.float"
    return ir.FloatAttr(attribute).value if is_float else ir.IntegerAttr(attribute).value


def whole_comparison(order: str, value: float, element: str) -> tuple[str, int]:
    """Returns the comparison of integers that is equivalent to one with a float.

    Args:
        order: `gt`, `ge`, `lt`, `le`, `eq` or `ne`.
        value: the float.
        element: the integers' type, as `si64`.
    """
    bits, is_signed = bit_width(element) or 64, not element.startswith("u")
    least = -(1 << (bits - 1)) if is_signed else 0
    most = least + (1 << bits) - 1
    if math.isnan(value):
        found = "always" if order == "ne" else "never"
    elif value > most:
        found = _ABOVE.get(order, "always")
    elif value < least:
        found = _BELOW.get(order, "always")
    elif value == math.floor(value):
        found = order
    else:
        found = _BETWEEN.get(order, "always")
    if found in ("never", "always"):
        return ("lt" if found == "never" else "ge"), least
    return found, math.floor(value)
