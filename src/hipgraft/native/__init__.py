"""The native player of compiled programs: `libhipgraft`, whose interface is `include/hipgraft.h`.

This module finds its files; `library` loads it into this process.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from hipgraft.ir.diagnostics import HipgraftError

VERSION = (1, 1)
"""Major and minor version of the interface that this package was built with."""

_FOLDER = Path(__file__).parent


def include_directory() -> Path:
    """Returns the folder of `hipgraft.h`."""
    return _FOLDER / "include"


def library_path() -> Path:
    """Returns the library's file.

    Raises:
        HipgraftError: it was not built with this package.
    """
    return _built("libhipgraft")


def plugin_path() -> Path:
    """Returns the file of hipDNN's plugin, to which HIPDNN_PLUGIN_DIR must lead.

    Raises:
        HipgraftError: it was not built with this package.
    """
    return _built("libhipgraft_plugin")


def onnxruntime_path() -> Path:
    """Returns the file of ONNX Runtime's execution provider.

    Raises:
        HipgraftError: it was not built with this package.
    """
    return _built("libhipgraft_onnxruntime")


def _built(name: str) -> Path:
    path = _FOLDER / f"{name}.so"
    if not path.exists():
        raise HipgraftError(f"{name} is not built: install hipgraft again")
    return path


@cache
def library() -> ctypes.CDLL:
    """Returns the library, loaded once.

    Raises:
        HipgraftError: it was not built with this package, or was built for another version.
    """
    loaded = ctypes.CDLL(str(library_path()))
    loaded.hipgraft_version.restype = ctypes.c_uint32
    major, minor = divmod(loaded.hipgraft_version(), 1 << 16)
    if (major, minor) != VERSION:
        raise HipgraftError(f"libhipgraft has version {major}.{minor}: install hipgraft again")
    return loaded
