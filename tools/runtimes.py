"""Defines the ways in which `hipgraft-run` runs a program."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from hipgraft.ir.bindings import ir
    from hipgraft.tools.arrays import Array

RUNTIMES = ("recorded", "interpreter", "jit")
"""The runtimes; recorded calls, which bundles store, are the fast one."""


class Runs(Protocol):
    """A program on a device."""

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs the program and waits for it."""
        ...


def open_runtime(name: str, module: ir.Module, device: Any) -> AbstractContextManager[Runs]:
    """Loads a host program on a device.

    Args:
        name: one of `RUNTIMES` that runs the program itself.
        module: the program.
        device: device to run it on.
    """
    if name == "jit":
        from hipgraft.host.jit import Jit

        return Jit(module, device)
    from hipgraft.runtime.host_program.interpreter import Executor

    return Executor(module, device)
