"""Maps an ONNX model's tensors with external data into memory, without reading them as a whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

MAPPED = frozenset(
    {
        TensorProto.FLOAT,
        TensorProto.FLOAT16,
        TensorProto.BFLOAT16,
        TensorProto.DOUBLE,
        TensorProto.INT8,
        TensorProto.INT16,
        TensorProto.INT32,
        TensorProto.INT64,
        TensorProto.UINT8,
        TensorProto.UINT16,
        TensorProto.UINT32,
        TensorProto.UINT64,
    }
)
"""Types whose elements in a file equal NumPy's, and that no reader needs as bits."""


@dataclass(frozen=True)
class Place:
    """The location of a tensor's data.

    Attributes:
        path: path of the file.
        offset: offset in bytes.
        nbytes: size in bytes.
    """

    path: Path
    offset: int
    nbytes: int

    def read(self) -> np.ndarray:
        """Returns the mapped bytes."""
        return np.memmap(self.path, np.uint8, "r", self.offset, (self.nbytes,))


def external_bytes(tensor: TensorProto) -> int:
    """Returns the size of a tensor that can be mapped, 0 for any other."""
    if not uses_external_data(tensor) or tensor.data_type not in MAPPED:
        return 0
    return helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize * math.prod(tensor.dims)


def location_of(tensor: TensorProto, model: Path) -> Place:
    """Returns the location of a tensor's data.

    Args:
        tensor: a tensor that can be mapped.
        model: file of the model; the data is in this file or beside it.

    Raises:
        OSError: the file cannot be read.
        ValueError: the path is no file below the model's directory, or the file is too short.
    """
    info, nbytes = ExternalDataInfo(tensor), external_bytes(tensor)
    root = model.parent.resolve()
    path = (root / info.location).resolve(strict=True)
    is_below = path.is_relative_to(root) and path.is_file()
    if not is_below and info.location != model.name:
        raise ValueError(f"'{info.location}' is no file below the model's directory")
    offset = info.offset or 0
    stated = nbytes if info.length is None else info.length
    if stated != nbytes or offset + nbytes > path.stat().st_size:
        size = min(stated, max(path.stat().st_size - offset, 0))
        raise ValueError(f"'{tensor.name}' has {size} bytes in '{info.location}', needs {nbytes}")
    return Place(path, offset, nbytes)
