"""hipgraft as a compiler of PyTorch: the backend of `torch.compile`, and of `torch.export`.

model = torch.compile(model, backend="hipgraft")
program = hipgraft.torch.compile(torch.export.export(model, inputs), target="gfx942")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hipgraft.torch.backend import backend
    from hipgraft.torch.exported import compile

__all__ = ["backend", "compile"]

_HOMES = {"backend": "backend", "compile": "exported"}


def __getattr__(name: str) -> Any:
    # PyTorch takes seconds to load.
    if name not in _HOMES:
        raise AttributeError(f"module 'hipgraft.torch' has no attribute '{name}'")
    from importlib import import_module
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise ModuleNotFoundError("hipgraft.torch needs PyTorch: pip install hipgraft[torch]")
    return getattr(import_module(f"hipgraft.torch.{_HOMES[name]}"), name)
