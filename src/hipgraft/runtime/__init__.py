"""Runs host programs: devices, the interpreter, sessions and bundles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraft.ir.bindings import ir
    from hipgraft.runtime.devices.registry import Device
    from hipgraft.runtime.host_program.interpreter import Array


def run_module(module: ir.Module, inputs: Sequence[Array], device: Device) -> list[Array]:
    """Runs a program once.

    Args:
        module: stage `hipdnn-buffers` for the CPU, stage `host` for a device that runs code
            objects.
        inputs: one array per argument, of its shape and element type.
        device: from `hipgraft.runtime.devices.open_device`.

    Returns:
        One array per result.

    Raises:
        HipgraftError: the module has no function for the device, an input does not fit, or an
            op cannot be executed.
    """
    from hipgraft.runtime.host_program.interpreter import Executor

    with Executor(module, device) as executor:
        return executor.run(inputs)
