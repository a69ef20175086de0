"""Loads the kernels of a `gpu.binary` on a device and packs their arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hipgraft.codegen.objects.code_object import KernelInfo
from hipgraft.codegen.objects.formats import read_object
from hipgraft.ir.architectures import fitting
from hipgraft.ir.bindings import gpu_d, ir
from hipgraft.ir.diagnostics import OpError
from hipgraft.ir.symbols import symbol_of
from hipgraft.runtime.devices.registry import Device


@dataclass(frozen=True)
class LoadedKernel:
    """A kernel's device handle, and its metadata in the code object."""

    handle: Any
    info: KernelInfo


@dataclass(frozen=True)
class Binary:
    """A `gpu.binary` whose object for the device's architecture is loaded."""

    name: str
    device: Device
    handle: Any
    kernels: dict[str, KernelInfo]
    loaded: dict[str, LoadedKernel] = field(default_factory=dict[str, LoadedKernel])

    @staticmethod
    def load(op: ir.Operation, device: Device) -> Binary:
        """Loads the object for the device's architecture.

        Raises:
            OpError: there is no object for that architecture.
        """
        name = symbol_of(op)
        objects = objects_by_chip(op)
        chip = fitting(device.architecture, objects)
        if chip is None:
            raise OpError(
                f"'gpu.binary' op '@{name}' has no object for '{device.architecture}'; it has "
                f"{', '.join(objects)}",
                op,
            )
        data = gpu_d.ObjectAttr(objects[chip]).object
        return Binary(name, device, device.load_code_object(data), read_object(data).kernels)

    def kernel(self, name: str, user: ir.Operation) -> LoadedKernel:
        """Returns a kernel by its symbol; queries the device once per symbol.

        Raises:
            OpError: the code object has no such kernel.
        """
        if name not in self.kernels:
            raise OpError(f"'{user.name}' op: '@{self.name}' has no kernel '{name}'", user)
        if name not in self.loaded:
            handle = self.device.get_kernel(self.handle, name)
            self.loaded[name] = LoadedKernel(handle, self.kernels[name])
        return self.loaded[name]


def objects_by_chip(binary: ir.Operation) -> dict[str, ir.Attribute]:
    """Returns the `#gpu.object`s of a `gpu.binary` by their architecture."""
    return {_chip(attribute): attribute for attribute in ir.ArrayAttr(binary.attributes["objects"])}


def pack_kernarg(info: KernelInfo, words: Sequence[int], user: ir.Operation) -> bytes:
    """Packs addresses and integers by the kernel's metadata; hidden arguments are zero.

    Raises:
        OpError: the kernel has another number of arguments.
    """
    if len(words) != len(info.arguments):
        raise OpError(
            f"'{user.name}' op passes {len(words)} arguments, but kernel '{info.name}' takes "
            f"{len(info.arguments)}",
            user,
        )
    segment = bytearray(info.kernarg_size)
    for argument, word in zip(info.arguments, words, strict=True):
        bits = word & (1 << 8 * argument.size) - 1
        end = argument.offset + argument.size
        segment[argument.offset : end] = bits.to_bytes(argument.size, "little")
    return bytes(segment)


def _chip(attribute: ir.Attribute) -> str:
    """Returns the architecture of a `#gpu.object`."""
    found = re.search(r'chip = "([^"]+)"', str(gpu_d.ObjectAttr(attribute).target))
    return found.group(1) if found else "gfx900"  # the default, which is not printed
