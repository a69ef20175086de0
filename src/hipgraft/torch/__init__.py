"""hipgraft as a compiler of PyTorch: the backend of `torch.compile`, and of `torch.export`.

model = torch.compile(model, backend="hipgraft")
program = hipgraft.torch.compile(torch.export.export(model, inputs), target="gfx942")
"""

from __future__ import annotations

from hipgraft.torch.exported import compile

__all__ = ["compile"]
