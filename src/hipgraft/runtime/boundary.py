"""Converts and checks a program's inputs and results: NumPy, DLPack and device arrays."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.dtypes import element_type_name, numpy_dtype
from hipgraft.runtime import dlpack
from hipgraft.runtime.devices.host_memory import host_array
from hipgraft.runtime.devices.protocols import Device
from hipgraft.runtime.recording import Tensor

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@dataclass(eq=False)
class DeviceArray:
    """An array in a device's memory.

    Attributes:
        device: the device.
        address: address of the memory.
        tensor: shape, element type and layout.
        owner: the object that owns the memory; kept alive as long as the array.
    """

    device: Device
    address: int
    tensor: Tensor
    owner: Any = None
    _release: Any = field(default=None, repr=False)

    @classmethod
    def allocate(cls, device: Device, tensor: Tensor) -> Self:
        """Allocates an array that frees its memory when it is closed or collected."""
        # A device need not support empty allocations.
        address = device.allocate(max(tensor.nbytes, 1))
        array = cls(device, address, tensor)
        array._release = weakref.finalize(array, device.free, address)
        array._release.atexit = False
        return array

    @classmethod
    def upload(cls, device: Device, values: Any, tensor: Tensor | None = None) -> Self:
        """Copies an array in host memory, NumPy's or any with DLPack, to the device.

        Args:
            device: the device.
            values: the array.
            tensor: its layout on the device; packed by default.
        """
        host = _as_array(values) if isinstance(values, np.ndarray) else dlpack.read_host(values)
        kind = tensor or Tensor("", host.shape, element_type_name(host.dtype))
        array = cls.allocate(device, kind)
        device.copy_to_device(array.address, raw(host, kind))
        device.synchronize()
        return array

    def numpy(self) -> Array:
        """Copies the array to the host."""
        array = empty(self.tensor)
        download(self.device, self.address, self.tensor, array)
        return array

    def close(self) -> None:
        """Frees the memory, if the array owns it."""
        if self._release is not None:
            self._release()

    def __dlpack__(self, **_: Any) -> Any:
        self.device.synchronize()
        width = self.tensor.dtype.itemsize
        first = self.address + width * self.tensor.offset
        return dlpack.export(self, first, self.tensor, self.__dlpack_device__())

    def __dlpack_device__(self) -> tuple[int, int]:
        return getattr(self.device, "dlpack_device", (dlpack.CPU, 0))


def imported(values: Sequence[Any], device: Device, what: str) -> list[Array | DeviceArray]:
    """Converts a program's arguments to arrays on the host or on `device`.

    Args:
        values: NumPy arrays, arrays with DLPack, or `DeviceArray`s.
        device: where the program runs.
        what: `input` or `output`, for messages.

    Raises:
        HipgraftError: a value is not an array, or is on another device.
    """
    return [
        value if type(value) is np.ndarray else _imported(value, device, f"{what} #{index}")
        for index, value in enumerate(values)
    ]


def array_shape(array: Array | DeviceArray) -> tuple[int, ...]:
    """Returns the extents of an array on the host or on a device."""
    return array.tensor.shape if isinstance(array, DeviceArray) else array.shape


def match(
    values: Sequence[Any], tensors: Sequence[Tensor], device: Device, what: str
) -> list[Array | DeviceArray]:
    """Returns an array for each tensor, on the host or on `device`.

    Args:
        values: NumPy arrays, arrays with DLPack, or `DeviceArray`s.
        tensors: expected shapes, element types and layouts.
        device: where the program runs.
        what: `input` or `output`, for messages.

    Raises:
        HipgraftError: a value is missing, has another shape or element type, is on another device,
            or is not row-major on the device.
    """
    if len(values) != len(tensors):
        raise HipgraftError(f"the program has {len(tensors)} {what}s, but {len(values)} were given")
    return [
        value
        if _is_plain(value, tensor, device)
        else _matched(value, tensor, device, f"{what} #{position}")
        for position, (value, tensor) in enumerate(zip(values, tensors, strict=True))
    ]


def _is_plain(value: Any, tensor: Tensor, device: Device) -> bool:
    """Whether an array needs no further checks: a fast path for the common case."""
    if type(value) is np.ndarray:
        return value.shape == tensor.shape and value.dtype == tensor.dtype
    return (
        type(value) is DeviceArray
        and value.device is device
        and (value.tensor is tensor or _is_like(value.tensor, tensor))
    )


def _matched(value: Any, tensor: Tensor, device: Device, what: str) -> Array | DeviceArray:
    array = _imported(value, device, what)
    shape = array_shape(array)
    dtype = array.tensor.dtype if isinstance(array, DeviceArray) else array.dtype
    expected = tensor.dtype
    if shape != tensor.shape or not _holds(dtype, tensor.element_type):
        raise HipgraftError(
            f"{what} has shape {list(shape)} and dtype {dtype}; "
            f"expected {list(tensor.shape)} and {expected}"
        )
    if isinstance(array, DeviceArray) and not _lies_alike(array.tensor, tensor):
        found, wanted = (
            f"strides {list(one.dense_strides)} and offset {one.offset}"
            for one in (array.tensor, tensor)
        )
        raise HipgraftError(f"{what} has {found} on the device; expected {wanted}")
    return array


def _is_like(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are equal except for their names."""
    return (
        one.shape == other.shape
        and one.element_type == other.element_type
        and one.strides == other.strides
        and one.offset == other.offset
    )


