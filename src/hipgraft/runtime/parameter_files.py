"""Reads and writes files of constants: safetensors and IREE's parameter archives (`.irpa`).

Both store raw row-major data after a table, so a constant can be mapped when it is uploaded, and
a file is never read as a whole. Source: the safetensors format page; IREE's `irpa` format.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.entry_points import symbols
from hipgraft.ir.foreign_data import convert, decode_json, malformed
from hipgraft.ir.outputs import replacing
from hipgraft.ir.resources import global_reader
from hipgraft.runtime.irpa import DIGEST, read_irpa, write_irpa
from hipgraft.runtime.recording import Tensor

FORMATS = (".safetensors", ".irpa")

_LENGTH = struct.Struct("<Q")
_ALIGNMENT = 64
_LONGEST_HEADER = 100_000_000  # bytes, the format's own limit
_SAFETENSORS_TYPES = {
    "i1": "BOOL",
    "i8": "I8",
    "i16": "I16",
    "i32": "I32",
    "i64": "I64",
    "f16": "F16",
    "bf16": "BF16",
    "f32": "F32",
    "f64": "F64",
    "f8E4M3FN": "F8_E4M3",
    "f8E5M2": "F8_E5M2",
    # The format has no other 8-bit types. The program defines the type anyway.
    "f8E4M3FNUZ": "U8",
    "f8E5M2FNUZ": "U8",
    "f8E8M0FNU": "U8",
}


@dataclass(frozen=True)
class _Entry:
    """A tensor's entry in a safetensors header; type and shape come from the program instead."""

    data_offsets: tuple[int, int]


@dataclass(frozen=True)
class Parameter:
    """A named constant.

    Attributes:
        tensor: shape and element type, packed.
        read: returns its bytes.
    """

    tensor: Tensor
    read: Callable[[], bytes]

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return self.tensor.nbytes


def constant_buffers(module: ir.Module, names: Sequence[str]) -> dict[str, Parameter]:
    """Returns constants of a module by their symbols; each is read from it when it is needed."""
    by_name = symbols(module)
    return {name: _parameter(by_name[name], module) for name in names}


def _parameter(op: ir.Operation, module: ir.Module) -> Parameter:
    memref = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
    tensor = Tensor("", tuple(memref.shape), str(memref.element_type))
    return Parameter(tensor, global_reader(op, module))


def check_format(path: str | Path) -> None:
    """Checks that a file's name ends with the suffix of a known format.

    Raises:
        HipgraftError: the format is unknown.
    """
    if Path(path).suffix not in FORMATS:
        raise HipgraftError(f"expected a parameter file ({', '.join(FORMATS)}), found '{path}'")


def write_parameters(path: str | Path, parameters: Mapping[str, Parameter]) -> str:
    """Writes a parameter file in the format of its suffix.

    Returns:
        A digest of all constants, which the file holds, too: the reader of a program with this
        digest can check that the file belongs to the program.

    Raises:
        HipgraftError: the file cannot be written, or its format does not support a constant's type.
    """
    check_format(path)
    write = _write_safetensors if Path(path).suffix == ".safetensors" else write_irpa
    with replacing(str(path)) as temporary:
        return write(temporary, parameters)


def check_replaceable(path: str | Path) -> None:
    """Checks that a file whose name the user did not choose may be overwritten.

    Raises:
        HipgraftError: hipgraft did not write the existing file.
    """
    if not Path(path).exists():
        return
    try:
        if ParameterFile(path).digest:
            return
    except HipgraftError:
        pass  # it is not a parameter file
    raise HipgraftError(
        f"'{path}' exists and was not written by hipgraft; name a file by --constants, this one "
        "to replace it"
    )


