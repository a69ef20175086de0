"""hipgraft as an execution provider of ONNX Runtime.

    import onnxruntime
    import hipgraft.onnxruntime

    hipgraft.onnxruntime.register()
    session = onnxruntime.InferenceSession(
        "model.onnx", providers=["HipgraftExecutionProvider", "CPUExecutionProvider"]
    )

`docs/onnxruntime.md` lists the provider's options.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sysconfig
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraft.ir.diagnostics import HipgraftError

if TYPE_CHECKING:
    from hipgraft.onnxruntime.cpu import CpuPrograms

__all__ = ["PROVIDER", "register", "unregister"]

PROVIDER = "HipgraftExecutionProvider"
"""The provider's name."""

_LOCK = threading.Lock()
_REGISTERED: set[str] = set()


def register(name: str = "hipgraft") -> None:
    """Makes the provider known to ONNX Runtime in this process; does nothing for a known name.

    The helper that compiles is this environment's `hipgraft-serve`, unless HIPGRAFT_SERVE names
    another. The provider is unregistered when the interpreter exits.

    Args:
        name: any name for the registration. If it ends in `.virtual`, the provider also offers GPUs
            that are absent, to compile for them.

    Raises:
        HipgraftError: the library was not built with this package, or onnxruntime is too old.
        ImportError: onnxruntime is not installed.
    """
    import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

    if not hasattr(onnxruntime, "register_execution_provider_library"):
        raise HipgraftError(
            f"onnxruntime {onnxruntime.__version__} cannot load providers: 1.24 or later is needed"
        )
    with _LOCK:
        if name in _REGISTERED:
            return
        library = _library()
        if not _REGISTERED:
            library.hipgraft_ort_set_cpu(ctypes.byref(_programs().table))
        _name_helper()
        onnxruntime.register_execution_provider_library(name, library._name)
        _REGISTERED.add(name)


def unregister(name: str = "hipgraft") -> None:
    """Makes the provider unknown to ONNX Runtime; does nothing for an unknown name.

    Once the last name is unregistered, sessions that are still open on the CPU fail when they run.
    Sessions can be deleted at any time.

    Args:
        name: the registered name.
    """
    import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

    with _LOCK:
        if name not in _REGISTERED:
            return
        onnxruntime.unregister_execution_provider_library(name)
        _REGISTERED.remove(name)
        if not _REGISTERED:
            _stop()


@cache
def _library() -> ctypes.CDLL:
    from hipgraft.native import onnxruntime_path

    library = ctypes.CDLL(str(onnxruntime_path()))
    atexit.register(_leave)
    return library


@cache
def _programs() -> CpuPrograms:
    # Never freed: a failed registration leaves the library with its functions.
    from hipgraft.onnxruntime.cpu import CpuPrograms

    return CpuPrograms()


def _name_helper() -> None:
    """Names the helper beside this interpreter: its folder need not be on PATH."""
    helper = Path(sysconfig.get_path("scripts"), "hipgraft-serve")
    if helper.exists():
        os.environ.setdefault("HIPGRAFT_SERVE", str(helper))


def _stop() -> None:
    """Waits for the CPU programs that run in other threads; later runs are errors."""
    # `CDLL` releases the interpreter's lock, which those runs need.
    _library().hipgraft_ort_set_cpu(None)


def _leave() -> None:
    # First, so that no session calls Python while the interpreter exits.
    _stop()
    for name in list(_REGISTERED):
        unregister(name)
