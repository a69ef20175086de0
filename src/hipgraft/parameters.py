"""Files of constants: safetensors, and IREE's parameter archives (`.irpa`).

Both hold raw row-major data behind a table, so that a constant is mapped when it is uploaded and
never read as a whole. Source: the safetensors format page; IREE's runtime reads its archives.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from hipgraft.bindings import ir
from hipgraft.diagnostics import HipgraftError
from hipgraft.irpa import write_irpa
from hipgraft.outputs import replacing
from hipgraft.runtime.elements import global_bytes
from hipgraft.runtime.entry import symbols
from hipgraft.runtime.recording import Tensor

FORMATS = (".safetensors", ".irpa")

_LENGTH = struct.Struct("<Q")
_ALIGNMENT = 64
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
}


@dataclass(frozen=True)
class Parameter:
    """A named constant.

    Attributes:
        tensor: shape and element type, packed.
        read: gives its bytes.
    """

    tensor: Tensor
    read: Callable[[], bytes]

    @property
    def nbytes(self) -> int:
        """Its size."""
        return self.tensor.nbytes


def constant_buffers(module: ir.Module, names: Sequence[str]) -> dict[str, Parameter]:
    """Returns constants of a module by their symbols; they are read from it one at a time."""
    by_name = symbols(module)
    return {name: _parameter(by_name[name]) for name in names}


def _parameter(op: ir.Operation) -> Parameter:
    memref = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
    tensor = Tensor("", tuple(memref.shape), str(memref.element_type))
    return Parameter(tensor, partial(global_bytes, op))


def check_format(path: str | Path) -> None:
    """Checks that a file's name tells a format.

    Raises:
        HipgraftError: it does not.
    """
    if Path(path).suffix not in FORMATS:
        raise HipgraftError(f"expected a parameter file ({', '.join(FORMATS)}), found '{path}'")


def write_parameters(path: str | Path, parameters: Mapping[str, Parameter]) -> None:
    """Writes a parameter file of the format that its name tells.

    Raises:
        HipgraftError: the file cannot be written, or the format has no type for a constant.
    """
    check_format(path)
    write = _write_safetensors if Path(path).suffix == ".safetensors" else write_irpa
    with replacing(str(path)) as temporary:
        write(temporary, parameters)


def _write_safetensors(path: Path, parameters: Mapping[str, Parameter]) -> None:
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
    header = json.dumps(table, separators=(",", ":")).encode()
    # Spaces may follow the table: data then begins aligned.
    header = header.ljust(-(-(len(header) + 8) // _ALIGNMENT) * _ALIGNMENT - 8)
    with path.open("wb") as file:
        file.write(_LENGTH.pack(len(header)) + header)
        for one in parameters.values():
            file.write(one.read())


class ParameterFile:
    """A mapped parameter file.

    Args:
        path: of the file.

    Raises:
        HipgraftError: it cannot be read, or is damaged; located.
    """

    def __init__(self, path: str | Path):
        check_format(path)
        self._path = str(path)
        try:
            with Path(path).open("rb") as file:
                self._data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:  # an empty file cannot be mapped
            raise HipgraftError(f"cannot open parameters: {error}", location=self._path) from None
        is_safetensors = Path(path).suffix == ".safetensors"
        self._places = self._safetensors() if is_safetensors else self._irpa()

    def read(self, name: str, nbytes: int) -> memoryview:
        """Returns the mapped bytes of a constant.

        Raises:
            HipgraftError: there is none of this name and size.
        """
        if name not in self._places:
            raise HipgraftError(f"no parameter '{name}'", location=self._path)
        start, size = self._places[name]
        if size != nbytes or start + size > len(self._data):
            raise HipgraftError(
                f"parameter '{name}' has {min(size, len(self._data) - start)} bytes; "
                f"expected {nbytes}",
                location=self._path,
            )
        return self._data[start : start + size]

    def _safetensors(self) -> dict[str, tuple[int, int]]:
        try:
            (length,) = _LENGTH.unpack_from(self._data)
            table = json.loads(bytes(self._data[8 : 8 + length]))
            offsets = {
                name: one["data_offsets"] for name, one in table.items() if name != "__metadata__"
            }
        except (struct.error, ValueError, KeyError):
            raise HipgraftError("damaged safetensors header", location=self._path) from None
        return {name: (8 + length + first, end - first) for name, (first, end) in offsets.items()}

    def _irpa(self) -> dict[str, tuple[int, int]]:
        # Only now, as safetensors need it not; its stubs lack the class.
        index = import_module("iree.runtime").ParameterIndex()
        try:
            index.load(self._path)
        except (RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise HipgraftError(f"damaged archive: {reason}", location=self._path) from None
        found: dict[str, tuple[int, int]] = {}
        for name, entry in index.items():
            _, offset = entry.file_storage
            found[name] = (offset, entry.length)
        return found
