"""A small recorded program, and a device of host memory that it runs on."""

from __future__ import annotations

from typing import Any

import numpy as np

from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.recording import Buffer, Copy, Fill, Pointer, Recording, Tensor

ARCHITECTURE = "gfx942"
WEIGHTS = np.arange(4, dtype=np.float16)


def open_null() -> NullDevice:
    return NullDevice(ARCHITECTURE)


def copying_program(architecture: str = ARCHITECTURE) -> Recording:
    """Returns (x, weights, eights) for x of 2x3 f32."""
    x, y, w, eights = (Pointer(number, 0) for number in range(4))
    constant, scratch = Pointer(4, 0), Pointer(5, 0)
    return Recording(
        architecture=architecture,
        inputs=(Tensor("x", (2, 3), "f32"),),
        results=(
            Tensor("", (2, 3), "f32"),
            Tensor("", (4,), "f16"),
            Tensor("", (5,), "i8"),
        ),
        buffers=(Buffer(8, "weights", lambda: WEIGHTS.view(np.uint8)), Buffer(64)),
        objects=(),
        kernels=(),
        commands=(
            Copy(scratch, x, 24),
            Copy(y, scratch, 24),
            Copy(w, constant, 8),
            Fill(eights, b"\x08", 5),
        ),
    )


class FailingDevice(NullDevice):
    """Fails at the n-th call of one kind."""

    def __init__(self, kind: str = "", nth: int = 0):
        super().__init__(ARCHITECTURE)
        self.left = nth
        if kind:
            self.__dict__[kind] = self._counted(getattr(self, kind))

    def _counted(self, call: Any) -> Any:
        def counted(*arguments: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise OSError("bus error")
            return call(*arguments)

        return counted
