"""Passes tensors of PyTorch to programs and back, without copies if memory allows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hipgraft.frontends.torch.pytorch import torch
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.dtypes import numpy_dtype

_FOREIGN = {
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e4m3fnuz: "f8E4M3FNUZ",
    torch.float8_e5m2: "f8E5M2",
    torch.float8_e5m2fnuz: "f8E5M2FNUZ",
}
"""Element types that NumPy only supports through `ml_dtypes`."""

_BITS = {1: torch.uint8, 2: torch.int16}


def device_name(tensors: Sequence[Any]) -> str:
    """Returns the name of hipgraft's device for tensors, which must be on one device.

    Raises:
        HipgraftError: the tensors are on several devices, or on one that hipgraft does not support.
    """
    devices = sorted({str(tensor.device) for tensor in tensors})
    if len(devices) > 1:
        raise HipgraftError(f"the tensors are on several devices: {', '.join(devices)}")
    device = torch.device(devices[0] if devices else "cpu")
    if device.type == "cpu":
        return "cpu"
    if device.type == "cuda" and torch.version.hip:
        return f"hip:{torch.cuda.current_device() if device.index is None else device.index}"
    raise HipgraftError(f"hipgraft has no device for tensors on '{device}'")


def target_of(name: str) -> str:
    """Returns the architecture of a device that `device_name` returned."""
    if name == "cpu":
        return "cpu"
    properties = torch.cuda.get_device_properties(int(name.partition(":")[2]))
    return properties.gcnArchName.partition(":")[0]


def as_arrays(tensors: Sequence[Any]) -> list[Any]:
    """Returns tensors as arrays that programs accept, in the same memory.

    For tensors on a GPU, waits for the work that PyTorch has queued.
    """
    plain = [tensor.detach().resolve_conj().resolve_neg() for tensor in tensors]
    for device in {tensor.device for tensor in plain if tensor.device.type != "cpu"}:
        torch.cuda.current_stream(device).synchronize()
    return [_numpy(one) if one.device.type == "cpu" else one for one in plain]


def as_tensor(array: Any) -> Any:
    """Returns a result of a program, on the host or a device, as a tensor in the same memory."""
    if not isinstance(array, np.ndarray):
        return torch.from_dlpack(array)
    for dtype, name in _FOREIGN.items():
        if array.dtype == numpy_dtype(name):
            return torch.from_numpy(array.view(f"u{array.itemsize}")).view(dtype)
    return torch.from_numpy(array)


def with_strides(tensor: Any, strides: Sequence[int]) -> Any:
    """Returns a tensor with certain strides in elements; copies it if its strides differ."""
    if tensor.stride() == tuple(strides):
        return tensor
    shape = tensor.shape
    for dim, stride in enumerate(strides):
        if stride == 0:  # all elements along the dimension share memory
            tensor = tensor.narrow(dim, 0, min(tensor.shape[dim], 1))
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return made.copy_(tensor).as_strided(shape, strides)


def _numpy(tensor: Any) -> np.ndarray[Any, Any]:
    name = _FOREIGN.get(tensor.dtype)
    if name is None:
        return tensor.numpy()
    return tensor.view(_BITS[tensor.itemsize]).numpy().view(numpy_dtype(name))