def _write_safetensors(path: Path, parameters: Mapping[str, Parameter]) -> str:
    table: dict[str, Any] = {}
    end = 0
    for name, one in parameters.items():
        kind = _SAFETENSORS_TYPES.get(one.tensor.element_type)
        if kind is None:
            raise HipgraftError(
                f"safetensors has no type for '{one.tensor.element_type}' of '{name}'; "
                "write an .irpa file"
            )
        offsets = [end, end + one.nbytes]
        table[name] = {"dtype": kind, "shape": one.tensor.shape, "data_offsets": offsets}
        end = offsets[1]
    digest = hashlib.sha256(json.dumps(table).encode())
    with path.open("wb") as file:
        # The digest is known once all constants are written; its length is fixed.
        file.write(_header(table, "0" * digest.digest_size * 2))
        for one in parameters.values():
            data = one.read()
            digest.update(data)
            file.write(data)
        file.seek(0)
        file.write(_header(table, digest.hexdigest()))
    return digest.hexdigest()


def _header(table: Mapping[str, Any], digest: str) -> bytes:
    metadata = {"__metadata__": {DIGEST: digest}}
    header = json.dumps({**metadata, **table}, separators=(",", ":")).encode()
    # Spaces after the table align the data.
    header = header.ljust(-(-(len(header) + 8) // _ALIGNMENT) * _ALIGNMENT - 8)
    return _LENGTH.pack(len(header)) + header


class ParameterFile:
    """A mapped parameter file.

    Args:
        path: path of the file.
        digest: expected digest (`write_parameters` returned it); empty to accept any file.

    Attributes:
        digest: digest of the file; empty if hipgraft did not write it.

    Raises:
        HipgraftError: the file cannot be read, is damaged, or has another digest; located.
    """

    def __init__(self, path: str | Path, digest: str = ""):
        check_format(path)
        self._path = str(path)
        self.digest = ""
        try:
            with Path(path).open("rb") as file:
                self._data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise HipgraftError(f"cannot open parameters: {error}", location=self._path) from None
        is_safetensors = Path(path).suffix == ".safetensors"
        with malformed("parameter file", self._path):
            self._ranges = self._safetensors() if is_safetensors else self._irpa()
        if digest and digest != self.digest:
            raise HipgraftError(
                "the parameters are not those that the program was written with",
                location=self._path,
            )

    def read(self, name: str, nbytes: int) -> memoryview:
        """Returns the mapped bytes of a constant.

        Raises:
            HipgraftError: there is no constant of this name and size.
        """
        if name not in self._ranges:
            raise HipgraftError(f"no parameter '{name}'", location=self._path)
        start, size = self._ranges[name]
        if size != nbytes or start + size > len(self._data):
            raise HipgraftError(
                f"parameter '{name}' has {max(min(size, len(self._data) - start), 0)} bytes; "
                f"expected {nbytes}",
                location=self._path,
            )
        return self._data[start : start + size]

    def _safetensors(self) -> dict[str, tuple[int, int]]:
        if len(self._data) < _LENGTH.size:
            raise HipgraftError("malformed parameter file: truncated", location=self._path)
        (length,) = _LENGTH.unpack_from(self._data)
        if length > min(len(self._data) - _LENGTH.size, _LONGEST_HEADER):
            reason = f"malformed parameter file: its header has {length} bytes"
            raise HipgraftError(reason, location=self._path)
        start = _LENGTH.size + length
        table = decode_json(
            self._data[_LENGTH.size : start].tobytes(), dict[str, Any], "header", self._path
        )
        metadata = convert(table.pop("__metadata__", {}), dict[str, str], "metadata", self._path)
        self.digest = metadata.get(DIGEST, "")
        entries = convert(table, dict[str, _Entry], "header", self._path)
        ranges = {name: one.data_offsets for name, one in entries.items()}
        for name, (first, end) in ranges.items():
            if not 0 <= first <= end:
                reason = f"malformed parameter file: '{name}' is at {first} to {end}"
                raise HipgraftError(reason, location=self._path)
        return {name: (start + first, end - first) for name, (first, end) in ranges.items()}

    def _irpa(self) -> dict[str, tuple[int, int]]:
        found = read_irpa(self._data)
        digest = found.pop(DIGEST, None)
        if digest is not None:
            start, size = digest
            self.digest = self._data[start : start + size].hex()
        return found
