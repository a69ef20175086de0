"""Writes the scalar code inside a `linalg.generic`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from hipgraft.codegen.layout import memory_element
from hipgraft.codegen.lowering.float_codes import BYTES, decode, encode
from hipgraft.codegen.lowering.small_floats import is_small, rounded
from hipgraft.codegen.lowering.tensor import Tensor

_FLOAT_BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}
_INFINITY = {"f64": "0x7FF0000000000000", "f32": "0x7F800000", "f16": "0x7C00", "bf16": "0x7F80"}
_MINUS_INFINITY = {
    "f64": "0xFFF0000000000000",
    "f32": "0xFF800000",
    "f16": "0xFC00",
    "bf16": "0xFF80",
}

# Has no arithmetic of its own: in registers its values have the wider type.
_UNSIGNED, _WIDER = "ui8", "i32"


def is_float(element: str) -> bool:
    """Whether an element type is a floating-point type."""
    return element.startswith(("f", "bf"))


def bit_width(element: str) -> int:
    """Returns the bits of an element type, 8 or fewer for the small floats."""
    if element in _FLOAT_BITS:
        return _FLOAT_BITS[element]
    if is_float(element):
        return int(element[1])  # f8E4M3FN, f6E2M3FN, f4E2M1FN
    return 64 if element == "index" else int(element.removeprefix("u")[1:])


def literal(value: float, element: str) -> str:
    """Returns the text of a constant; MLIR wants a decimal point and hexadecimal infinities."""
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
class ScalarEmitter:
    """Collects the lines of a region's body; constants go in front of the op."""

    make_constant: Callable[[float | int, str], Scalar]
    lines: list[str] = field(default_factory=list[str])

    def op(
        self, name: str, *operands: Scalar, result: str | None = None, flags: str = ""
    ) -> Scalar:
        """Emits an op whose type list is the type of its operands.

        Args:
            name: such as `arith.addf`, with any attributes after it.
            operands: all of one type.
            result: the result's type where it differs.
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

        Floats compare ordered, so that NaN is unequal to all; integers compare signed.
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

    def index(self, loop: int) -> Scalar:
        """Returns the induction variable of a loop of the enclosing generic."""
        return self.line(f"linalg.index {loop} : index", "index")

    def element(self, tensor: Tensor, *places: Scalar) -> Scalar:
        """Reads the element of a tensor, stored as its logical type says, at `places`."""
        at = ", ".join(place.name for place in places)
        text = f"tensor.extract {tensor.name}[{at}] : {tensor.type}"
        value = self.line(text, memory_element(tensor.element))
        return self.loaded(value, tensor.element)

    def cast(self, value: Scalar, element: str) -> Scalar:
        """Converts to `element` as C does; to i1 by comparison with zero."""
        if value.type == element:
            return value
        if value.type in BYTES:
            return self.cast(self._from_small(value), element)
        if element in BYTES:
            return self._to_small(self.cast(value, "f32"), element)
        if element == _UNSIGNED:
            return self.cast(self.cast(value, _WIDER), memory_element(element))
        if element == "i1":
            return self.compare("ne", value, self.constant(0, value.type))
        if is_small(element):
            value = rounded(self, self.cast(value, "f32"), element)
        if is_float(value.type) and bit_width(value.type) < 16 and not is_float(element):
            value = self._convert("arith.extf", value, "f32")  # IREE's conversion for CPUs is wrong
        floats = is_float(value.type) and is_float(element)
        if floats and bit_width(value.type) == bit_width(element):
            value = self._convert("arith.extf", value, "f32")  # f16 and bf16 have no direct op
        return self._convert(_conversion(value.type, element), value, element)

    def bitcast(self, value: Scalar, element: str) -> Scalar:
        """Reads the bits of `value` as `element`, of the same width."""
        return value if value.type == element else self._convert("arith.bitcast", value, element)

    def loaded(self, value: Scalar, element: str) -> Scalar:
        """Returns what the bits `value` from memory are as `element`; unsigned ones get wider."""
        if value.type == element:
            return value
        if element == _UNSIGNED:
            return self._convert("arith.extui", value, _WIDER)
        return self.bitcast(value, element)

    def stored(self, value: Scalar, element: str) -> Scalar:
        """Returns the bits that hold `value`, an `element`, in memory."""
        memory = memory_element(element)
        if value.type == memory:
            return value
        if element == _UNSIGNED:
            return self._convert("arith.trunci", value, memory)
        return self.bitcast(value, memory)

    def _from_small(self, value: Scalar) -> Scalar:
        byte = self._convert("arith.bitcast", value, "i8")
        return decode(self, self._convert("arith.extui", byte, "i32"), BYTES[value.type])

    def _to_small(self, value: Scalar, element: str) -> Scalar:
        code = encode(self, value, BYTES[element])
        return self._convert("arith.bitcast", self._convert("arith.trunci", code, "i8"), element)

    def _convert(self, op: str, value: Scalar, element: str) -> Scalar:
        return self.line(f"{op} {value.name} : {value.type} to {element}", element)


def _conversion(source: str, target: str) -> str:
    if "index" in (source, target):
        return "arith.index_cast"
    if is_float(source) and is_float(target):
        return "arith.extf" if bit_width(source) < bit_width(target) else "arith.truncf"
    if is_float(source):
        return "arith.fptosi"
    unsigned = source == "i1"
    if is_float(target):
        return "arith.uitofp" if unsigned else "arith.sitofp"
    if bit_width(source) > bit_width(target):
        return "arith.trunci"
    return "arith.extui" if unsigned else "arith.extsi"
