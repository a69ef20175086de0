"""Finds and opens devices by name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.registration import Registry, plugins
from hipgraft.runtime.devices.protocols import Device, GraphDevice, TypedMemory, copy_on_device

__all__ = [
    "Device",
    "GraphDevice",
    "TypedMemory",
    "copy_on_device",
    "default_device_name",
    "open_device",
]

ENTRY_POINT_GROUP = "hipgraft.devices"

_OWN = {
    "cpu": "hipgraft.runtime.devices.cpu:CpuDevice",
    "emulator": "hipgraft.emulator.device:open_emulator",
    "cuda": "hipgraft.runtime.devices.driver:open_cuda",
    "hip": "hipgraft.runtime.devices.driver:open_hip",
    "trace": "hipgraft.runtime.devices.trace:open_trace",
}


def open_device(spec: str) -> Any:
    """Opens a device by name.

    Args:
        spec: the name of a registered device (`cpu`, `cuda`, `hip`, `emulator`, `trace`, or one of
            the entry point group `hipgraft.devices`), optionally with its factory's argument
            (`cuda:1`, `trace:gfx942`); or `path/to/file.py:factory` or `package.module:factory`,
            whose factory has no parameters.

    Raises:
        HipgraftError: there is no such device, or it cannot be opened.
    """
    factory = _factory(spec)
    try:
        device = factory()
    except HipgraftError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise HipgraftError(f"device '{spec}' cannot be opened: {reason}") from error
    if not isinstance(device, Device):
        missing = sorted(name for name in _protocol_names() if not hasattr(device, name))
        raise HipgraftError(f"device '{spec}' is no device: it lacks {', '.join(missing)}")
    return device


def default_device_name() -> str:
    """Returns `hip` or `cuda` if such a GPU is found, else `cpu`."""
    for name in ("hip", "cuda"):
        try:
            open_device(name).close()
        except HipgraftError:
            continue
        return name
    return "cpu"


def registered_devices() -> Registry[str]:
    """Returns the `module:factory` of each registered device, by device name.

    Raises:
        RegisteredTwiceError: two packages register devices with the same name.
    """
    devices = Registry("device", _OWN, provider=lambda factory: f"'{factory}'")
    for point in plugins(ENTRY_POINT_GROUP):
        devices.add(point.name, point.value)
    return devices


def _factory(spec: str) -> Callable[[], Any]:
    name, separator, argument = spec.partition(":")
    registered = registered_devices()
    if name in registered:
        factory = _named_factory(spec, registered[name])
        return partial(factory, argument) if separator else factory
    if not separator:
        raise HipgraftError(
            f"unknown device '{spec}'; expected {', '.join(sorted(registered))}, "
            "'path/to/file.py:factory' or 'package.module:factory'"
        )
    return _named_factory(spec, spec)


def _named_factory(spec: str, reference: str) -> Callable[..., Any]:
    where, _, name = reference.rpartition(":")
    if not where or not name:
        raise HipgraftError(f"device '{spec}' names no factory")
    module = _load_file(Path(where)) if where.endswith(".py") else _import(where)
    factory = getattr(module, name, None)
    if not callable(factory):
        raise HipgraftError(f"device '{spec}': '{where}' has no function '{name}'")
    return factory


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise HipgraftError(f"device file '{path}' does not exist")
    name = f"_hipgraft_device_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise HipgraftError(f"device file '{path}' cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise HipgraftError(f"device module '{name}' cannot be imported: {error}") from error


def _protocol_names() -> set[str]:
    methods = {name for name in vars(Device) if not name.startswith("_")}
    return methods | set(Device.__annotations__)
