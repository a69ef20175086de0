"""Wraps the player's interface in Python: bundles, devices and executables of `libhipgraft`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipgraft.ir.closing import Closing
from hipgraft.native.functions import PlayerError, call, function, made

__all__ = [
    "HostKernels",
    "PlayerBundle",
    "PlayerDevice",
    "PlayerError",
    "PlayerExecutable",
    "PlayerProgram",
    "TensorInfo",
]

TRUST = 1
REPLAY = 1


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


class PlayerBundle(Closing):
    """An open bundle.

    Args:
        source: file of the bundle, or its bytes.
        trust: whether to run code that hipgraft did not write for this user.

    Raises:
        PlayerError: the source cannot be opened, or is not a bundle.
    """

    def __init__(self, source: str | Path | bytes, *, trust: bool = False):
        flags = TRUST if trust else 0
        if isinstance(source, bytes):
            self.handle = made("bundle_open_memory", source, len(source), flags)
        else:
            self.handle = made("bundle_open", str(source).encode(), flags)

    @property
    def metadata(self) -> str:
        """The metadata that the bundle's writer stored, as the text of a JSON object."""
        return function("bundle_metadata")(self.handle).decode()

    def programs(self) -> list[PlayerProgram]:
        """Returns all programs."""
        count = function("bundle_program_count")(self.handle)
        return [PlayerProgram(made("bundle_program", self.handle, i)) for i in range(count)]

    def find(self, architecture: str) -> PlayerProgram:
        """Returns the best program for a device of an architecture.

        Raises:
            PlayerError: there is no program for it.
        """
        return PlayerProgram(made("bundle_find", self.handle, architecture.encode()))

    def close(self) -> None:
        """Closes the bundle; executables keep what they need."""
        handle, self.handle = self.handle, c_void_p()
        function("bundle_close")(handle)


class PlayerProgram:
    """A program of a bundle; valid while the bundle is open."""

    def __init__(self, handle: c_void_p):
        self.handle = handle
        self.architecture: str = function("program_architecture")(handle).decode()
        self.variant_count: int = function("program_variant_count")(handle)
        self.input_count: int = function("program_input_count")(handle)
        self.result_count: int = function("program_result_count")(handle)
        self.workspace_size: int = function("program_workspace_size")(handle)

    def variant_name(self, variant: int) -> str:
        """Returns a variant's extents, such as `batch=1`."""
        name = c_char_p()
        call("program_variant_name", self.handle, variant, byref(name))
        return (name.value or b"").decode()

    def tensor(self, index: int, variant: int = 0) -> TensorInfo:
        """Returns an input or, counted after them, a result."""
        found = _Tensor()
        call("program_tensor", self.handle, variant, index, byref(found))
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
        call("program_select", self.handle, len(shapes), ranks, pointers, byref(variant))
        return variant.value


class PlayerDevice(Closing):
    """A device of the player.

    Args:
        name: `hip:N`, `cuda:N`, or an architecture for a device of host memory.
        library: the driver's library; empty for its usual names.
        kernels: kernels of a device of host memory; kept alive.

    Raises:
        PlayerError: there is no such device.
    """

    def __init__(self, name: str, library: str = "", kernels: HostKernels | None = None):
        self._kernels = kernels
        if ":" in name:
            self.handle = made("device_open", name.encode(), library.encode() or None)
        else:
            given = None if kernels is None else byref(kernels)
            self.handle = made("device_open_host", name.encode(), given)

    @property
    def architecture(self) -> str:
        """The device's architecture, such as `gfx942`."""
        return function("device_architecture")(self.handle).decode()

    def allocate(self, nbytes: int) -> int:
        """Returns the address of new memory."""
        return made("device_allocate", self.handle, nbytes).value or 0

    def free(self, address: int) -> None:
        """Frees what `allocate` returned."""
        call("device_free", self.handle, address)

    def upload(self, address: int, data: Any) -> None:
        """Copies a contiguous array to the device."""
        call("device_upload", self.handle, address, data.ctypes.data, data.nbytes)

    def download(self, data: Any, address: int) -> None:
        """Copies from the device to a contiguous array."""
        call("device_download", self.handle, data.ctypes.data, address, data.nbytes)

    def synchronize(self, stream: int | None = None) -> None:
        """Waits for a stream."""
        call("device_synchronize", self.handle, stream)

    def close(self) -> None:
        """Closes the device; executables keep what they need."""
        handle, self.handle = self.handle, c_void_p()
        function("device_close")(handle)


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
        self.handle = made("executable_create", program.handle, device.handle, flags)

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
            addresses: addresses of the inputs, then of the results.
            variant: index of the variant.
            workspace: address of `PlayerProgram.workspace_size` bytes.
            stream: a stream of the device; None is its default stream.

        Raises:
            PlayerError: an address is missing or misaligned, or the driver fails.
        """
        pointers = (c_void_p * len(addresses))(*addresses)
        call("enqueue", self.handle, variant, stream, pointers, len(addresses), workspace)

    def close(self) -> None:
        """Frees the resources that only this executable uses."""
        handle, self.handle = self.handle, c_void_p()
        function("executable_destroy")(handle)
