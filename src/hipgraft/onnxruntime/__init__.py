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
from pathlib import Path
from typing import Any

__all__ = ["PROVIDER", "register", "unregister"]

PROVIDER = "HipgraftExecutionProvider"
"""The provider's name."""

_LOCK = threading.Lock()
_REGISTERED: dict[str, Any] = {}  # the programs' functions by the name of the registration


def register(name: str = "hipgraft") -> None:
    """Makes the provider known to ONNX Runtime, in this process.

    At the interpreter's exit it is made unknown again. The helper that compiles is this
    environment's `hipgraft-serve`, unless HIPGRAFT_SERVE names another.

    Args:
        name: of the registration, which may be any. Under one that ends in `.virtual`, GPUs that
            are absent are offered too, to compile for them.

    Raises:
        HipgraftError: the library was not built with this package, or onnxruntime is too old.
        ImportError: there is no onnxruntime.
    """
    import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

    from hipgraft.ir.diagnostics import HipgraftError
    from hipgraft.native import onnxruntime_path
    from hipgraft.onnxruntime.cpu import CpuPrograms

    if not hasattr(onnxruntime, "register_execution_provider_library"):
        raise HipgraftError(f"onnxruntime {onnxruntime.__version__} has no plugins; 1.24 has")
    with _LOCK:
        if name in _REGISTERED:
            return
        path = str(onnxruntime_path())
        _name_helper()
        library = ctypes.CDLL(path)
        if not _REGISTERED:
            programs = CpuPrograms()
            library.hipgraft_ort_set_cpu(ctypes.byref(programs.table))
            atexit.register(_leave)
        else:
            programs = next(iter(_REGISTERED.values()))
        onnxruntime.register_execution_provider_library(name, path)
        _REGISTERED[name] = programs


def unregister(name: str = "hipgraft") -> None:
    """Makes the provider unknown to ONNX Runtime. Close the sessions that use it before.

    Args:
        name: as it was registered; nothing happens where it is not.
    """
    import onnxruntime  # pyright: ignore[reportMissingTypeStubs]

    from hipgraft.native import onnxruntime_path

    with _LOCK:
        if name not in _REGISTERED:
            return
        onnxruntime.unregister_execution_provider_library(name)
        programs = _REGISTERED.pop(name)
        if not _REGISTERED:
            atexit.unregister(_leave)
            # Sessions that are still there cannot run any more. This waits for runs in other
            # threads, which need the lock of the interpreter: `CDLL` releases it.
            ctypes.CDLL(str(onnxruntime_path())).hipgraft_ort_set_cpu(None)
        del programs


def _name_helper() -> None:
    """Names the helper beside this interpreter: its folder need not be on PATH."""
    helper = Path(sysconfig.get_path("scripts"), "hipgraft-serve")
    if helper.exists():
        os.environ.setdefault("HIPGRAFT_SERVE", str(helper))


def _leave() -> None:
    """Sees to it that nothing calls Python when it is gone."""
    from hipgraft.native import onnxruntime_path

    ctypes.CDLL(str(onnxruntime_path())).hipgraft_ort_set_cpu(None)
    for name in list(_REGISTERED):
        unregister(name)
