"""Runs kernels on the emulator of AMDGPU code objects, if LLVM's disassembler is installed."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hipgraft.codegen.kernel import Copy, Dispatch, Fill, Kernel
from hipgraft.emulator import EmulatorDevice, MissingEmulatorError, Order, check_available


def missing_reason() -> str | None:
    """Why the emulator cannot run, or None."""
    try:
        check_available()
    except MissingEmulatorError as error:
        return error.message
    return None


_STALE = b"\xa5"

requires_emulator = pytest.mark.skipif(missing_reason() is not None, reason=str(missing_reason()))


def open_emulator(architecture: str, order: Order = Order.FORWARD) -> EmulatorDevice:
    """Returns an emulated device."""
    return EmulatorDevice(architecture, order)


def run_kernel(
    kernel: Kernel,
    operands: Sequence[np.ndarray],
    results: Sequence[tuple[tuple[int, ...], Any]],
    device: Any = None,
) -> list[np.ndarray]:
    """Runs a kernel's steps on an emulated device.

    Args:
        kernel: what to run.
        operands: arrays in their memory layout.
        results: shape and dtype of each result.
        device: the emulated device; one for the kernel's target by default.

    Returns:
        The results. Fails if an operand was written to.
    """
    device = device or open_emulator(kernel.target)
    outputs = [np.zeros(shape, dtype) for shape, dtype in results]
    sizes = [array.nbytes for array in (*operands, *outputs)] + [kernel.workspace_size]
    addresses = [device.allocate(max(size, 1)) for size in sizes]
    for address, operand in zip(addresses, operands, strict=False):
        device.copy_to_device(address, np.ascontiguousarray(operand).view(np.uint8))
    for address, output in zip(addresses[len(operands) :], outputs, strict=False):
        device.fill(address, _STALE, output.nbytes)  # kernels write all of a result
    codes = [device.load_code_object(data) for data in kernel.objects]
    for step in kernel.steps:
        _run_step(step, device, codes, addresses)
    for operand, address in zip(operands, addresses, strict=False):
        after = _read(device, address, operand)
        assert after.tobytes() == operand.tobytes(), "an operand was written to"
    return [
        _read(device, address, output)
        for address, output in zip(addresses[len(operands) :], outputs, strict=False)
    ]


def _read(device: Any, address: int, like: np.ndarray) -> np.ndarray:
    data = np.zeros(like.nbytes, np.uint8)
    device.copy_to_host(data, address)
    return data.view(like.dtype).reshape(like.shape)


def _run_step(
    step: Fill | Copy | Dispatch, device: Any, codes: Sequence[Any], addresses: Sequence[int]
) -> None:
    if isinstance(step, Fill):
        pattern = step.pattern.to_bytes(step.pattern_length, "little")
        device.fill(addresses[step.buffer] + step.offset, pattern, step.length)
    elif isinstance(step, Copy):
        staging = np.zeros(step.length, np.uint8)
        device.copy_to_host(staging, addresses[step.source] + step.source_offset)
        device.copy_to_device(addresses[step.target] + step.target_offset, staging)
    else:
        function = device.get_kernel(codes[step.object], step.kernel)
        pointers = [addresses[b.buffer] + b.offset for b in step.bindings]
        kernarg = struct.pack(f"<{len(pointers)}Q", *pointers)
        kernarg += struct.pack(f"<{len(step.constants)}i", *step.constants)
        # Room for the hidden arguments, which the emulator fills in by itself.
        device.launch(
            function, step.grid, step.block, step.dynamic_shared_memory, kernarg + bytes(256)
        )
