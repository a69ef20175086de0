"""The emulated HIP runtime, loaded into the test's own process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator
from contextlib import contextmanager
from ctypes import c_int, c_size_t, c_uint, c_void_p
from typing import Any

import numpy as np
from assembled import assemble

from hipgraft.emulator.hip_runtime import emulation, library_path

INVALID_VALUE, INVALID_CONFIGURATION, INVALID_HANDLE = 1, 9, 400
NOT_FOUND, NOT_READY, NOT_SUPPORTED = 500, 600, 801
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3
COUNT = 256
NBYTES = 4 * COUNT

DOUBLE = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_and_b32 v0, 0x3ff, v0
  s_mul_i32 s3, s2, 64
  v_add_u32 v0, s3, v0
  v_lshlrev_b32 v0, 2, v0
  global_load_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)
  v_add_f32 v1, v1, v1
  global_store_dword v0, v1, s[6:7]
"""
"""Writes to the second pointer twice what the first points to; four workgroups of 64."""


def double_code(architecture: str = "gfx942", lds: int = 0) -> bytes:
    """The code object of `DOUBLE`, as the kernel `f`."""
    return assemble(DOUBLE, architecture, pointers=2, lds=lds).data


class Dim3(ctypes.Structure):
    """An extent in three dimensions."""

    _fields_ = (("x", c_uint), ("y", c_uint), ("z", c_uint))


class KernelNode(ctypes.Structure):
    """`hipKernelNodeParams`."""

    _fields_ = (
        ("block", Dim3),
        ("extra", c_void_p),
        ("function", c_void_p),
        ("grid", Dim3),
        ("parameters", c_void_p),
        ("lds", c_uint),
    )


class MemsetNode(ctypes.Structure):
    """`hipMemsetParams`."""

    _fields_ = (
        ("target", c_void_p),
        ("element", c_uint),
        ("height", c_size_t),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("width", c_size_t),
    )


class HostNode(ctypes.Structure):
    """`hipHostNodeParams`."""

    _fields_ = (("function", c_void_p), ("data", c_void_p))


HOST_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)
CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)


class Hip:
    """Calls functions by name; returns the handles and addresses that they create."""

    def __init__(self, library: ctypes.CDLL):
        self.library = library

    def status(self, name: str, *arguments: Any) -> int:
        """Calls a function and returns its error; numbers are passed as 64 bits."""
        passed = [c_size_t(one) if isinstance(one, int) else one for one in arguments]
        return getattr(self.library, name)(*passed)

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function, which must succeed."""
        found = self.status(name, *arguments)
        assert found == 0, f"{name}: error {found}"

    def make(self, name: str, *arguments: Any) -> int:
        """Calls a function that makes something and returns its handle or address."""
        made = c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made.value or 0

    def number(self, name: str, *arguments: Any) -> int:
        """Calls a function that returns a number."""
        told = c_int()
        self.call(name, ctypes.byref(told), *arguments)
        return told.value

    def size(self, name: str, *arguments: Any) -> int:
        """Calls a function whose last argument is a pointer to a size, and returns the size."""
        told = c_size_t()
        self.call(name, *arguments, ctypes.byref(told))
        return told.value

    def upload(self, array: np.ndarray) -> int:
        """Returns device memory with a copy of an array."""
        address = self.make("hipMalloc", array.nbytes)
        self.call("hipMemcpy", address, array.ctypes.data, array.nbytes, HOST_TO_DEVICE)
        return address

    def download(self, address: int, count: int = COUNT, dtype: Any = np.float32) -> np.ndarray:
        """Returns a copy of device memory."""
        array = np.zeros(count, dtype)
        self.call("hipMemcpy", array.ctypes.data, address, array.nbytes, DEVICE_TO_HOST)
        return array

    def function(self, code: bytes) -> int:
        """Loads a code object and returns its kernel `f`."""
        return self.make("hipModuleGetFunction", self.make("hipModuleLoadData", code), b"f")

    def launch(self, function: int, *pointers: int, stream: int = 0, grid: int = 4) -> None:
        """Launches a kernel with workgroups of 64."""
        shape = (grid, 1, 1, 64, 1, 1)
        parameters = parameters_of(*pointers)
        self.call("hipModuleLaunchKernel", function, *shape, 0, stream, parameters, None)


def parameters_of(*pointers: int) -> Any:
    """Returns `kernelParams` for pointers."""
    values = [c_void_p(one) for one in pointers]
    array = (c_void_p * len(values))(*[ctypes.addressof(one) for one in values])
    array.values = values  # they live as long
    return array


@contextmanager
def loaded(devices: int) -> Generator[Hip]:
    """Loads the library; a process has it once."""
    with emulation(devices=devices) as emulated:
        os.environ.update(emulated.environment)
        yield Hip(ctypes.CDLL(str(library_path())))
        for name in emulated.environment:
            os.environ.pop(name)
