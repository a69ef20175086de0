"""Exchanges arrays in host or device memory with other libraries through DLPack, without copies.

NumPy's own reader supports neither bfloat16 nor device memory. Source: DLPack's C header,
`DLManagedTensor` (the unversioned form, which all libraries export).
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.dtypes import numpy_dtype, strided_array
from hipgraft.ir.strided_view import row_major_strides

if TYPE_CHECKING:
    from hipgraft.runtime.recording import Tensor

CPU, CUDA, ROCM = 1, 2, 10
"""Device types of DLPack."""

_CAPSULE = b"dltensor"
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_BFLOAT = 4
_CODES = {kind: code for code, kind in _KINDS.items()}


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("index", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _ManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, (ctypes.c_void_p, ctypes.c_char_p)


@dataclass(frozen=True)
class ForeignArray:
    """An array of another library; strides are in elements.

    Attributes:
        capsule: keeps the memory alive.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    capsule: Any

    @property
    def is_row_major(self) -> bool:
        """Whether the elements are in row-major order without gaps."""
        dense = row_major_strides(self.shape)
        pairs = zip(self.shape, self.strides, dense, strict=True)
        return all(extent == 1 or step == want for extent, step, want in pairs)


def read(array: Any) -> ForeignArray:
    """Imports an array after the work that writes it has finished."""
    capsule = array.__dlpack__()
    managed = _ManagedTensor.from_address(_pointer(capsule, _CAPSULE))
    tensor = managed.tensor
    shape = tuple(tensor.shape[: tensor.rank])
    strides = tuple(tensor.strides[: tensor.rank]) if tensor.strides else row_major_strides(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    # The producer frees its array when an unconsumed capsule is collected, so keeping the capsule
    # alive suffices.
    return ForeignArray(address, shape, strides, _dtype(tensor.dtype), capsule)


def read_host(array: Any) -> np.ndarray[Any, Any]:
    """Returns a view of an array in host memory."""
    foreign = read(array)
    width = foreign.dtype.itemsize
    extent = 1 + sum((n - 1) * s for n, s in zip(foreign.shape, foreign.strides, strict=True))
    if 0 in foreign.shape:
        return np.empty(foreign.shape, foreign.dtype)
    memory = _Memory(foreign, extent * width)
    flat: np.ndarray[Any, Any] = np.asarray(memory).view(foreign.dtype)
    return strided_array(flat, foreign.shape, foreign.strides)


class _Memory:
    """The bytes of a foreign array; keeps the array alive."""

    def __init__(self, owner: ForeignArray, nbytes: int):
        self._owner = owner
        # NumPy's array interface, version 3; foreign memory is read-only.
        self.__array_interface__ = {
            "data": (owner.address, True),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


_exported: dict[int, tuple[Any, ...]] = {}


def export(owner: Any, address: int, tensor: Tensor, device: tuple[int, int]) -> Any:
    """Returns a capsule with an array; `owner` stays alive until the consumer releases it."""
    rank = len(tensor.shape)
    shape = (ctypes.c_int64 * rank)(*tensor.shape)
    strides = (ctypes.c_int64 * rank)(*tensor.dense_strides)
    managed = _ManagedTensor()
    managed.tensor = _Tensor(
        address,
        _Device(*device),
        rank,
        _data_type(numpy_dtype(tensor.element_type)),
        ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)),
        ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)),
        0,
    )
    managed.deleter = _delete
    key = ctypes.addressof(managed)
    _exported[key] = (owner, managed, shape, strides)
    return _new(key, _CAPSULE, ctypes.cast(_drop_capsule, ctypes.c_void_p))


@_Deleter
def _delete(managed: int) -> None:
    _exported.pop(managed, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop_capsule(capsule: int) -> None:
    """Deletes the array of an unconsumed capsule; consumers rename the capsule and delete it."""
    if _is_valid(capsule, _CAPSULE):
        _exported.pop(_raw_pointer(capsule, _CAPSULE), None)


_raw_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _dtype(kind: _DataType) -> np.dtype[Any]:
    if kind.code == _BFLOAT and kind.bits == 16 and kind.lanes == 1:
        return np.dtype(ml_dtypes.bfloat16)
    if kind.code not in _KINDS or kind.lanes != 1:
        raise HipgraftError(f"array of DLPack type {kind.code} with {kind.bits} bits is not known")
    return np.dtype(f"{_KINDS[kind.code]}{kind.bits // 8}")


def _data_type(dtype: np.dtype[Any]) -> _DataType:
    if dtype == np.dtype(ml_dtypes.bfloat16):
        return _DataType(_BFLOAT, 16, 1)
    if dtype.kind not in _CODES:
        raise HipgraftError(f"DLPack has no type for '{dtype}'")
    return _DataType(_CODES[dtype.kind], 8 * dtype.itemsize, 1)
