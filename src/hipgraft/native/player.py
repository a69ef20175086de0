"""The player's interface in Python: bundles, devices and executables of `libhipgraft`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hipgraft.ir.closing import Closing
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.native import library

TRUST = 1
REPLAY = 1

STATUSES = (
    "OK",
    "INVALID_ARGUMENT",
    "IO_ERROR",
    "DAMAGED",
    "UNTRUSTED",
    "NOT_APPLICABLE",
    "OUT_OF_MEMORY",
    "DRIVER_ERROR",
    "INTERNAL_ERROR",
)


class PlayerError(HipgraftError):
    """An error of the player.

    Attributes:
        status: its name in `hipgraft.h`, without the prefix.
    """

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = STATUSES[status]


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("element_type", c_char_p),
        ("rank", c_size_t),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("offset", c_int64),
        ("nbytes", c_size_t),
    )


LOAD = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, POINTER(c_void_p))
UNLOAD = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
GET_KERNEL = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_char_p, POINTER(c_void_p))
LAUNCH = ctypes.CFUNCTYPE(
    c_int, c_void_p, c_void_p, POINTER(c_uint32), POINTER(c_uint32), c_uint32, c_void_p, c_size_t
)


class HostKernels(ctypes.Structure):
    """Functions that run kernels in host memory; see `hipgraft_host_kernels`."""

    _fields_ = (
        ("user", c_void_p),
        ("load", LOAD),
        ("unload", UNLOAD),
        ("get_kernel", GET_KERNEL),
        ("launch", LAUNCH),
    )


@dataclass(frozen=True)
class TensorInfo:
    """An input or result, as `hipgraft_tensor` describes it."""

    name: str
    element_type: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    nbytes: int


@cache
def _functions() -> ctypes.CDLL:
    loaded = library()
    loaded.hipgraft_error.restype = c_char_p
    pointer = c_void_p
    for name, types in {
        "bundle_open": (c_char_p, c_uint32, pointer),
        "bundle_open_memory": (c_char_p, c_size_t, c_uint32, pointer),
        "bundle_program": (pointer, c_size_t, pointer),
        "bundle_find": (pointer, c_char_p, pointer),
        "program_variant_name": (pointer, c_size_t, pointer),
        "program_tensor": (pointer, c_size_t, c_size_t, pointer),
        "program_select": (pointer, c_size_t, pointer, pointer, pointer),
        "device_open": (c_char_p, c_char_p, pointer),
        "device_open_host": (c_char_p, pointer, pointer),
        "device_allocate": (pointer, c_size_t, pointer),
        "device_free": (pointer, pointer),
        "device_upload": (pointer, pointer, pointer, c_size_t),
        "device_download": (pointer, pointer, pointer, c_size_t),
        "device_synchronize": (pointer, pointer),
        "executable_create": (pointer, pointer, c_uint32, pointer),
        "enqueue": (pointer, c_size_t, pointer, pointer, c_size_t, pointer),
    }.items():
        function = getattr(loaded, f"hipgraft_{name}")
        function.argtypes, function.restype = types, c_int
    for name in ("bundle_close", "device_close", "executable_destroy"):
        function = getattr(loaded, f"hipgraft_{name}")
        function.argtypes, function.restype = (pointer,), None
    for name, result in {
        "bundle_metadata": c_char_p,
        "bundle_program_count": c_size_t,
        "program_architecture": c_char_p,
        "program_variant_count": c_size_t,
        "program_input_count": c_size_t,
        "program_result_count": c_size_t,
        "program_workspace_size": c_size_t,
        "device_architecture": c_char_p,
    }.items():
        function = getattr(loaded, f"hipgraft_{name}")
        function.argtypes, function.restype = (pointer,), result
    return loaded


def _get(name: str, *arguments: Any) -> Any:
    return getattr(_functions(), f"hipgraft_{name}")(*arguments)


def _call(name: str, *arguments: Any) -> None:
    status = _get(name, *arguments)
    if status:
        text: bytes = _functions().hipgraft_error()
        raise PlayerError(status, text.decode(errors="backslashreplace"))


def _made(name: str, *arguments: Any) -> c_void_p:
    """Calls a function whose last argument is where a pointer goes; returns the pointer."""
    handle = c_void_p()
    _call(name, *arguments, byref(handle))
    return handle


class PlayerBundle(Closing):
    """An open bundle.

    Args:
        source: its file, or its bytes.
        trust: whether to run code that hipgraft has not written for this user.

    Raises:
        PlayerError: it cannot be opened, or is no bundle.
    """

    def __init__(self, source: str | Path | bytes, *, trust: bool = False):
        flags = TRUST if trust else 0
        if isinstance(source, bytes):
            self.handle = _made("bundle_open_memory", source, len(source), flags)
        else:
            self.handle = _made("bundle_open", str(source).encode(), flags)

    @property
    def metadata(self) -> str:
        """What its writer stored with it, as the text of a JSON object."""
        return _get("bundle_metadata", self.handle).decode()

    def programs(self) -> list[PlayerProgram]:
        """Returns all programs."""
        count = _get("bundle_program_count", self.handle)
        return [PlayerProgram(_made("bundle_program", self.handle, i)) for i in range(count)]

    def find(self, architecture: str) -> PlayerProgram:
        """Returns the best program for a device of an architecture.

        Raises:
            PlayerError: there is none.
        """
        return PlayerProgram(_made("bundle_find", self.handle, architecture.encode()))

    def close(self) -> None:
        """Closes the bundle; executables keep what they need."""
        handle, self.handle = self.handle, c_void_p()
        _get("bundle_close", handle)


class PlayerProgram:
    """A program of a bundle, while that is open."""

    def __init__(self, handle: c_void_p):
        self.handle = handle
        self.architecture: str = _get("program_architecture", handle).decode()
        self.variant_count: int = _get("program_variant_count", handle)
        self.input_count: int = _get("program_input_count", handle)
        self.result_count: int = _get("program_result_count", handle)
        self.workspace_size: int = _get("program_workspace_size", handle)

    def variant_name(self, variant: int) -> str:
        """Returns a variant's extents, as `batch=1`."""
        name = c_char_p()
        _call("program_variant_name", self.handle, variant, byref(name))
        return (name.value or b"").decode()

    def tensor(self, index: int, variant: int = 0) -> TensorInfo:
        """Returns an input or, counted after them, a result."""
        found = _Tensor()
        _call("program_tensor", self.handle, variant, index, byref(found))
        return TensorInfo(
            found.name.decode(),
            found.element_type.decode(),
            tuple(found.shape[: found.rank]),
            tuple(found.strides[: found.rank]),
            found.offset,
            found.nbytes,
        )

    def select(self, shapes: Sequence[Sequence[int]]) -> int:
        """Returns the variant for inputs of certain shapes.

        Raises:
            PlayerError: there is none.
        """
        ranks = (c_size_t * len(shapes))(*map(len, shapes))
        extents = [(c_int64 * len(shape))(*shape) for shape in shapes]
        pointers = (c_void_p * len(shapes))(*map(ctypes.addressof, extents))
        variant = c_size_t()
        _call("program_select", self.handle, len(shapes), ranks, pointers, byref(variant))
        return variant.value


