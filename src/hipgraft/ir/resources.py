"""Reads the raw bytes of `memref.global` and `arith.constant` ops, and builds constants from bits.

The bindings give no access to a resource's blob, and NumPy's buffer protocol supports neither bf16
nor fp8. So a resource is read from the op's bytecode, which stores it as in memory. Printed text
would take several times as many bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import OpError
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.io import RESOURCE_ALIGNMENT

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_RESOURCE_SECTION = 5
_ALIGNED = 0x80
_LARGE = 1 << 20

# The most bytes that are written as text.
_INLINE_BYTES = 256


def global_bytes(op: ir.Operation) -> bytes:
    """Returns the elements of a `memref.global` in row-major order, as in memory.

    Raises:
        OpError: the global has no initial value, or its resource is missing.
    """
    if "initial_value" not in op.attributes:
        raise OpError("'memref.global' op has no value", op)
    value = op.attributes["initial_value"]
    if isinstance(value, ir.UnitAttr):
        raise OpError("'memref.global' op has no value", op)
    return _bytes_of(op, value)


def constant_bytes(op: ir.Operation) -> bytes:
    """Returns the elements of an `arith.constant` in row-major order, as in memory.

    Raises:
        OpError: its resource is missing.
    """
    return _bytes_of(op, op.attributes["value"])


def _bytes_of(op: ir.Operation, value: ir.Attribute) -> bytes:
    tensor = ir.RankedTensorType(value.type)
    if is_resource(value):
        return _checked_size(_stored_bytes(op), tensor, op)
    return _dense_array(value, tensor).tobytes()


def global_reader(op: ir.Operation, module: ir.Module) -> Callable[[], bytes]:
    """Returns a function that calls `global_bytes` and, unlike an op, keeps the module alive."""
    return partial(_read_global, op, module)


def _read_global(op: ir.Operation, module: ir.Module) -> bytes:
    return global_bytes(op)


def is_resource(value: ir.Attribute) -> bool:
    """Returns whether elements are in a resource, which only the attribute's text shows."""
    return not isinstance(value, ir.DenseElementsAttr)


def _dense_array(value: ir.Attribute, tensor: ir.RankedTensorType) -> Array:
    dtype = numpy_dtype(tensor.element_type)
    dense = ir.DenseElementsAttr(value)
    if dense.is_splat:
        splat = dense.get_splat_value()
        is_float = isinstance(splat, ir.FloatAttr)
        number = splat.value if is_float else ir.IntegerAttr(splat).value
        return np.full(tensor.shape, number).astype(dtype)
    try:
        return np.array(dense).astype(dtype)
    except (ValueError, TypeError):  # bf16 and fp8 have no code in the buffer protocol
        return _parsed_array(str(value), dtype)


def _parsed_array(text: str, dtype: np.dtype[Any]) -> Array:
    """Reads `dense<...>` as printed: hexadecimal bytes if large, else decimal numbers."""
    literal = text[len("dense<") : text.rindex("> : tensor<")]
    if literal.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(literal[3:-1]), dtype)
    numbers = re.findall(r"0x[0-9A-F]+|[-+.\w]+", literal)
    return np.concatenate([_parsed_number(number, dtype) for number in numbers])


def _parsed_number(text: str, dtype: np.dtype[Any]) -> Array:
    if text.startswith("0x"):  # infinities and NaNs are printed as their bits
        return np.array([int(text, 16)], f"uint{8 * dtype.itemsize}").view(dtype)
    return np.array([float(text)]).astype(dtype)


def _checked_size(blob: bytes, tensor: ir.RankedTensorType, op: ir.Operation) -> bytes:
    expected = byte_size(tensor.shape, tensor.element_type)
    if len(blob) != expected:
        raise OpError(
            f"'{op.name}' op has a resource of {len(blob)} bytes, expected {expected}", op
        )
    return blob


def resource_bytes(op: ir.Operation) -> bytes | None:
    """Returns the bytes of the only resource in an op's attributes; None if they are missing."""
    pieces = _Pieces()
    # A copy has no users: MLIR's writer crashes if an op outside of it uses a result twice.
    op.clone(ip=False).operation.write_bytecode(pieces)
    return pieces.large or _first_resource(bytes(pieces.rest))


def _stored_bytes(op: ir.Operation) -> bytes:
    blob = resource_bytes(op)
    if blob is None:
        raise OpError(f"'{op.name}' op refers to a resource that the module does not hold", op)
    return blob


@dataclass
class _Pieces:
    """A file that receives bytecode as MLIR writes it; a resource arrives in one piece.

    Attributes:
        large: the resource, not copied: no other part of an op is so large.
        rest: all other pieces.
    """

    large: bytes = b""
    rest: bytearray = field(default_factory=bytearray)

    def write(self, data: bytes) -> None:
        """Receives a piece."""
        if len(data) < _LARGE:
            self.rest += data
        else:
            self.large = data


@dataclass
class _Reader:
    """Reads MLIR bytecode. Source: MLIR's "Bytecode Format" page."""

    data: bytes
    position: int = 0

    def byte(self) -> int:
        self.position += 1
        return self.data[self.position - 1]

    def varint(self) -> int:
        """Reads a little-endian integer; its first byte's trailing zeros count the other bytes."""
        first = self.data[self.position]
        if first == 0:
            value = int.from_bytes(self.take_at(1, 8), "little")
            self.position += 9
            return value
        length = (first & -first).bit_length()
        value = int.from_bytes(self.take_at(0, length), "little") >> length
        self.position += length
        return value

    def align(self, alignment: int) -> None:
        self.position += -self.position % alignment

    def take_at(self, skip: int, length: int) -> bytes:
        start = self.position + skip
        return self.data[start : start + length]


def _first_resource(bytecode: bytes) -> bytes | None:
    """Returns the blob of the only resource of an op's bytecode; None if it has no data."""
    reader = _Reader(bytecode, position=4)
    reader.varint()  # version
    reader.position = bytecode.index(b"\0", reader.position) + 1  # producer
    while reader.position < len(bytecode):
        kind = reader.byte()
        length = reader.varint()
        if kind & _ALIGNED:
            reader.align(reader.varint())
        if kind & ~_ALIGNED == _RESOURCE_SECTION and length:
            return _blob(reader)
        reader.position += length
    return None


def _blob(reader: _Reader) -> bytes:
    alignment = reader.varint()
    size = reader.varint()
    reader.align(alignment)
    return reader.take_at(0, size)


def elements_of(words: Array, kind: ir.RankedTensorType, name: str) -> ir.Attribute:
    """Returns the elements of a constant of `kind`, given row-major as unsigned integers of bits.

    They are a resource called `name`, or text if they are few or all equal.
    """
    if words.nbytes <= _INLINE_BYTES or (words == words.flat[0]).all():
        return inline_elements(words, kind)
    return ir.DenseResourceElementsAttr.get_from_buffer(
        np.ascontiguousarray(words), name, kind, alignment=RESOURCE_ALIGNMENT
    )


def inline_elements(words: Array, kind: ir.RankedTensorType) -> ir.Attribute:
    """Returns the elements as text, each as its bits; a splat if all are equal."""
    same = (words == words.flat[0]).all()
    raw = words.flat[:1] if same else words
    return ir.Attribute.parse(f'dense<"0x{raw.tobytes().hex().upper()}"> : {kind}')
