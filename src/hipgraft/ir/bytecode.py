"""Writes and parses bytecode in memory."""

from __future__ import annotations

import ctypes
import mmap
from ctypes import c_char_p, c_size_t, c_void_p, py_object
from functools import cache
from io import BytesIO
from typing import Any, cast

from hipgraft.ir.bindings import compiler_library, ir
from hipgraft.ir.diagnostics import HipgraftError

# Names of capsules; the capsules keep pointers to them.
_CONTEXT = b"iree.compiler.ir.Context._CAPIPtr"
_MODULE = b"iree.compiler.ir.Module._CAPIPtr"


class _StringRef(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("length", c_size_t))


def to_bytecode(op: ir.Operation | ir.OpView | ir.Module, version: int | None = None) -> bytes:
    """Returns an op as bytecode of a version, by default the newest.

    Raises:
        HipgraftError: MLIR cannot write this version.
    """
    buffer = BytesIO()
    try:
        op.operation.write_bytecode(buffer, version)
    except ValueError as error:
        raise HipgraftError(f"cannot write bytecode: {error}") from None
    return buffer.getvalue()


def parse_bytecode(data: bytes | memoryview, context: ir.Context) -> ir.Module:
    """Parses bytecode at any address.

    MLIR rejects bytecode whose address is less aligned than its resources (64 in PyTorch's
    exports). The bindings only accept `bytes`, which Python does not align; the C API accepts an
    address, here one that is aligned to a page.

    Raises:
        ir.MLIRError: the bytecode does not parse or verify; the context's handlers get diagnostics.
    """
    library, python = compiler_library(), _capsules()
    pointer = python.PyCapsule_GetPointer(context._CAPIPtr, _CONTEXT)
    # The parsed module does not refer to the memory that it was parsed from.
    with mmap.mmap(-1, max(len(data), 1)) as pages:
        pages[: len(data)] = data
        start = ctypes.c_char.from_buffer(pages)
        parse = library.mlirModuleCreateParse
        parse.restype, parse.argtypes = c_void_p, [c_void_p, _StringRef]
        parsed = parse(pointer, _StringRef(ctypes.addressof(start), len(data)))
        del start  # the pages cannot be closed while it exists
    if parsed is None:
        raise ir.MLIRError("invalid bytecode")
    return cast(ir.Module, ir.Module._CAPICreate(python.PyCapsule_New(parsed, _MODULE, None)))


@cache
def _capsules() -> Any:
    python = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype = c_void_p
    python.PyCapsule_GetPointer.argtypes = [py_object, c_char_p]
    python.PyCapsule_New.restype = py_object
    python.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
    return python
