"""Parses the wire format of a large ONNX file, so that its weights are not read.

protobuf copies all data that it parses. This parser passes it only the data around the weights,
and turns each weight into external data in the model's own file.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import TensorProto

from hipgraft.frontends.onnx.external import MAPPED

_LARGE = 1 << 16  # bytes; smaller tensors are read

# Numbers of fields in ONNX's schema, and wire types.
_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


@dataclass(frozen=True)
class _Field:
    """One field of a message: the positions in the file of the field and of its value."""

    number: int
    start: int
    value: int
    end: int


def surroundings(path: Path) -> bytes:
    """Returns a model whose large weights refer to the file instead of containing their data.

    Raises:
        DecodeError: the file is not a protobuf message.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _Reader(data, path.name).model()


class _Reader:
    def __init__(self, data: mmap.mmap, name: str):
        self._data = data
        self._name = name

    def model(self) -> bytes:
        fields = self._fields(0, len(self._data))
        return b"".join(
            _message(_GRAPH, self._graph(field)) if field.number == _GRAPH else self._whole(field)
            for field in fields
        )

    def _graph(self, graph: _Field) -> bytes:
        fields = self._fields(graph.value, graph.end)
        return b"".join(
            _message(_INITIALIZER, self._tensor(field))
            if field.number == _INITIALIZER and field.end - field.value > _LARGE
            else self._whole(field)
            for field in fields
        )

    def _tensor(self, tensor: _Field) -> bytes:
        fields = list(self._fields(tensor.value, tensor.end))
        raw = [field for field in fields if field.number == _RAW_DATA]
        others = b"".join(self._whole(field) for field in fields if field not in raw)
        parsed = TensorProto.FromString(others)
        if len(raw) != 1 or parsed.data_type not in MAPPED:
            return self._data[tensor.value : tensor.end]
        parsed.data_location = TensorProto.EXTERNAL
        replacement = {
            "location": self._name,
            "offset": raw[0].value,
            "length": raw[0].end - raw[0].value,
        }
        for key, value in replacement.items():
            parsed.external_data.add(key=key, value=str(value))
        return parsed.SerializeToString()

    def _whole(self, field: _Field) -> bytes:
        return self._data[field.start : field.end]

    def _fields(self, position: int, end: int) -> Iterator[_Field]:
        while position < end:
            start = position
            tag, position = self._varint(position)
            position, value = self._skip(tag & 7, position)
            if position > end:
                raise DecodeError("truncated message")
            yield _Field(tag >> 3, start, value, position)

    def _skip(self, wire_type: int, position: int) -> tuple[int, int]:
        """Returns the end of a field and the start of its value."""
        if wire_type == _VARINT:
            return self._varint(position)[1], position
        if wire_type == _BYTES:
            size, position = self._varint(position)
            return position + size, position
        if wire_type in (_EIGHT_BYTES, _FOUR_BYTES):
            return position + (8 if wire_type == _EIGHT_BYTES else 4), position
        raise DecodeError(f"wire type {wire_type}")

    def _varint(self, position: int) -> tuple[int, int]:
        """Returns a number, encoded as seven bits per byte, and the position after it."""
        number = shift = 0
        while position < len(self._data) and shift < 64:
            byte = self._data[position]
            position += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number, position
        raise DecodeError("truncated message")


def _message(number: int, value: bytes) -> bytes:
    """Encodes a field that is a message."""
    return _encoded(number << 3 | _BYTES) + _encoded(len(value)) + value


def _encoded(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
