"""Writes the single ops of a region's body as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hipgraft.ir.element_types import is_float

_INFINITY = {"f64": "0x7FF0000000000000", "f32": "0x7F800000", "f16": "0x7C00", "bf16": "0x7F80"}
_MINUS_INFINITY = {
    "f64": "0xFFF0000000000000",
    "f32": "0xFF800000",
    "f16": "0xFC00",
    "bf16": "0xFF80",
}


def literal(value: float, element: str) -> str:
    """Returns the text of a constant; MLIR needs a decimal point and hexadecimal infinities."""
    if not is_float(element):
        return str(int(value))
    if math.isinf(value):
        return (_INFINITY if value > 0 else _MINUS_INFINITY)[element]
    digits = 17 if element == "f64" else 9
    text = f"{float(value):.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{mantissa}e{exponent}" if exponent else mantissa


@dataclass(frozen=True)
class Scalar:
    """An SSA value of scalar type."""

    name: str
    type: str


@dataclass
class ScalarBuilder:
    """Collects the lines of a region's body; constants are written before the enclosing op."""

    make_constant: Callable[[float | int, str], Scalar]
    loops: Sequence[int] | None = None
    """The dim that each loop of the enclosing op runs over; None if loops have no dims."""
    lines: list[str] = field(default_factory=list[str])

    def op(
        self, name: str, *operands: Scalar, result: str | None = None, flags: str = ""
    ) -> Scalar:
        """Emits an op with the assembly format `name operands : type`.

        Args:
            name: such as `arith.addf`, with any attributes after it.
            operands: operands, all of one type.
            result: type of the result, that of the operands if None.
            flags: such as `fastmath<afn>`.
        """
        names = " ".join([", ".join(operand.name for operand in operands), *flags.split()])
        return self.line(f"{name} {names} : {operands[0].type}", result or operands[0].type)

    def line(self, text: str, result: str) -> Scalar:
        """Emits `text` with one result of type `result`."""
        name = f"%{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return Scalar(name, result)

    def constant(self, value: float, element: str) -> Scalar:
        """Returns a constant."""
        return self.make_constant(value, element)

    def compare(self, predicate: str, a: Scalar, b: Scalar) -> Scalar:
        """Emits a comparison; `predicate` is one of eq, ne, lt, le, gt, ge.

        Float comparisons with NaN are false, except for ne; integers compare signed.
        """
        if is_float(a.type):
            code = "une" if predicate == "ne" else f"o{predicate}"
            return self.op(f"arith.cmpf {code},", a, b, result="i1")
        if predicate in ("eq", "ne"):
            return self.op(f"arith.cmpi {predicate},", a, b, result="i1")
        signedness = "u" if a.type == "i1" else "s"  # as signed, the i1 `true` is -1
        return self.op(f"arith.cmpi {signedness}{predicate},", a, b, result="i1")

    def select(self, condition: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        """Emits `condition ? yes : no`."""
        text = f"arith.select {condition.name}, {yes.name}, {no.name} : {yes.type}"
        return self.line(text, yes.type)

    def index(self, dim: int) -> Scalar:
        """Returns the index of the current element in a dim, or, without dims, in a loop."""
        if self.loops is not None and dim not in self.loops:
            return self.constant(0, "index")  # dims of extent 1 may have no loop
        loop = dim if self.loops is None else self.loops.index(dim)
        return self.line(f"linalg.index {loop} : index", "index")

    def bitcast(self, value: Scalar, element: str) -> Scalar:
        """Reads the bits of `value` as `element`, of the same width."""
        return value if value.type == element else self.convert("arith.bitcast", value, element)

    def convert(self, op: str, value: Scalar, element: str) -> Scalar:
        """Emits an op with the assembly format `name value : type to type`."""
        return self.line(f"{op} {value.name} : {value.type} to {element}", element)
