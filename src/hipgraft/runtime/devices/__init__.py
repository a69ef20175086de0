"""Devices that implement one protocol and are opened by name."""

from hipgraft.runtime.devices.registry import open_device

__all__ = ["open_device"]
