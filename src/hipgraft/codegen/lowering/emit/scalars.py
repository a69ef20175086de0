"""Writes the scalar code inside a `linalg.generic`."""

from __future__ import annotations

from hipgraft.codegen.layout import memory_element
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar, ScalarBuilder
from hipgraft.codegen.lowering.emit.small_floats import BYTES, decode, encode, rounded
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.workarounds.small_float_rounding import is_rounded_wrongly
from hipgraft.codegen.workarounds.small_float_to_integer import is_converted_by_bits
from hipgraft.ir.element_types import bit_width, is_float

# ui8 has no arithmetic in the compiler's dialects; in registers its values are i32.
_UNSIGNED, _WIDER = "ui8", "i32"


class ScalarEmitter(ScalarBuilder):
    """Also writes reads, conversions and stores of elements."""

    def element(self, tensor: Tensor, *indices: Scalar) -> Scalar:
        """Emits the element of a tensor, in any storage order, at one index per logical dim."""
        at = ", ".join(indices[dim].name for dim in tensor.dims)
        text = f"tensor.extract {tensor.name}[{at}] : {tensor.type}"
        value = self.line(text, memory_element(tensor.element))
        return self.loaded(value, tensor.element)

    def cast(self, value: Scalar, element: str) -> Scalar:
        """Converts to `element` by C's rules; to i1 by comparison with zero."""
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
        if is_rounded_wrongly(element):
            value = rounded(self, self.cast(value, "f32"), element)
        if is_converted_by_bits(value.type, element):
            value = self.convert("arith.extf", value, "f32")
        floats = is_float(value.type) and is_float(element)
        if floats and bit_width(value.type) == bit_width(element):
            value = self.convert("arith.extf", value, "f32")  # f16 and bf16 have no direct op
        return self.convert(_conversion(value.type, element), value, element)

    def loaded(self, value: Scalar, element: str) -> Scalar:
        """Returns the value of the bits `value`, read from memory, as `element`; ui8 is widened."""
        if value.type == element:
            return value
        if element == _UNSIGNED:
            return self.convert("arith.extui", value, _WIDER)
        return self.bitcast(value, element)

    def stored(self, value: Scalar, element: str) -> Scalar:
        """Returns the bits that represent `value`, an `element`, in memory."""
        memory = memory_element(element)
        if value.type == memory:
            return value
        if element == _UNSIGNED:
            return self.convert("arith.trunci", value, memory)
        return self.bitcast(value, memory)

    def _from_small(self, value: Scalar) -> Scalar:
        byte = self.convert("arith.bitcast", value, "i8")
        return decode(self, self.convert("arith.extui", byte, "i32"), BYTES[value.type])

    def _to_small(self, value: Scalar, element: str) -> Scalar:
        code = encode(self, value, BYTES[element])
        return self.convert("arith.bitcast", self.convert("arith.trunci", code, "i8"), element)


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
