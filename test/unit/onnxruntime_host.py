"""A host of the provider: onnxruntime with the native library, and CPU programs run by hipgraft.

As a script it does what a request in JSON on standard input says: it runs under hipgraft-emulate.
"""

from __future__ import annotations

import ctypes
import itertools
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

import hipgraft
from hipgraft.native import onnxruntime_path

NAME = "HipgraftExecutionProvider"
DTYPES = {1: np.float32, 7: np.int64, 6: np.int32, 10: np.float16, 9: np.bool_}


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("shape", POINTER(c_int64)),
        ("rank", c_size_t),
        ("element_type", c_int32),
        ("nbytes", c_size_t),
    )


OUTPUT = CFUNCTYPE(c_void_p, c_void_p, c_size_t, POINTER(c_int64), c_size_t)
LOAD = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t, c_uint32, POINTER(c_void_p))
UNLOAD = CFUNCTYPE(None, c_void_p, c_void_p)
RUN = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(Tensor), c_size_t, OUTPUT, c_void_p)
ERROR = CFUNCTYPE(c_char_p, c_void_p)


class Table(ctypes.Structure):
    _fields_ = (
        ("user", c_void_p),
        ("load", LOAD),
        ("unload", UNLOAD),
        ("run", RUN),
        ("error", ERROR),
    )


class CpuPrograms:
    """The table of functions that run CPU programs."""

    def __init__(self) -> None:
        self.loaded: dict[int, Any] = {}
        self._numbers = itertools.count(1)
        self._error = b""
        self.table = Table(
            None, LOAD(self._load), UNLOAD(self._unload), RUN(self._run), ERROR(self._text)
        )

    def _load(self, _: Any, path: bytes, data: int, size: int, flags: int, program: Any) -> int:
        try:
            number = next(self._numbers)
            if path is None:
                path = f"embedded{number}.hgb".encode()
                Path(path.decode()).write_bytes(ctypes.string_at(data, size))
            self.loaded[number] = hipgraft.load(path.decode(), trust=bool(flags & 1))
            program[0] = number
        except Exception as error:
            self._error = str(error).encode()
            return 1
        return 0

    def _unload(self, _: Any, program: int) -> None:
        self.loaded.pop(program).close()

    def _run(self, _: Any, program: int, inputs: Any, count: int, output: Any, call: int) -> int:
        try:
            given = []
            for tensor in inputs[:count]:
                data = ctypes.string_at(tensor.data, tensor.nbytes)
                shape = tensor.shape[: tensor.rank]
                given.append(np.frombuffer(data, DTYPES[tensor.element_type]).reshape(shape))
            for index, result in enumerate(self.loaded[program].run(given)):
                shape = (c_int64 * result.ndim)(*result.shape)
                address = output(call, index, shape, result.ndim)
                if not address:
                    return 1
                result = np.ascontiguousarray(result)
                ctypes.memmove(address, result.ctypes.data, result.nbytes)
        except Exception as error:
            self._error = str(error).encode()
            return 1
        return 0

    def _text(self, _: Any) -> bytes:
        return self._error


def register(name: str = "hipgraft") -> CpuPrograms:
    """Registers the library with onnxruntime; keep what it returns."""
    programs = CpuPrograms()
    library = ctypes.CDLL(str(onnxruntime_path()))
    library.hipgraft_ort_set_cpu(ctypes.byref(programs.table))
    ort.register_execution_provider_library(name, str(onnxruntime_path()))
    return programs


def session(model: Any, architecture: str, entries: Any = None, **options: str) -> Any:
    """A session on the device of an architecture."""
    settings = ort.SessionOptions()
    for key, value in (entries or {}).items():
        settings.add_session_config_entry(key, value)
    (device,) = (
        one
        for one in ort.get_ep_devices()
        if one.ep_name == NAME and one.ep_metadata["architecture"] == architecture
    )
    settings.add_provider_for_devices([device], options)
    return ort.InferenceSession(model, settings)