class PlayerDevice(Closing):
    """A device of the player.

    Args:
        name: `hip:N`, `cuda:N`, or an architecture for a device of host memory.
        library: the driver's library; empty for its usual names.
        kernels: of a device of host memory; kept alive.

    Raises:
        PlayerError: there is no such device.
    """

    def __init__(self, name: str, library: str = "", kernels: HostKernels | None = None):
        self._kernels = kernels
        if ":" in name:
            self.handle = _made("device_open", name.encode(), library.encode() or None)
        else:
            given = None if kernels is None else byref(kernels)
            self.handle = _made("device_open_host", name.encode(), given)

    @property
    def architecture(self) -> str:
        """The device's architecture, as `gfx942`."""
        return _get("device_architecture", self.handle).decode()

    def allocate(self, nbytes: int) -> int:
        """Returns the address of new memory."""
        return _made("device_allocate", self.handle, nbytes).value or 0

    def free(self, address: int) -> None:
        """Frees what `allocate` returned."""
        _call("device_free", self.handle, address)

    def upload(self, address: int, data: Any) -> None:
        """Copies a contiguous array to the device."""
        _call("device_upload", self.handle, address, data.ctypes.data, data.nbytes)

    def download(self, data: Any, address: int) -> None:
        """Copies from the device to a contiguous array."""
        _call("device_download", self.handle, data.ctypes.data, address, data.nbytes)

    def synchronize(self, stream: int | None = None) -> None:
        """Waits for a stream."""
        _call("device_synchronize", self.handle, stream)

    def close(self) -> None:
        """Closes the device; executables keep what they need."""
        handle, self.handle = self.handle, c_void_p()
        _get("device_close", handle)


class PlayerExecutable(Closing):
    """A program on a device.

    Args:
        program: the program; its bundle must be open.
        device: the device.
        replay: whether repeated runs on the same addresses are captured and replayed.

    Raises:
        PlayerError: the program is not for the device, not trusted, or damaged.
    """

    def __init__(self, program: PlayerProgram, device: PlayerDevice, *, replay: bool = False):
        flags = REPLAY if replay else 0
        self.handle = _made("executable_create", program.handle, device.handle, flags)

    def enqueue(
        self,
        addresses: Sequence[int],
        *,
        variant: int = 0,
        workspace: int | None = None,
        stream: int | None = None,
    ) -> None:
        """Starts a run on a stream.

        Args:
            addresses: of the inputs, then of the results.
            variant: which variant.
            workspace: address of `PlayerProgram.workspace_size` bytes.
            stream: of the device; None is its default stream.

        Raises:
            PlayerError: an address is missing or misaligned, or the driver fails.
        """
        pointers = (c_void_p * len(addresses))(*addresses)
        _call("enqueue", self.handle, variant, stream, pointers, len(addresses), workspace)

    def close(self) -> None:
        """Frees what the executable has alone."""
        handle, self.handle = self.handle, c_void_p()
        _get("executable_destroy", handle)
