"""Makes hipgraft a compiler of PyTorch: a backend of `torch.compile`, and for `torch.export`.

model = torch.compile(model, backend="hipgraft")
program = hipgraft.torch.compile(torch.export.export(model, inputs), target="gfx942")
"""

from __future__ import annotations

from hipgraft.torch.exported import compile

__all__ = ["compile"]
