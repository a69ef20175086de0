"""Runs programs for the target `cpu`, which the provider's library cannot run itself.

The library calls these functions from any thread, through
`native/onnxruntime/cpu_programs.cpp`.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from itertools import count
from typing import Any

import numpy as np

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.runtime.bundle import Bundle
from hipgraft.runtime.recording import Tensor as Declared

_TRUSTED = 1
_MEMORY = "<EPContext>"  # name in messages of a bundle that is not a file


class Tensor(ctypes.Structure):
    """`hipgraft_ort_tensor`: an input in host memory."""

    _fields_ = (
        ("data", c_void_p),
        ("shape", POINTER(c_int64)),
        ("rank", c_size_t),
        ("element_type", c_int32),
        ("nbytes", c_size_t),
    )


LOAD = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t, c_uint32, POINTER(c_void_p))
UNLOAD = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
OUTPUT = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t, POINTER(c_int64), c_size_t)
RUN = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(Tensor), c_size_t, OUTPUT, c_void_p)
ERROR = ctypes.CFUNCTYPE(c_void_p, c_void_p)


class Table(ctypes.Structure):
    """`hipgraft_ort_cpu`."""

    _fields_ = (
        ("user", c_void_p),
        ("load", LOAD),
        ("unload", UNLOAD),
        ("run", RUN),
        ("error", ERROR),
    )


class CpuPrograms:
    """Loaded programs, and the functions that load and run them.

    Attributes:
        table: the functions; valid as long as this object.
    """

    def __init__(self) -> None:
        self._programs: dict[int, tuple[Bundle, Sequence[Declared]]] = {}
        self._numbers = count(1)  # `next` is atomic
        self._local = threading.local()
        self.table = Table(
            None,
            LOAD(self._guarded(self._load)),
            UNLOAD(self._unload),
            RUN(self._guarded(self._run)),
            ERROR(self._error),
        )

    def _guarded(self, function: Callable[..., None]) -> Callable[..., int]:
        """Returns a function that stores exceptions for `_error`: none may propagate into C."""

        def call(_: Any, *arguments: Any) -> int:
            try:
                function(*arguments)
            except Exception as error:
                text = str(error) or type(error).__name__
                # Keeps alive the bytes whose address `_error` returns.
                self._local.text = ctypes.create_string_buffer(
                    text.encode(errors="backslashreplace")
                )
                return 1
            return 0

        return call

    def _error(self, _: Any) -> int | None:
        text = getattr(self._local, "text", None)
        return None if text is None else ctypes.addressof(text)

    def _load(
        self, path: bytes | None, data: int | None, size: int, flags: int, program: Any
    ) -> None:
        name = _MEMORY if path is None else path.decode(errors="surrogateescape")
        content = ctypes.string_at(data or 0, size) if path is None else None
        bundle = Bundle(name, data=content, trust=bool(flags & _TRUSTED))
        bundle.load("cpu")
        number = next(self._numbers)
        kinds, *_ = bundle.inputs("cpu").values()
        self._programs[number] = bundle, kinds
        program[0] = number

    def _unload(self, _: Any, program: int) -> None:
        found = self._programs.pop(program, None)
        if found is not None:
            found[0].close()

    def _run(
        self, program: int, inputs: Any, input_count: int, output: Any, call: int | None
    ) -> None:
        bundle, kinds = self._programs[program]
        session = bundle.load("cpu")
        if input_count != len(kinds):
            raise HipgraftError(f"expected {len(kinds)} inputs, found {input_count}")
        arrays = [
            _array(one, numpy_dtype(kind.element_type))
            for one, kind in zip(inputs[:input_count], kinds, strict=True)
        ]
        for index, result in enumerate(session.run(arrays)):
            shape = (c_int64 * result.ndim)(*result.shape)
            address = output(call, index, shape, result.ndim)
            if not address and result.nbytes:
                raise HipgraftError(f"no memory for result #{index}")
            packed = np.ascontiguousarray(result)
            ctypes.memmove(address or 0, packed.ctypes.data, packed.nbytes)


def _array(tensor: Tensor, dtype: np.dtype[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    """Returns an input as an array for the program, without a copy."""
    shape = tuple(tensor.shape[: tensor.rank])
    if not tensor.nbytes:
        return np.empty(shape, dtype)
    data = (ctypes.c_uint8 * tensor.nbytes).from_address(tensor.data)
    return np.frombuffer(data, dtype).reshape(shape)