def _holds(dtype: np.dtype[Any], element_type: str) -> bool:
    """Whether an array's dtype fits a tensor's element type: signless integers take either sign."""
    expected = numpy_dtype(element_type)
    is_signless = element_type.startswith("i") and dtype.kind == "u"
    return dtype == expected or (is_signless and dtype.itemsize == expected.itemsize)


def _lies_alike(one: Tensor, other: Tensor) -> bool:
    """Whether elements have the same offsets; strides of extents of 1 do not matter."""
    pairs = zip(one.shape, one.dense_strides, other.dense_strides, strict=True)
    return one.offset == other.offset and all(n == 1 or s == t for n, s, t in pairs)


def _imported(value: Any, device: Device, what: str) -> Array | DeviceArray:
    if isinstance(value, np.ndarray | np.generic):
        return _as_array(value)
    if isinstance(value, DeviceArray):
        if value.device is not device:
            raise HipgraftError(f"{what} is on another device than the program")
        return value
    if not hasattr(value, "__dlpack__"):
        raise HipgraftError(f"{what} is a '{type(value).__name__}'; expected an array")
    dlpack_device = value.__dlpack_device__()
    if dlpack_device[0] == dlpack.CPU:
        return dlpack.read_host(value)
    if tuple(dlpack_device) != getattr(device, "dlpack_device", None):
        raise HipgraftError(f"{what} is on another device than the program")
    foreign = dlpack.read(value)
    kind = element_type_name(foreign.dtype)
    strides = None if foreign.is_row_major else foreign.strides
    tensor = Tensor("", foreign.shape, kind, strides)
    return DeviceArray(device, foreign.address, tensor, owner=foreign)


def _as_array(value: Any) -> Array:
    return np.asarray(value)


def check_writable(outputs: Sequence[Array | DeviceArray]) -> None:
    """Checks that results can be written to host arrays in place.

    Raises:
        HipgraftError: a host array is read-only or not row-major.
    """
    for position, output in enumerate(outputs):
        if isinstance(output, DeviceArray):
            continue
        if not output.flags.writeable:
            raise HipgraftError(f"output #{position} is read-only")
        if not output.flags.c_contiguous:
            raise HipgraftError(
                f"output #{position} has strides {list(output.strides)} in bytes; "
                "expected row-major"
            )


def empty(tensor: Tensor) -> Array:
    """Returns a new host array.

    Raises:
        HipgraftError: there is not enough memory.
    """
    return host_array(tensor.shape, tensor.dtype)


def packed(array: Array, tensor: Tensor) -> Array:
    """Returns host memory with an array's elements in the layout of a tensor on a device."""
    if tensor.is_packed:
        return np.ascontiguousarray(array)
    memory = _memory(tensor)
    _window(memory, tensor)[...] = array
    return memory


def landing(array: Array, tensor: Tensor) -> Array:
    """Returns host memory for a tensor's copy: `array` itself if the tensor is packed."""
    return array if tensor.is_packed else _memory(tensor)


def unpack(memory: Array, tensor: Tensor, array: Array) -> None:
    """Copies elements from memory that `landing` returned to the array that it replaces."""
    if memory is not array:
        array[...] = _window(memory, tensor)


def raw(array: Array, tensor: Tensor) -> memoryview:
    """Returns the bytes of an array in memory order."""
    return _bytes(packed(array, tensor))


def download(device: Device, address: int, tensor: Tensor, array: Array) -> None:
    """Copies a tensor from a device into a row-major array."""
    memory = landing(array, tensor)
    device.copy_to_host(_bytes(memory), address)
    unpack(memory, tensor, array)


def _memory(tensor: Tensor) -> Array:
    return np.zeros(tensor.nbytes // tensor.dtype.itemsize, tensor.dtype)


def _window(memory: Array, tensor: Tensor) -> Array:
    """Returns a strided view of a tensor's elements in its memory."""
    width = tensor.dtype.itemsize
    steps = [step * width for step in tensor.dense_strides]
    return np.ndarray(tensor.shape, tensor.dtype, memory, tensor.offset * width, steps)


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
